"""The producer against a scripted broker: what is sent again, in which order, and what is given up."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kcore.client.errors import ClientTimeout, InvalidSetting, RecordTooLarge
from kcore.client.producer import Producer
from kcore.client.record_accumulator import RecordMetadata
from kcore.errors import KafkaError
from kcore.protocol import apis
from kcore.protocol.message import Message
from kcore.record.decoder import RecordBatch, decode_batches
from tests.unit.client.peer import CLOSE, Answer, Fields, ScriptedPeer, metadata_of

NOT_LEADER = 6
MESSAGE_TOO_LARGE = 10
OUT_OF_ORDER = 45


class Log:
    """A broker's produce API, which takes sequence numbers in order only.

    `verdicts` are the error codes of the first requests (CLOSE hangs up); after them all is well.
    """

    def __init__(self, verdicts: list[int | bytes] | None = None) -> None:
        self.verdicts = list(verdicts or [])
        self.batches: list[RecordBatch] = []
        self.answered: list[int] = []
        self.sequences: dict[tuple[int, int], int] = {}
        self.producer_ids = 0
        # Nothing is answered before this is set.
        self.gate = threading.Event()
        self.gate.set()

    def produce(self, version: int, request: Message) -> Fields | bytes:
        assert self.gate.wait(10)
        verdict = self.verdicts.pop(0) if self.verdicts else 0
        if isinstance(verdict, bytes):
            return verdict
        responses = []
        for topic in request.topic_data:
            partitions = [self._append(data, verdict) for data in topic.partition_data]
            responses.append({"name": topic.name, "partition_responses": partitions})
        return {"responses": responses}

    def _append(self, data: Message, error_code: int) -> Fields:
        (batch,) = decode_batches(data.records)
        expected = self.sequences.get((batch.producer_id, data.index), 0)
        if not error_code and batch.base_sequence not in (-1, expected):
            error_code = OUT_OF_ORDER
        base_offset = sum(known.record_count for known in self.batches)
        if not error_code:
            self.batches.append(batch)
            self.sequences[batch.producer_id, data.index] = expected + batch.record_count
        self.answered.append(error_code)
        return {"index": data.index, "error_code": error_code, "base_offset": base_offset, "log_append_time_ms": -1}

    def init_producer_id(self, version: int, request: Message) -> Fields:
        self.producer_ids += 1
        return {"error_code": 0, "producer_id": 100 + self.producer_ids, "producer_epoch": 0}

    def values(self) -> list[bytes | None]:
        return [record.value for batch in self.batches for record in batch]


def serve(log: Log, partitions: int = 1) -> ScriptedPeer:
    peer = ScriptedPeer()
    answers: dict[int, Answer] = {
        apis.METADATA.key: metadata_of(peer, {"t": partitions}),
        apis.PRODUCE.key: log.produce,
        apis.INIT_PRODUCER_ID.key: log.init_producer_id,
    }
    peer.answers.update(answers)
    return peer


class Deliveries:
    def __init__(self) -> None:
        self.metadata: list[RecordMetadata] = []
        self.errors: list[Exception] = []

    def __call__(self, metadata: RecordMetadata | None, error: Exception | None) -> None:
        if metadata is not None:
            self.metadata.append(metadata)
        if error is not None:
            self.errors.append(error)


def test_records_are_delivered_in_order_with_their_offsets() -> None:
    log, deliveries = Log(), Deliveries()
    with serve(log) as peer, Producer(peer.address, linger_ms=1000) as producer:
        for number in range(100):
            producer.send("t", b"%d" % number, timestamp_ms=number, on_delivery=deliveries)
        producer.flush()
        assert producer.pending == 0
    assert log.values() == [b"%d" % number for number in range(100)]
    assert deliveries.metadata == [RecordMetadata("t", 0, number, number) for number in range(100)]


def test_a_batch_is_closed_at_batch_size() -> None:
    log = Log()
    with serve(log) as peer, Producer(peer.address, batch_size=1000, linger_ms=10_000) as producer:
        for _ in range(100):
            producer.send("t", bytes(100))
        producer.flush()
    assert sum(batch.record_count for batch in log.batches) == 100
    assert all(batch.size_bytes <= 1000 for batch in log.batches)
    assert all(batch.record_count >= 7 for batch in log.batches[:-1]), "batches are filled"


@pytest.mark.parametrize("verdicts", [[NOT_LEADER], [NOT_LEADER, NOT_LEADER], [CLOSE], [CLOSE, NOT_LEADER]])
def test_what_may_be_sent_again_is_and_once(verdicts: list[int | bytes]) -> None:
    log, deliveries = Log(verdicts), Deliveries()
    with serve(log) as peer, Producer(peer.address) as producer:
        producer.send("t", b"value", on_delivery=deliveries)
        producer.flush()
        assert len(peer.asked(apis.METADATA)) > 1, "the leader was looked up anew"
    assert log.values() == [b"value"]
    assert len(deliveries.metadata) == 1
    assert (log.batches[0].producer_id, log.batches[0].base_sequence) == (101, 0)


def test_an_early_batch_waits_for_the_one_before_it() -> None:
    """The first of several batches in flight fails; the others are then out of order, and not lost."""
    log, deliveries = Log([NOT_LEADER]), Deliveries()
    log.gate.clear()
    with serve(log) as peer, Producer(peer.address, batch_size=100, linger_ms=10_000) as producer:
        for number in range(4):
            producer.send("t", bytes([number]) * 60, on_delivery=deliveries)
        log.gate.set()
        producer.flush()
    assert [value[0] for value in log.values() if value] == [0, 1, 2, 3]
    assert [batch.base_sequence for batch in log.batches] == [0, 1, 2, 3]
    assert OUT_OF_ORDER in log.answered
    assert not deliveries.errors


def test_what_may_not_is_given_up_and_the_next_producer_id_starts_over() -> None:
    log, deliveries = Log([MESSAGE_TOO_LARGE]), Deliveries()
    with serve(log) as peer, Producer(peer.address) as producer:
        producer.send("t", b"refused", on_delivery=deliveries)
        producer.flush()
        producer.send("t", b"taken", on_delivery=deliveries)
        producer.flush()
    (error,) = deliveries.errors
    assert isinstance(error, KafkaError)
    assert error.code == MESSAGE_TOO_LARGE
    assert str(error).startswith("partition t-0: ")
    assert log.values() == [b"taken"]
    assert (log.batches[0].producer_id, log.batches[0].base_sequence) == (102, 0)


def test_after_the_delivery_timeout_a_record_is_given_up() -> None:
    log, deliveries = Log([NOT_LEADER] * 1000), Deliveries()
    with serve(log) as peer, Producer(peer.address, delivery_timeout_ms=200) as producer:
        producer.send("t", b"late", on_delivery=deliveries)
        producer.flush()
    assert len(deliveries.errors) == 1
    assert log.values() == []


def test_without_acknowledgements_nothing_is_waited_for() -> None:
    class Silent(Log):
        def produce(self, version: int, request: Message) -> Any:
            super().produce(version, request)

    log, deliveries = Silent(), Deliveries()
    with serve(log) as peer:
        with Producer(peer.address, acks=0) as producer:
            producer.send("t", b"fire", on_delivery=deliveries)
            producer.flush()
            assert deliveries.metadata[0].offset == -1
            producer.client.request(apis.METADATA, {"topics": []}), "the broker has read what came before"
        assert log.values() == [b"fire"]
        assert log.producer_ids == 0, "idempotence needs every replica's acknowledgement"


def test_keys_choose_partitions_and_a_whole_batch_can_be_handed_over() -> None:
    log = Log()
    with serve(log, partitions=3) as peer, Producer(peer.address) as producer:
        producer.send("t", b"keyed", key=b"21", partition=None)
        producer.flush()
        producer.send_batch("t", [b"x", b"y"], partition=2)
        producer.flush()
        sent = [
            data.index for request in peer.asked(apis.PRODUCE) for t in request.topic_data for data in t.partition_data
        ]
    assert sent == [(-973932308 & 0x7FFFFFFF) % 3, 2]
    assert log.values() == [b"keyed", b"x", b"y"]


def test_the_buffer_is_bounded() -> None:
    log = Log()
    with serve(log) as peer, Producer(peer.address, buffer_memory=10_000, batch_size=2_000) as producer:
        for _ in range(200):
            producer.send("t", bytes(500))
        producer.flush()
        with pytest.raises(RecordTooLarge, match=r"max\.request\.size"):
            producer.send("t", bytes(20_000))
    assert sum(batch.record_count for batch in log.batches) == 200


def test_a_full_buffer_makes_the_sender_wait_and_then_fail() -> None:
    with serve(Log([NOT_LEADER] * 1000)) as peer:
        producer = Producer(peer.address, buffer_memory=1_000, max_block_ms=100)
        producer.send("t", bytes(600))
        with pytest.raises(ClientTimeout, match=r"buffer\.memory"):
            producer.send("t", bytes(600))
        producer.client.close()


def test_settings_that_cannot_be() -> None:
    with pytest.raises(InvalidSetting, match=r"compression\.type 'zip': must be one of none, gzip, snappy, lz4, zstd"):
        Producer("localhost:9092", compression_type="zip")
    with pytest.raises(InvalidSetting, match="acks 2"):
        Producer("localhost:9092", acks=2)


def test_a_broker_that_is_gone_for_good_fails_what_waits_and_ends_the_flush() -> None:
    log, deliveries = Log([MESSAGE_TOO_LARGE]), Deliveries()
    with serve(log) as peer:
        producer = Producer(peer.address, delivery_timeout_ms=300)
        producer.send("t", b"refused", on_delivery=deliveries)
        producer.flush()
    producer.send("t", b"too late", on_delivery=deliveries)
    producer.flush()
    producer.client.close()
    assert [type(error).__name__ for error in deliveries.errors] == ["MessageTooLargeError", "ClientTimeout"]
    assert log.values() == []
