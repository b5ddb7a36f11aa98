"""Fetches from the leaders of the assigned partitions, one response ahead of the reader.

One fetch request at a time is on the way to each broker, for those of its partitions whose last answer has been taken
up. The answer names the next offset through the headers of its batches, so that the next request leaves before the
records are decoded: the broker works while the reader does.
"""

from __future__ import annotations

import struct
import time
from collections import deque
from typing import NamedTuple

from kcore.client.cluster import TopicPartition
from kcore.client.connection import now_ms
from kcore.client.errors import (
    NONE,
    OFFSET_OUT_OF_RANGE,
    UNKNOWN_TOPIC_OR_PARTITION,
    BrokerUnreachable,
    ClientError,
    broker_error,
)
from kcore.errors import KafkaError
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.client.cluster import Node
    from kcore.client.network_client import NetworkClient
    from kcore.protocol.message import Message

CONSUMER_REPLICA_ID = -1
# A fetch outside any session (KIP-227): the request says everything, the broker remembers nothing.
NO_SESSION_EPOCH = -1
BATCH_HEADER = struct.Struct(">qi4xb4xhi")
BATCH_LENGTH = struct.Struct(">qi")
LOG_OVERHEAD = 12
# How long a partition rests whose leader has moved, before it is asked for again.
RETRY_BACKOFF_MS = 100.0
METADATA_ERRORS = frozenset({3, 5, 6, 9, 74, 75, 100})


class CompletedFetch(NamedTuple):
    """The batches that one answer brought for one partition; the last one may be cut short."""

    partition: TopicPartition
    fetch_offset: int
    records: memoryview
    high_watermark: int
    aborted_transactions: list[tuple[int, int]]


class FetchSettings(NamedTuple):
    min_bytes: int = 1
    max_wait_ms: int = 500
    max_bytes: int = 52_428_800
    max_partition_bytes: int = 1_048_576
    isolation_level: int = 0


def next_fetch_offset(records: memoryview, fetch_offset: int) -> int:
    """The offset after the last whole batch; the fetch offset itself when there is none."""
    position = 0
    size = len(records)
    following = fetch_offset
    while position + BATCH_HEADER.size <= size:
        base_offset, length, magic, _, last_offset_delta = BATCH_HEADER.unpack_from(records, position)
        if length <= 0 or position + LOG_OVERHEAD + length > size:
            break
        # Of the old formats, the offset in front is that of the last record.
        following = base_offset + (last_offset_delta if magic >= 2 else 0) + 1
        position += LOG_OVERHEAD + length
    return max(following, fetch_offset)


