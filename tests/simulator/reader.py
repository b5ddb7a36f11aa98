"""Reads partitions as a consumer does, with aiokafka's codec, and remembers what was there."""

from __future__ import annotations

from collections.abc import Callable

from aiokafka.record.memory_records import MemoryRecords

from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.invariants.checker import InvariantViolation
from tests.invariants.history import History, LogView, Read, TopicPartition
from tests.raw_client import RawClient

EARLIEST, LATEST = -2, -1
MAX_BYTES = 1 << 20
PATIENCE = 10


class Reader:
    def __init__(self, name: str, history: History, clock: Callable[[], int]) -> None:
        self.name = name
        self._history = history
        self._clock = clock

    def bound(self, client: RawClient, partition: TopicPartition, which: int) -> int:
        """EARLIEST or LATEST of a partition; -1 when it is not to be had."""
        part = {"partition_index": partition.partition, "timestamp": which}
        fields = {"replica_id": -1, "topics": [{"name": partition.topic, "partitions": [part]}]}
        return int(client.request(apis.LIST_OFFSETS, 7, fields).topics[0].partitions[0].offset)

    def fetch_fields(
        self, partition: TopicPartition, offset: int, max_bytes: int = MAX_BYTES, wait_ms: int = 0
    ) -> dict[str, object]:
        """Of a Fetch in version 12."""
        part = {
            "partition": partition.partition,
            "fetch_offset": offset,
            "partition_max_bytes": max_bytes,
            "current_leader_epoch": -1,
        }
        return {
            "replica_id": -1,
            "max_wait_ms": wait_ms,
            "min_bytes": 1,
            "max_bytes": max_bytes,
            "topics": [{"topic": partition.topic, "partitions": [part]}],
        }

    def fetch(
        self, client: RawClient, partition: TopicPartition, offset: int, max_bytes: int = MAX_BYTES, wait_ms: int = 0
    ) -> Message:
        fields = self.fetch_fields(partition, offset, max_bytes, wait_ms)
        found: Message = client.request(apis.FETCH, 12, fields).responses[0].partitions[0]
        return found

    def read(self, client: RawClient, partition: TopicPartition, offset: int, max_bytes: int) -> None:
        """One fetch, whatever it gives."""
        answer = self.fetch(client, partition, offset, max_bytes)
        if answer.error_code == 0:
            at = self._clock()
            for found, value in values_of(answer.records):
                if found >= offset:
                    self._history.reads.append(Read(self.name, partition, found, value, at))

    def view(self, client: RawClient, partition: TopicPartition, end: int) -> LogView:
        """The whole partition, whose log ends at `end`: everything in it has to be shown."""
        at = self._clock()
        start = offset = self.bound(client, partition, EARLIEST)
        found: dict[int, bytes] = {}
        waits = 0
        while offset < end:
            answer = self.fetch(client, partition, offset, wait_ms=500)
            records = [record for record in values_of(answer.records) if record[0] >= offset]
            found.update(records)
            offset = records[-1][0] + 1 if records else offset
            waits += not records
            if answer.error_code or waits > PATIENCE:
                raise InvariantViolation(
                    12, f"{partition} shows nothing at {offset}, ends at {end}: error {answer.error_code}"
                )
        view = LogView(partition, start, end, found, at)
        self._history.views.append(view)
        return view


def values_of(records: bytes | None) -> list[tuple[int, bytes]]:
    """Offsets and values of whole batches."""
    found = []
    batches = MemoryRecords(bytes(records or b""))
    while (batch := batches.next_batch()) is not None:
        found += [(record.offset, record.value) for record in batch]
    return found
