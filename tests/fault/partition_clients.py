"""Producers and consumers of three makes that say of every record what they were told, by Kafka's names of errors.

A send is tried for `tries_ms`, and no longer than the client needs to hear of one error unless it `retries` (aiokafka
always does). Readers read partitions from their beginning.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import aiokafka
import kafka
from aiokafka.errors import KafkaError as AiokafkaError
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka.errors import KafkaError as KafkaPythonError

from tests.invariants.history import TopicPartition

TIMEOUT_S = 60.0
POLL_S = 0.05


class Told(NamedTuple):
    """What a client was told of a record: the offset that it has, or the error's name."""

    value: bytes
    offset: int | None
    error: str | None = None


class Send(Protocol):
    """Sends values to one partition, and answers what was told of each."""

    def __call__(
        self, servers: str, to: TopicPartition, values: Sequence[bytes], tries_ms: int, *, retries: bool = False
    ) -> list[Told]: ...


Records = dict[TopicPartition, dict[int, bytes]]
# Reads until it has so many records of each partition, or a time is over.
Read = Callable[[str, Mapping[TopicPartition, int], float], Records]


def send_with_confluent(
    servers: str, to: TopicPartition, values: Sequence[bytes], tries_ms: int, *, retries: bool = False
) -> list[Told]:
    told: list[Told] = []
    settings: dict[str, str | int] = {"bootstrap.servers": servers, "delivery.timeout.ms": tries_ms, "linger.ms": 5}
    producer = Producer(settings if retries else settings | {"message.send.max.retries": 0})
    for value in values:

        def delivered(error: KafkaError | None, message: object, value: bytes = value) -> None:
            offset = message.offset() if error is None else None  # type: ignore[attr-defined]
            told.append(Told(value, offset, error.name() if error is not None else None))

        producer.produce(to.topic, value, partition=to.partition, on_delivery=delivered)
    assert producer.flush(TIMEOUT_S) == 0
    return told


def send_with_kafka_python(
    servers: str, to: TopicPartition, values: Sequence[bytes], tries_ms: int, *, retries: bool = False
) -> list[Told]:
    told: list[Told] = []
    producer = kafka.KafkaProducer(
        bootstrap_servers=servers,
        acks="all",
        retries=float("inf") if retries else 0,
        linger_ms=5,
        delivery_timeout_ms=tries_ms,
        request_timeout_ms=tries_ms - 100,
        enable_idempotence=False,
        max_block_ms=tries_ms,
    )
    try:
        sent: list[tuple[bytes, kafka.future.Future | None, str]] = []
        for value in values:
            try:
                sent.append((value, producer.send(to.topic, value, partition=to.partition), ""))
            except KafkaPythonError as error:
                sent.append((value, None, type(error).__name__))
        for value, future, refusal in sent:
            try:
                told.append(Told(value, future.get(TIMEOUT_S).offset) if future else Told(value, None, refusal))
            except KafkaPythonError as error:
                told.append(Told(value, None, name_of(error)))
    finally:
        producer.close()
    return told


def send_with_aiokafka(
    servers: str, to: TopicPartition, values: Sequence[bytes], tries_ms: int, *, retries: bool = False
) -> list[Told]:
    async def send_one(producer: aiokafka.AIOKafkaProducer, value: bytes) -> Told:
        try:
            record = await producer.send_and_wait(to.topic, value, partition=to.partition)
        except AiokafkaError as error:
            return Told(value, None, name_of(error))
        return Told(value, record.offset)

    async def run() -> list[Told]:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=servers, acks="all", request_timeout_ms=tries_ms, linger_ms=5, retry_backoff_ms=50
        )
        await producer.start()
        try:
            return await asyncio.gather(*(send_one(producer, value) for value in values))
        finally:
            await producer.stop()

    return asyncio.run(run())


def name_of(error: KafkaPythonError | AiokafkaError) -> str:
    """Kafka's name of an error where the client has one, else that of its class."""
    return str(getattr(error, "message", "") or type(error).__name__)


def read_with_confluent(servers: str, wanted: Mapping[TopicPartition, int], patience_s: float) -> Records:
    found: Records = {partition: {} for partition in wanted}
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "readers",
            "check.crcs": True,
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 20,
        }
    )
    try:
        # It looks for the leaders of what it does not know yet twice a second.
        consumer.list_topics(timeout=TIMEOUT_S)
        consumer.assign([ConfluentPartition(*partition, OFFSET_BEGINNING) for partition in wanted])
        deadline = time.monotonic() + patience_s
        while is_short(found, wanted) and time.monotonic() < deadline:
            for message in consumer.consume(1_000, POLL_S):
                if message.error() is None:
                    place = TopicPartition(message.topic(), message.partition())
                    found[place][message.offset()] = message.value()
        return found
    finally:
        consumer.close()


def read_with_kafka_python(servers: str, wanted: Mapping[TopicPartition, int], patience_s: float) -> Records:
    found: Records = {partition: {} for partition in wanted}
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=servers, enable_auto_commit=False, auto_offset_reset="earliest", fetch_max_wait_ms=20
    )
    try:
        consumer.assign([kafka.TopicPartition(*partition) for partition in wanted])
        deadline = time.monotonic() + patience_s
        while is_short(found, wanted) and time.monotonic() < deadline:
            for place, records in consumer.poll(int(POLL_S * 1_000)).items():
                found[TopicPartition(*place)].update((record.offset, record.value) for record in records)
        return found
    finally:
        consumer.close()


def read_with_aiokafka(servers: str, wanted: Mapping[TopicPartition, int], patience_s: float) -> Records:
    async def run() -> Records:
        found: Records = {partition: {} for partition in wanted}
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=servers, enable_auto_commit=False, auto_offset_reset="earliest", fetch_max_wait_ms=20
        )
        await consumer.start()
        try:
            consumer.assign([aiokafka.TopicPartition(*partition) for partition in wanted])
            deadline = time.monotonic() + patience_s
            while is_short(found, wanted) and time.monotonic() < deadline:
                for place, records in (await consumer.getmany(timeout_ms=int(POLL_S * 1_000))).items():
                    found[TopicPartition(*place)].update((record.offset, record.value) for record in records)
            return found
        finally:
            await consumer.stop()

    return asyncio.run(run())


def is_short(found: Records, wanted: Mapping[TopicPartition, int]) -> bool:
    return any(len(found[partition]) < count for partition, count in wanted.items())


SENDERS: dict[str, Send] = {
    "confluent": send_with_confluent,
    "kafka-python": send_with_kafka_python,
    "aiokafka": send_with_aiokafka,
}
READERS: dict[str, Read] = {
    "confluent": read_with_confluent,
    "kafka-python": read_with_kafka_python,
    "aiokafka": read_with_aiokafka,
}
