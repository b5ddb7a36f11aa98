"""The consumer against a scripted broker: positions, cut batches, transactions, resets and moved leaders."""

from __future__ import annotations

from typing import Any

import pytest

from kcore.client.cluster import TopicPartition
from kcore.client.consumer import READ_COMMITTED, Consumer
from kcore.client.errors import ClientError, UnknownPartition, UnknownTopic
from kcore.client.fetcher import next_fetch_offset
from kcore.errors import KafkaError
from kcore.protocol import apis
from kcore.protocol.message import Message
from kcore.record.encoder import encode_batch
from tests.unit.client.peer import CLOSE, Fields, ScriptedPeer, metadata_of

T0 = TopicPartition("t", 0)
COMMIT_MARKER, ABORT_MARKER = b"\x00\x00\x00\x01", b"\x00\x00\x00\x00"
MARKER_VALUE = b"\x00\x00\x00\x00\x00\x00"


def batch(base_offset: int, count: int, **fields: Any) -> bytes:
    return encode_batch(
        [(None, b"%d" % offset) for offset in range(base_offset, base_offset + count)],
        timestamp=1000,
        base_offset=base_offset,
        **fields,
    )


class PartitionLog:
    """One partition's bytes, served from the batch that holds the fetch offset; `verdicts` are errors before that."""

    def __init__(self, batches: list[bytes], *, start: int = 0, max_bytes: int | None = None) -> None:
        self.batches = batches
        self.start = start
        self.end = next_fetch_offset(memoryview(b"".join(batches)), start)
        self.max_bytes = max_bytes
        self.verdicts: list[int | bytes] = []
        self.aborted: list[Fields] = []
        self.offsets: list[int] = []

    def fetch(self, version: int, request: Message) -> Fields | bytes:
        verdict = self.verdicts.pop(0) if self.verdicts else 0
        if isinstance(verdict, bytes):
            return verdict
        (topic,) = request.topics
        (wanted,) = topic.partitions
        self.offsets.append(wanted.fetch_offset)
        if not self.start <= wanted.fetch_offset <= self.end:
            verdict = 1
        data = self._from(wanted.fetch_offset) if not verdict else b""
        answer = {
            "partition_index": 0,
            "error_code": verdict,
            "high_watermark": self.end,
            "aborted_transactions": self.aborted,
            "records": data,
        }
        return {"responses": [{"topic": topic.topic, "partitions": [answer]}]}

    def _from(self, offset: int) -> bytes:
        kept = [data for data in self.batches if next_fetch_offset(memoryview(data), 0) > offset]
        return b"".join(kept)[: self.max_bytes]

    def list_offsets(self, version: int, request: Message) -> Fields:
        (topic,) = request.topics
        found = [
            {"partition_index": p.partition_index, "offset": self.start if p.timestamp == -2 else self.end}
            for p in topic.partitions
        ]
        return {"topics": [{"name": topic.name, "partitions": found}]}


def serve(log: PartitionLog) -> ScriptedPeer:
    peer = ScriptedPeer()
    peer.answers.update(
        {
            apis.METADATA.key: metadata_of(peer, {"t": 1}),
            apis.FETCH.key: log.fetch,
            apis.LIST_OFFSETS.key: log.list_offsets,
        }
    )
    return peer


def read(consumer: Consumer, count: int) -> list[int]:
    """The offsets of the next `count` records or more."""
    offsets: list[int] = []
    while len(offsets) < count:
        fetched = consumer.poll(5_000)
        assert fetched is not None, "nothing came"
        offsets += [record.offset for record in fetched.records]
        assert consumer.position(T0) == fetched.next_offset
    return offsets


def test_everything_is_read_once_also_when_answers_are_cut_short() -> None:
    batches = [batch(number * 10, 10) for number in range(20)]
    log = PartitionLog(batches, max_bytes=len(batches[0]) * 2 + 30)
    with serve(log) as peer, Consumer(peer.address, auto_offset_reset="earliest") as consumer:
        consumer.assign([T0])
        assert read(consumer, 200) == list(range(200))


