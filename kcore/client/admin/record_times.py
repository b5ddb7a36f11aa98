"""When the records at some offsets were stored: one record of each partition is fetched, and what was found remembered.

No request tells a record's time by its offset, so a batch is fetched that has it: the broker sends at least one whole
batch, and nothing of the next. Where compaction took the record, the first one behind it counts.

Bounds: PIPELINED requests at a time, MAX_BATCHES of a partition looked through, and a deadline; what was not found by
then is not known.
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
    """Asks the leaders that the client knows of."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client
        self._known: dict[Position, int] = {}

    def at(self, positions: Iterable[Position], timeout_ms: float) -> dict[Position, int]:
        """Milliseconds since 1970 of the first record from each partition's offset on; one without is left out."""
        deadline_ms = now_ms() + timeout_ms
        wanted = set(positions)
        self._known = {position: known for position, known in self._known.items() if position in wanted}
        # Where to look for each.
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
        """Fetches a batch of each; where the records lie behind it, the place of the next batch."""
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
    """The time of the first record from an offset on, or else where to go on looking."""
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
                # Bytes that are no batch tell no time; what is wrong with them is for whoever reads them.
                return None, None
    return None, next_offset
