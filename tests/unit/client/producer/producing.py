"""What the sender's tests share: a probe with a topic whose partitions have leaders, and both ends of Produce."""

from __future__ import annotations

from typing import Any

from kcore.protocol import apis, headers
from kcore.record.decoder import decode_batches
from tests.native import build

PROBE = build.load("sender_probe")
OK, UNSENT, DISCONNECTED, TIMED_OUT, UNSUPPORTED_VERSION, UNREADABLE, CLOSED = range(7)
EVENT_DONE, EVENT_METADATA, EVENT_PRODUCER_ID, EVENT_ERROR, EVENT_LEADERS = 1, 2, 4, 8, 64


class Producing:
    """A producer without threads, to which the test is clock, network, leader and background."""

    def __init__(self, partitions: int = 1, *, nodes: int = 1, idempotent: bool = True, **options: Any) -> None:
        names = ("batch_size", "buffer_memory", "linger_ms", "delivery_timeout_ms", "partitioner", "ignore_keys")
        accumulator = {name: options.pop(name) for name in names if name in options}
        self.probe = PROBE.SenderProbe(accumulator, idempotent=idempotent, client_id="a client", **options)
        self.topic = self.probe.accumulator.add_topic("events", partitions)
        for partition in range(partitions):
            self.probe.lead(self.topic, partition, partition % nodes)
        for node in range(nodes):
            self.probe.network.set_ready(node, True)
        if idempotent:
            self.probe.set_producer_id(7000, 0)

    def append(self, *values: bytes, partition: int = 0, **record: Any) -> list[Any]:
        return [self.probe.append(self.topic, value, partition=partition, **record) for value in values]

    def turn(self, after_ms: float = 0) -> list[Any]:
        """The requests that turns sent: one for what happened, as the engine takes it, and one when time has passed."""
        self.probe.turn(0)
        if after_ms:
            self.probe.turn(after_ms)
        return self.probe.sent()  # type: ignore[no-any-return]

    def one(self, after_ms: float = 0) -> Any:
        requests = self.turn(after_ms)
        assert len(requests) == 1, requests
        return requests[0]


def request_of(sent: Any) -> Any:
    """A sent frame as a broker reads it, header left out."""
    # The engine writes size, key, version and correlation id before what the sender wrote.
    frame = apis.PRODUCE.key.to_bytes(2, "big") + sent.version.to_bytes(2, "big") + bytes(4) + sent.frame[12:]
    header, position = headers.decode_request_header(frame)
    assert header.client_id == "a client"
    return apis.PRODUCE.request.decode(sent.version, frame, position)


def batches_of(sent: Any) -> dict[int, Any]:
    """The batch of each partition; CRC and structure checked by the decoder."""
    found = {}
    for topic in request_of(sent).topic_data:
        for partition in topic.partition_data:
            [batch] = decode_batches(partition.records)
            assert batch.has_valid_checksum()
            found[partition.index] = batch
    return found


def values_of(sent: Any) -> list[bytes]:
    return [record.value for batch in batches_of(sent).values() for record in batch]


def sequences_of(sent: Any) -> list[tuple[int, int, int]]:
    return [(b.producer_id, b.producer_epoch, b.base_sequence) for b in batches_of(sent).values()]


def answer(sent: Any, base_offset: int = 0, error_code: int = 0, *, throttle_time_ms: int = 0, **fields: Any) -> None:
    """Answers all partitions of a request alike."""
    topics = [
        {
            "name": topic.name,
            "partition_responses": [
                {"index": p.index, "error_code": error_code, "base_offset": base_offset, **fields}
                for p in topic.partition_data
            ],
        }
        for topic in request_of(sent).topic_data
    ]
    sent.finish(
        OK, apis.PRODUCE.response.encode(sent.version, {"responses": topics, "throttle_time_ms": throttle_time_ms})
    )