class Fetcher:
    def __init__(self, client: NetworkClient, settings: FetchSettings) -> None:
        self._client = client
        self._settings = settings
        self._positions: dict[TopicPartition, int] = {}
        self._generation = 0
        self._in_flight: set[TopicPartition] = set()
        self._completed: deque[CompletedFetch] = deque()
        self._waiting_nodes: set[Node] = set()
        self._out_of_range: set[TopicPartition] = set()
        self._failure: Exception | None = None
        self._rest_until_ms = 0.0
        self.high_watermarks: dict[TopicPartition, int] = {}

    def assign(self, positions: dict[TopicPartition, int]) -> None:
        """Starts anew from these positions; answers that are still on the way are thrown away."""
        self._generation += 1
        self._positions = dict(positions)
        self._completed.clear()
        self._in_flight.clear()
        self._waiting_nodes.clear()
        self._out_of_range.clear()

    @property
    def positions(self) -> dict[TopicPartition, int]:
        return self._positions

    def take_out_of_range(self) -> set[TopicPartition]:
        """Partitions whose position the log no longer, or not yet, has; the caller chooses a new one."""
        taken, self._out_of_range = self._out_of_range, set()
        return taken

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Moves one partition; what was fetched for it is thrown away."""
        self.assign({**self._reader_positions(), partition: offset})

    def _reader_positions(self) -> dict[TopicPartition, int]:
        """Where the reader stands: before what was fetched and not taken."""
        positions = dict(self._positions)
        for completed in reversed(self._completed):
            positions[completed.partition] = completed.fetch_offset
        return positions

    def take(self, timeout_ms: float) -> CompletedFetch | None:
        """The next answer that holds records, waiting for one at most so long."""
        self._send_fetches()
        if not self._completed:
            self._wait(timeout_ms)
        self._raise_failure()
        if not self._completed:
            return None
        completed = self._completed.popleft()
        self._send_fetches()
        return completed

    def _wait(self, timeout_ms: float) -> None:
        resting_ms = self._rest_until_ms - now_ms()
        if not self._in_flight and resting_ms > 0.0:
            time.sleep(min(timeout_ms, resting_ms) / 1000.0)
        else:
            self._client.poll(timeout_ms)

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _send_fetches(self) -> None:
        if self._rest_until_ms > now_ms():
            return
        buffered = {completed.partition for completed in self._completed}
        by_leader: dict[Node, list[TopicPartition]] = {}
        for partition in self._positions:
            if partition in buffered or partition in self._in_flight or partition in self._out_of_range:
                continue
            by_leader.setdefault(self._client.leader_of(partition), []).append(partition)
        for leader, partitions in by_leader.items():
            if leader not in self._waiting_nodes:
                self._send_fetch(leader, partitions)

    def _send_fetch(self, leader: Node, partitions: list[TopicPartition]) -> None:
        by_topic: dict[str, list[dict[str, Any]]] = {}
        for partition in partitions:
            wanted = {
                "partition": partition.partition,
                "fetch_offset": self._positions[partition],
                "partition_max_bytes": self._settings.max_partition_bytes,
            }
            by_topic.setdefault(partition.topic, []).append(wanted)
        fields = {
            "replica_id": CONSUMER_REPLICA_ID,
            "max_wait_ms": self._settings.max_wait_ms,
            "min_bytes": self._settings.min_bytes,
            "max_bytes": self._settings.max_bytes,
            "isolation_level": self._settings.isolation_level,
            "session_epoch": NO_SESSION_EPOCH,
            "topics": [{"topic": topic, "partitions": wanted} for topic, wanted in by_topic.items()],
        }
        generation = self._generation

        def on_response(response: Message | None, error: ClientError | None) -> None:
            if generation != self._generation:
                return
            self._waiting_nodes.discard(leader)
            self._in_flight.difference_update(partitions)
            if response is not None:
                self._on_response(response)
            else:
                self._on_connection_error(partitions, error)

        self._waiting_nodes.add(leader)
        self._in_flight.update(partitions)
        try:
            self._client.send(leader, apis.FETCH, fields, on_response)
        except ClientError as error:
            self._waiting_nodes.discard(leader)
            self._in_flight.difference_update(partitions)
            self._on_connection_error(partitions, error)

    def _on_connection_error(self, partitions: list[TopicPartition], error: ClientError | None) -> None:
        """The broker may have gone for a moment only: the leaders are looked up anew, and that fails if it has not."""
        for partition in partitions:
            self._client.forget_leader(partition.topic)
        if error is not None and not isinstance(error, BrokerUnreachable):
            self._failure = error

    def _on_response(self, response: Message) -> None:
        if response.error_code:
            self._failure = broker_error(response.error_code, "fetch")
            return
        for topic in response.responses:
            for data in topic.partitions:
                self._on_partition(TopicPartition(topic.topic, data.partition_index), data)

    def _on_partition(self, partition: TopicPartition, data: Message) -> None:
        code = data.error_code
        if code == OFFSET_OUT_OF_RANGE:
            self._out_of_range.add(partition)
        elif code in METADATA_ERRORS:
            self._client.forget_leader(partition.topic)
            self._rest_until_ms = now_ms() + RETRY_BACKOFF_MS
            if code == UNKNOWN_TOPIC_OR_PARTITION:
                self._failure = broker_error(code, f"partition {partition}")
        elif code != NONE:
            self._failure = broker_error(code, f"partition {partition}")
        else:
            self.high_watermarks[partition] = data.high_watermark
            if data.records:
                self._take_up(partition, data)

    def _take_up(self, partition: TopicPartition, data: Message) -> None:
        records = memoryview(data.records)
        fetch_offset = self._positions[partition]
        following = next_fetch_offset(records, fetch_offset)
        if following == fetch_offset:
            text = f"partition {partition}: no whole batch at offset {fetch_offset} in {len(records)} bytes"
            self._failure = KafkaError(text)
            return
        aborted = [(entry.producer_id, entry.first_offset) for entry in data.aborted_transactions or ()]
        self._completed.append(CompletedFetch(partition, fetch_offset, records, data.high_watermark, aborted))
        self._positions[partition] = following
