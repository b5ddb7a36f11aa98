"""Every client library as two functions: `write` records to partition 0 of a topic, in a codec, and `read` them.

A Row is what must not change on its way.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import aiokafka  # type: ignore[import-untyped]
import confluent_kafka
import kafka  # type: ignore[import-untyped]

from kcore.client.consumer import Consumer
from kcore.client.producer.producer import Producer

PATIENCE_S = 60
KCLI, CONFLUENT, KAFKA_PYTHON, AIOKAFKA, JAVA = "kcli", "confluent-kafka", "kafka-python", "aiokafka", "java"
LIBRARIES = (KCLI, CONFLUENT, KAFKA_PYTHON, AIOKAFKA, JAVA)


class Row(NamedTuple):
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[tuple[str, bytes | None], ...]


class ReadRow(NamedTuple):
    offset: int
    row: Row


class Java:
    """One JVM for all questions; see RecordExchange.java."""

    def __init__(self, class_path: str) -> None:
        source = Path(__file__).with_name("RecordExchange.java")
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        command = ["java", "-Xmx128m", "-Xshare:auto", "-XX:TieredStopAtLevel=1", quiet, "-cp", class_path, str(source)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **question: Any) -> list[Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer["error"]
        found: list[Any] = answer["answer"]
        return found

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        assert self.process.wait(30) == 0
        self.process.stdout.close()


def write(library: str, servers: str, topic: str, codec: str, rows: Sequence[Row], java: Java) -> None:
    """Every row acknowledged, at the offset that is its place."""
    if library == KCLI:
        offsets = write_with_kcli(servers, topic, codec, rows)
    elif library == CONFLUENT:
        offsets = write_with_confluent(servers, topic, codec, rows)
    elif library == KAFKA_PYTHON:
        offsets = write_with_kafka_python(servers, topic, codec, rows)
    elif library == AIOKAFKA:
        offsets = asyncio.run(write_with_aiokafka(servers, topic, codec, rows))
    else:
        texts = [
            {
                "key": None if row.key is None else row.key.hex(),
                "value": None if row.value is None else row.value.hex(),
                "timestamp": row.timestamp,
                "headers": [[name, None if value is None else value.hex()] for name, value in row.headers],
            }
            for row in rows
        ]
        offsets = java.ask(servers=servers, topic=topic, codec=codec, records=texts)
    assert offsets == list(range(len(rows)))


def write_with_kcli(servers: str, topic: str, codec: str, rows: Sequence[Row]) -> list[int]:
    with Producer(bootstrap_servers=servers, compression_type=codec, linger_ms=500) as producer:
        sent = [
            producer.send(topic, row.value, key=row.key, headers=row.headers, timestamp=row.timestamp, partition=0)
            for row in rows
        ]
        return [future.result(PATIENCE_S).offset for future in sent]


def write_with_confluent(servers: str, topic: str, codec: str, rows: Sequence[Row]) -> list[int]:
    config = {"bootstrap.servers": servers, "compression.type": codec, "linger.ms": 500, "enable.idempotence": True}
    producer = confluent_kafka.Producer(config)
    offsets: list[int] = []

    def told(error: Any, message: Any) -> None:
        assert error is None, error
        offsets.append(message.offset())

    for row in rows:
        producer.produce(
            topic,
            row.value,
            row.key,
            partition=0,
            timestamp=row.timestamp,
            headers=list(row.headers),
            on_delivery=told,
        )
    assert producer.flush(PATIENCE_S) == 0
    return offsets


def write_with_kafka_python(servers: str, topic: str, codec: str, rows: Sequence[Row]) -> list[int]:
    producer = kafka.KafkaProducer(
        bootstrap_servers=servers, compression_type=None if codec == "none" else codec, linger_ms=20
    )
    try:
        sent = [
            producer.send(topic, row.value, row.key, list(row.headers), partition=0, timestamp_ms=row.timestamp)
            for row in rows
        ]
        return [future.get(PATIENCE_S).offset for future in sent]
    finally:
        producer.close(timeout=PATIENCE_S)


async def write_with_aiokafka(servers: str, topic: str, codec: str, rows: Sequence[Row]) -> list[int]:
    compression = None if codec == "none" else codec
    async with aiokafka.AIOKafkaProducer(
        bootstrap_servers=servers, compression_type=compression, linger_ms=20
    ) as producer:
        sent = [
            await producer.send(topic, row.value, row.key, 0, row.timestamp, headers=list(row.headers)) for row in rows
        ]
        return [(await future).offset for future in sent]


def read(library: str, servers: str, topic: str, count: int, java: Java) -> list[ReadRow]:
    if library == KCLI:
        return read_with_kcli(servers, topic, count)
    if library == CONFLUENT:
        return read_with_confluent(servers, topic, count)
    if library == KAFKA_PYTHON:
        return read_with_kafka_python(servers, topic, count)
    if library == AIOKAFKA:
        return asyncio.run(read_with_aiokafka(servers, topic, count))
    return [row_of_java(row) for row in java.ask(servers=servers, topic=topic, count=count)]


def row_of_java(row: dict[str, Any]) -> ReadRow:
    def of_hex(text: str | None) -> bytes | None:
        return None if text is None else bytes.fromhex(text)

    headers = tuple((name, of_hex(value)) for name, value in row["headers"])
    return ReadRow(row["offset"], Row(of_hex(row["key"]), of_hex(row["value"]), row["timestamp"], headers))


def read_with_kcli(servers: str, topic: str, count: int) -> list[ReadRow]:
    with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        found: list[ReadRow] = []
        while len(found) < count:
            records = consumer.poll(PATIENCE_S * 1000)
            assert records, f"{len(found)} of {count}"
            found += [
                ReadRow(each.offset, Row(each.key, each.value, each.timestamp, tuple(each.headers))) for each in records
            ]
        return found


def read_with_confluent(servers: str, topic: str, count: int) -> list[ReadRow]:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": servers, "group.id": "none", "enable.auto.commit": False, "check.crcs": True}
    )
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        found: list[ReadRow] = []
        while len(found) < count:
            each = consumer.poll(PATIENCE_S)
            assert each is not None, f"{len(found)} of {count}"
            assert each.error() is None
            headers = tuple(each.headers() or ())
            found.append(ReadRow(each.offset(), Row(each.key(), each.value(), each.timestamp()[1], headers)))
        return found
    finally:
        consumer.close()


def read_with_kafka_python(servers: str, topic: str, count: int) -> list[ReadRow]:
    consumer = kafka.KafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest", group_id=None)
    try:
        consumer.assign([kafka.TopicPartition(topic, 0)])
        found: list[ReadRow] = []
        while len(found) < count:
            polled = consumer.poll(PATIENCE_S * 1000)
            assert polled, f"{len(found)} of {count}"
            for records in polled.values():
                found += [
                    ReadRow(each.offset, Row(each.key, each.value, each.timestamp, tuple(map(tuple, each.headers))))
                    for each in records
                ]
        return found
    finally:
        consumer.close()


async def read_with_aiokafka(servers: str, topic: str, count: int) -> list[ReadRow]:
    async with aiokafka.AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([aiokafka.TopicPartition(topic, 0)])
        found: list[ReadRow] = []
        while len(found) < count:
            polled = await consumer.getmany(timeout_ms=PATIENCE_S * 1000)
            assert polled, f"{len(found)} of {count}"
            for records in polled.values():
                found += [
                    ReadRow(each.offset, Row(each.key, each.value, each.timestamp, tuple(map(tuple, each.headers))))
                    for each in records
                ]
        return found
