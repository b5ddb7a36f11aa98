"""Offsets by timestamp, and deletion of records: ListOffsets, DeleteRecords (KIP-107).

Requests go to each partition's leader, one request per broker.
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.admin.admin_calls import ADMIN_TIMEOUT_MS, AdminCalls
from kcore.client.admin.results import mapped
from kcore.client.metadata.cluster import TopicPartition, by_topic
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from kcore.client.admin.results import Failure

# Special timestamps (OffsetSpec, KIP-405, KIP-734, KIP-1005).
LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
HIGH_WATERMARK = -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
CONSUMER_REPLICA_ID = -1


class ListedOffset(NamedTuple):
    """The offset for a timestamp; -1 if there is no such record."""

    offset: int
    timestamp: int
    leader_epoch: int


class RecordAdmin(AdminCalls):
    __slots__ = ()

    def list_offsets(
        self, times: Mapping[TopicPartition, int], *, isolation_level: int = READ_UNCOMMITTED
    ) -> dict[TopicPartition, ListedOffset | Failure]:
        """Return the offset for a time in ms, or for LATEST, EARLIEST etc., in each partition.

        With READ_COMMITTED, the latest offset is the last stable offset.
        """

        def fields(partitions: Sequence[TopicPartition]) -> dict[str, Any]:
            return {
                "replica_id": CONSUMER_REPLICA_ID,
                "isolation_level": isolation_level,
                "topics": by_topic(partitions, lambda partition: {"timestamp": times[partition]}),
                "timeout_ms": ADMIN_TIMEOUT_MS,
            }

        answers = self._ask_leaders(apis.LIST_OFFSETS, times, fields)
        return mapped(answers, lambda part: ListedOffset(part.offset, part.timestamp, part.leader_epoch))

    def delete_records(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | Failure]:
        """Delete the records before an offset, or before HIGH_WATERMARK. Returns each partition's new start offset."""

        def fields(partitions: Sequence[TopicPartition]) -> dict[str, Any]:
            topics = by_topic(partitions, lambda partition: {"offset": offsets[partition]})
            return {"topics": topics, "timeout_ms": ADMIN_TIMEOUT_MS}

        answers = self._ask_leaders(apis.DELETE_RECORDS, offsets, fields)
        return mapped(answers, lambda part: int(part.low_watermark))
