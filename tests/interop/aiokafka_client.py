"""aiokafka, on an event loop of its own behind calls that wait."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, RebalanceInProgressError

from tests.interop.consumer import TIMEOUT_S
from tests.interop.series import Received, Series, portions


def produce(
    server: str,
    topic: str,
    series: Series,
    settings: Mapping[str, object],
    milestones: Mapping[int, Callable[[], object]],
) -> None:
    """Returns when everything is acknowledged. At a milestone all before it is, and its function is called."""

    async def send_all() -> None:
        async with AIOKafkaProducer(bootstrap_servers=server, **settings) as producer:
            for numbers in portions(series, milestones):
                if numbers.start in milestones:
                    await asyncio.to_thread(milestones[numbers.start])
                futures = [
                    await producer.send(
                        topic,
                        series.value(number),
                        series.key(number),
                        headers=series.headers(number),
                        timestamp_ms=series.timestamp(number),
                    )
                    for number in numbers
                ]
                await asyncio.wait_for(asyncio.gather(*futures), TIMEOUT_S)

    asyncio.run(send_all())


class CommitWhenRevoked(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, consumer: AIOKafkaConsumer) -> None:
        self.consumer = consumer

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        # Where the group does not know the member any more, its successors go on at the last commit.
        with contextlib.suppress(CommitFailedError):
            if revoked:
                await self.consumer.commit()

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        pass


class AIOKafkaInteropConsumer:
    def __init__(self, server: str, group: str | None, **settings: object) -> None:
        self.runner = asyncio.Runner()
        self.consumer = self.runner.run(self._start(server, group, settings))

    @staticmethod
    async def _start(server: str, group: str | None, settings: Mapping[str, object]) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=server,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            **settings,
        )
        await consumer.start()
        return consumer

    async def _partitions(self, topic: str) -> list[TopicPartition]:
        # The client learns of a topic by asking for it; without a subscription nothing else makes it ask.
        await self.consumer._client.add_topic(topic)
        return [TopicPartition(topic, partition) for partition in sorted(self.consumer.partitions_for_topic(topic))]

    def end_offsets(self, topic: str) -> dict[int, int]:
        async def ask() -> dict[TopicPartition, int]:
            return await self.consumer.end_offsets(await self._partitions(topic))  # type: ignore[no-any-return]

        return {wanted.partition: offset for wanted, offset in self.runner.run(ask()).items()}

    def offsets_for_timestamp(self, topic: str, timestamp: int) -> dict[int, int | None]:
        async def ask() -> Mapping[TopicPartition, object]:
            wanted = dict.fromkeys(await self._partitions(topic), timestamp)
            return await self.consumer.offsets_for_times(wanted)  # type: ignore[no-any-return]

        return {one.partition: getattr(found, "offset", None) for one, found in self.runner.run(ask()).items()}

    def assign(self, topic: str, offsets: Mapping[int, int]) -> None:
        async def assign() -> None:
            self.consumer.assign([TopicPartition(topic, partition) for partition in offsets])
            for partition, offset in offsets.items():
                self.consumer.seek(TopicPartition(topic, partition), offset)

        self.runner.run(assign())

    def subscribe(self, topic: str) -> None:
        async def subscribe() -> None:
            self.consumer.subscribe([topic], listener=CommitWhenRevoked(self.consumer))

        self.runner.run(subscribe())

    def assigned(self) -> bool:
        return bool(self.consumer.assignment())

    def poll(self, limit: int, timeout_s: float) -> list[Received]:
        found = self.runner.run(self.consumer.getmany(timeout_ms=int(timeout_s * 1000), max_records=limit))
        return [
            Received(one.partition, one.offset, one.timestamp, one.key, one.value, list(one.headers))
            for records in found.values()
            for one in records
        ]

    def commit(self) -> bool:
        if not self.consumer.assignment():
            return False
        try:
            self.runner.run(self.consumer.commit())
        except (CommitFailedError, RebalanceInProgressError):
            return False
        return True

    def close(self) -> None:
        self.runner.run(self.consumer.stop())
        self.runner.close()
