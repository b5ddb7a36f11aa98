"""What a topic holds, read by a client that others wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from kcore.testing.embedded_broker import EmbeddedBroker

TIMEOUT_S = 60.0


class Record(NamedTuple):
    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


def records(broker: EmbeddedBroker, topic: str) -> Iterator[Record]:
    """All there is now, by partitions."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "reading"})
    try:
        for number in sorted(consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic].partitions):
            first, end = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=TIMEOUT_S)
            consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING)])
            for _ in range(first, end):
                message = consumer.poll(TIMEOUT_S)
                assert message is not None
                assert message.error() is None
                headers: Any = message.headers()
                yield Record(topic, number, message.key(), message.value(), headers or [])
    finally:
        consumer.close()
