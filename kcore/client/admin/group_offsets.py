"""Committed offsets of groups: list, set, delete. OffsetFetch, OffsetCommit, OffsetDelete (KIP-496).

Requests go to each group's coordinator.
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.admin.coordinator_calls import GROUP_KEY, CoordinatorCalls
from kcore.client.admin.results import as_asked, failure_of
from kcore.client.errors import ClientError
from kcore.client.metadata.cluster import Node, TopicPartition, by_topic
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcore.client.admin.results import Failure
    from kcore.protocol.message import Message

NO_OFFSET = -1
NO_EPOCH = -1
NO_GENERATION = -1


class CommittedOffset(NamedTuple):
    """The offset of the next record to read. Leader epoch -1: not committed."""

    offset: int
    leader_epoch: int = NO_EPOCH
    metadata: str = ""


class GroupOffsetAdmin(CoordinatorCalls):
    __slots__ = ()

    def committed_offsets(self, group_ids: Iterable[str]) -> dict[str, dict[TopicPartition, CommittedOffset] | Failure]:
        """Return the committed offsets of each group. Empty for a group that does not exist."""
        return self._ask_coordinators(GROUP_KEY, group_ids, self._fetch_offsets)

    def _fetch_offsets(
        self, node: Node, group_ids: list[str]
    ) -> dict[str, dict[TopicPartition, CommittedOffset] | Failure]:
        requests = [(node, apis.OFFSET_FETCH, {"group_id": group_id, "topics": None}) for group_id in group_ids]
        found: dict[str, dict[TopicPartition, CommittedOffset] | Failure] = {}
        for group_id, answer in zip(group_ids, self.client.request_each(requests), strict=True):
            if isinstance(answer, ClientError):
                found[group_id] = answer
            else:
                found[group_id] = failure_of(answer.error_code, f"group {group_id}") or _offsets(answer)
        return found

    def alter_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int | CommittedOffset]
    ) -> dict[TopicPartition, Failure | None]:
        """Set offsets of a group without members. Returns the failure of each partition, or None."""
        committed = {
            place: offset if isinstance(offset, CommittedOffset) else CommittedOffset(offset)
            for place, offset in offsets.items()
        }

        def row(place: TopicPartition) -> dict[str, int | str]:
            offset, leader_epoch, metadata = committed[place]
            return {
                "committed_offset": offset,
                "committed_leader_epoch": leader_epoch,
                "committed_metadata": metadata,
            }

        def commit(node: Node, _: list[str]) -> dict[str, dict[TopicPartition, Failure | None] | Failure]:
            fields = {
                "group_id": group_id,
                "generation_id_or_member_epoch": NO_GENERATION,
                "topics": by_topic(committed, row),
            }
            return {group_id: _partition_results(committed, self._request(apis.OFFSET_COMMIT, fields, node))}

        return self._ask_coordinator(GROUP_KEY, group_id, commit)

    def delete_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Failure | None]:
        """Delete a group's committed offsets of partitions. Returns the failure of each partition, or None.

        Raises the group's error, for example if it does not exist.
        """
        wanted = list(partitions)

        def delete(node: Node, _: list[str]) -> dict[str, dict[TopicPartition, Failure | None] | Failure]:
            fields = {"group_id": group_id, "topics": by_topic(wanted, lambda place: {})}
            response = self._request(apis.OFFSET_DELETE, fields, node)
            failure = failure_of(response.error_code, f"group {group_id}")
            return {group_id: failure or _partition_results(wanted, response)}

        return self._ask_coordinator(GROUP_KEY, group_id, delete)


def _partition_results(asked: Iterable[TopicPartition], response: Message) -> dict[TopicPartition, Failure | None]:
    outcomes = {
        (place := TopicPartition(topic.name, part.partition_index)): failure_of(part.error_code, f"partition {place}")
        for topic in response.topics
        for part in topic.partitions
    }
    return as_asked(asked, outcomes)


def _offsets(response: Message) -> dict[TopicPartition, CommittedOffset]:
    return {
        TopicPartition(topic.name, part.partition_index): CommittedOffset(
            part.committed_offset, part.committed_leader_epoch, part.metadata or ""
        )
        for topic in response.topics
        for part in topic.partitions
        if not part.error_code and part.committed_offset != NO_OFFSET
    }