def test_a_position_inside_a_batch_begins_there() -> None:
    with serve(PartitionLog([batch(0, 10), batch(10, 10)])) as peer, Consumer(peer.address) as consumer:
        consumer.assign([T0])
        consumer.seek(T0, 7)
        assert read(consumer, 13) == list(range(7, 20))
        consumer.seek(T0, 3)
        assert read(consumer, 17) == list(range(3, 20)), "what was fetched ahead is not mixed in"


@pytest.mark.parametrize(("reset", "expected"), [("earliest", 5), ("latest", 15)])
def test_an_offset_out_of_range_is_reset(reset: str, expected: int) -> None:
    log = PartitionLog([batch(5, 10)], start=5)
    with serve(log) as peer, Consumer(peer.address, auto_offset_reset=reset) as consumer:
        consumer.assign([T0])
        consumer.seek(T0, 1)
        consumer.poll(300)
        assert expected in log.offsets
        assert consumer.position(T0) >= expected


def test_no_reset_means_an_error() -> None:
    with serve(PartitionLog([batch(5, 1)], start=5)) as peer:
        consumer = Consumer(peer.address, auto_offset_reset="none")
        with pytest.raises(ClientError, match=r"t-0: no offset to start from; commit one, or set auto\.offset\.reset"):
            consumer.assign([T0])
        consumer.client.close()


@pytest.mark.parametrize("verdicts", [[6], [5, 6], [CLOSE], [74, CLOSE]])
def test_a_leader_that_moved_is_looked_up_anew(verdicts: list[int | bytes]) -> None:
    log = PartitionLog([batch(0, 10)])
    log.verdicts = verdicts
    with serve(log) as peer, Consumer(peer.address, auto_offset_reset="earliest") as consumer:
        consumer.assign([T0])
        assert read(consumer, 10) == list(range(10))
        assert len(peer.asked(apis.METADATA)) > len(verdicts)


def test_aborted_records_and_markers_are_not_for_readers_of_what_is_committed() -> None:
    def marker(offset: int, key: bytes, producer_id: int) -> bytes:
        return encode_batch(
            [(key, MARKER_VALUE)],
            base_offset=offset,
            producer_id=producer_id,
            producer_epoch=0,
            transactional=True,
            control=True,
            timestamp=1,
        )

    def part(offset: int, producer_id: int) -> bytes:
        return batch(offset, 2, producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)

    content = [part(0, 1), part(2, 2), marker(4, ABORT_MARKER, 1), part(5, 1), marker(7, COMMIT_MARKER, 2)]
    content += [marker(8, COMMIT_MARKER, 1), batch(9, 1)]
    log = PartitionLog(content)
    log.aborted = [{"producer_id": 1, "first_offset": 0}]
    with serve(log) as peer:
        with Consumer(peer.address, auto_offset_reset="earliest", isolation_level=READ_COMMITTED) as consumer:
            consumer.assign([T0])
            assert read(consumer, 5) == [2, 3, 5, 6, 9]
        with Consumer(peer.address, auto_offset_reset="earliest") as consumer:
            consumer.assign([T0])
            assert read(consumer, 7) == [0, 1, 2, 3, 5, 6, 9]


def test_damaged_bytes_are_an_error_and_not_records() -> None:
    damaged = bytearray(batch(0, 10))
    damaged[-1] ^= 1
    with (
        serve(PartitionLog([bytes(damaged)])) as peer,
        Consumer(peer.address, auto_offset_reset="earliest") as consumer,
    ):
        consumer.assign([T0])
        with pytest.raises(KafkaError, match="checksum"):
            consumer.poll(5_000)


def test_a_topic_or_partition_that_is_not_there_is_named_at_once() -> None:
    with serve(PartitionLog([])) as peer, Consumer(peer.address) as consumer:
        with pytest.raises(UnknownTopic, match="topic nope: "):
            consumer.client.partitions_of("nope")
        with pytest.raises(UnknownPartition, match="partition 7 of topic t: the topic has the partitions 0 to 0"):
            consumer.assign([TopicPartition("t", 7)])


def test_the_next_offset_is_that_after_the_last_whole_batch() -> None:
    data = batch(0, 10) + batch(10, 5)
    assert next_fetch_offset(memoryview(data), 0) == 15
    assert next_fetch_offset(memoryview(data[:-1]), 0) == 10
    assert next_fetch_offset(memoryview(data[:40]), 3) == 3
    assert next_fetch_offset(memoryview(b""), 8) == 8
