"""confluent-kafka (librdkafka)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tests.interop.consumer import TIMEOUT_S
from tests.interop.series import Received, Series

NO_MEMBER = (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION, KafkaError.REBALANCE_IN_PROGRESS)


def produce(
    server: str,
    topic: str,
    series: Series,
    settings: Mapping[str, object],
    milestones: Mapping[int, Callable[[], object]],
) -> None:
    """Returns when everything is acknowledged. At a milestone all before it is, and its function is called."""
    failures: list[object] = []

    def delivered(error: object, message: Message) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer({"bootstrap.servers": server, **settings})
    for number in range(series.count):
        if number in milestones:
            assert producer.flush(TIMEOUT_S) == 0, f"not all before {number} is acknowledged"
            milestones[number]()
        while True:
            try:
                producer.produce(
                    topic,
                    series.value(number),
                    series.key(number),
                    on_delivery=delivered,
                    timestamp=series.timestamp(number) or 0,
                    headers=series.headers(number),
                )
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1000 == 0:
            producer.poll(0)
    left = producer.flush(TIMEOUT_S)
    assert left == 0, f"{left} records of {series.producer} are not acknowledged"
    assert not failures, f"{len(failures)} records of {series.producer} failed, the first with {failures[0]}"


class ConfluentConsumer:
    def __init__(self, server: str, group: str | None, **settings: object) -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": server,
                # It does not go without, even where it joins no group.
                "group.id": group or "no-group",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                **settings,
            }
        )

    def _partitions(self, topic: str) -> list[int]:
        return sorted(self.consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic].partitions)

    def end_offsets(self, topic: str) -> dict[int, int]:
        partitions = [TopicPartition(topic, partition) for partition in self._partitions(topic)]
        return {
            wanted.partition: self.consumer.get_watermark_offsets(wanted, timeout=TIMEOUT_S)[1] for wanted in partitions
        }

    def offsets_for_timestamp(self, topic: str, timestamp: int) -> dict[int, int | None]:
        wanted = [TopicPartition(topic, partition, timestamp) for partition in self._partitions(topic)]
        found = self.consumer.offsets_for_times(wanted, timeout=TIMEOUT_S)
        return {one.partition: one.offset if one.offset >= 0 else None for one in found}

    def assign(self, topic: str, offsets: Mapping[int, int]) -> None:
        self.consumer.assign([TopicPartition(topic, partition, offset) for partition, offset in offsets.items()])

    def subscribe(self, topic: str) -> None:
        def revoked(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            self.commit()

        def lost(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            """Another member may have them by now: there is nothing to commit."""

        self.consumer.subscribe([topic], on_revoke=revoked, on_lost=lost)

    def assigned(self) -> bool:
        return bool(self.consumer.assignment())

    def poll(self, limit: int, timeout_s: float) -> list[Received]:
        # consume() waits the whole time when fewer than it may give are there: the first record is waited for alone.
        first = self.consumer.poll(timeout_s)
        if first is None:
            return []
        messages = [first] if limit == 1 else [first, *self.consumer.consume(limit - 1, 0.0)]
        return [self._received(message) for message in messages]

    @staticmethod
    def _received(message: Message) -> Received:
        error = message.error()
        if error is not None:
            raise KafkaException(error)
        return Received(
            message.partition(),
            message.offset(),
            message.timestamp()[1],
            message.key(),
            message.value(),
            message.headers() or [],
        )

    def commit(self) -> bool:
        positions = [one for one in self.consumer.position(self.consumer.assignment()) if one.offset >= 0]
        if not positions:
            # It has a position only where it has given out something since the partition was assigned.
            return self.assigned()
        try:
            self.consumer.commit(offsets=positions, asynchronous=False)
        except KafkaException as failure:
            if failure.args[0].code() not in NO_MEMBER:
                raise
            return False
        return True

    def close(self) -> None:
        self.consumer.close()
