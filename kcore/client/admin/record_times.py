"""RecordTimes: looks up the timestamps of records at offsets, and caches them.

No request returns the timestamp for an offset. So the batch with the offset is fetched, limited to one byte: the broker
then returns exactly one batch. If the record was compacted away, the next one counts.

Limits: PIPELINED requests at a time, MAX_BATCHES batches per partition, and a deadline. Timestamps that are not found
by then are left out.
"""

from __future__ import annotations

from kcore.client.clock import now_ms
from kcore.client.errors import ClientError
from kcore.client.network.requester import PIPELINED
from kcore.errors import KafkaError
from kcore.protocol import apis
from kcore.record.decoder import decode_batches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from kcore.client.cluster_client import ClusterClient
    from kcore.client.metadata.cluster import TopicPartition
    from kcore.protocol.message import Message

    Position = tuple[TopicPartition, int]

MAX_BATCHES = 8
CONSUMER_REPLICA_ID = -1
NO_SESSION_EPOCH = -1


class RecordTimes:
    """Fetches from the leaders that the client knows."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client
        self._known: dict[Position, int] = {}

    def at(self, positions: Iterable[Position], timeout_ms: float) -> dict[Position, int]:
        """Return the timestamp in ms since 1970 of the first record at or after each offset, if there is one."""
        deadline_ms = now_ms() + timeout_ms
        wanted = set(positions)
        self._known = {position: known for position, known in self._known.items() if position in wanted}
        # The offset to fetch from, for each position.
        looking = {position: position[1] for position in wanted if position not in self._known}
        for _ in range(MAX_BATCHES):
            following: dict[Position, int] = {}
            waiting = list(looking.items())
            for start in range(0, len(waiting), PIPELINED):
                if now_ms() < deadline_ms:
                    following |= self._look_at(waiting[start : start + PIPELINED])
            looking = following
        return dict(self._known)

    def _look_at(self, places: Sequence[tuple[Position, int]]) -> dict[Position, int]:
        """Fetch one batch for each position. Returns where to continue for those whose record was not in it."""
        led = [
            (position, leader, offset)
            for position, offset in places
            if (leader := self._client.cluster.leader_of(position[0])) is not None
        ]
        answers = self._client.request_each(
            (leader, apis.FETCH, _one_batch(position[0], offset)) for position, leader, offset in led
        )
        following = {}
        for (position, _, _), answer in zip(led, answers, strict=True):
            if isinstance(answer, ClientError):
                continue
            timestamp, next_offset = _first_time(answer, position[1])
            if timestamp is not None:
                self._known[position] = timestamp
            elif next_offset is not None:
                following[position] = next_offset
        return following


def _one_batch(place: TopicPartition, offset: int) -> dict[str, Any]:
    partition = {"partition": place.partition, "fetch_offset": offset, "partition_max_bytes": 1}
    return {
        "replica_id": CONSUMER_REPLICA_ID,
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": 1,
        "isolation_level": 0,
        "session_epoch": NO_SESSION_EPOCH,
        "topics": [{"topic": place.topic, "partitions": [partition]}],
    }


def _first_time(answer: Message, wanted: int) -> tuple[int | None, int | None]:
    """Return the timestamp of the first record at or after an offset, or the offset to continue from."""
    next_offset = None
    for topic in answer.responses:
        for part in topic.partitions:
            if part.error_code or not part.records:
                continue
            try:
                for batch in decode_batches(part.records):
                    for record in batch:
                        if record.offset >= wanted:
                            return record.timestamp, None
                    next_offset = batch.next_offset
            except KafkaError:
                # Invalid bytes have no timestamp. Consumers of the records will report the error.
                return None, None
    return None, next_offset
