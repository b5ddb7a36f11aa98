"""A member with aiokafka; line_protocol.py says what it hears and tells.

Its callbacks run beside the task that polls: what a poll brings of partitions given up meanwhile is left alone,
and a lock keeps them while they are committed. It does not tell lost partitions from revoked ones, and calls nothing
when it is closed: what it owned then is told here.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError

from tests.groups.members.line_protocol import POLL_S, Line, Settings, settings_of_process

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


class AiokafkaMember:
    def __init__(self, settings: Settings, line: Line) -> None:
        self.settings = settings
        self.line = line
        self.read: dict[TopicPartition, int] = {}
        self.owned: set[TopicPartition] = set()
        self.committing = asyncio.Lock()

    async def run(self) -> None:
        settings = self.settings
        consumer = self.consumer = AIOKafkaConsumer(
            bootstrap_servers=settings.server,
            group_id=settings.group,
            client_id=settings.client_id,
            group_instance_id=settings.group_instance_id,
            partition_assignment_strategy=(ASSIGNORS[settings.assignor],),
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            max_poll_interval_ms=settings.max_poll_interval_ms,
            rebalance_timeout_ms=settings.max_poll_interval_ms,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_wait_ms=100,
        )
        await consumer.start()
        self.line.tell("ready")
        if await asyncio.to_thread(self.line.wait_for_command) == "join":
            consumer.subscribe(settings.topics, listener=Listener(self))
            await self.poll_until_leave()
            self.line.tell_partitions("revoked", consumer.assignment())
        await consumer.stop()
        self.line.tell("left")

    async def poll_until_leave(self) -> None:
        while self.line.command() is None:
            try:
                found = await self.consumer.getmany(timeout_ms=int(POLL_S * 1000))
            except KafkaError as error:
                self.line.tell("failed", error=type(error).__name__)
                continue
            await self.take([one for place, records in found.items() if place in self.owned for one in records])

    async def take(self, records: list[Any]) -> None:
        if not records:
            return
        told = [(one.topic, one.partition, one.offset, one.value.decode()) for one in records]
        self.line.tell("records", records=told)
        for topic, partition, offset, _ in told:
            self.read[TopicPartition(topic, partition)] = offset + 1
        if self.line.commits:
            async with self.committing:
                await self.commit()

    async def commit(self) -> None:
        """Everything read and not committed yet."""
        if not self.read:
            return
        try:
            await self.consumer.commit(dict(self.read))
        except KafkaError as error:
            self.line.tell("committed", error=type(error).__name__)
            return
        self.line.tell("committed", error=None)
        self.read.clear()


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, member: AiokafkaMember) -> None:
        self.member = member

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.member.owned = set(assigned)
        self.member.line.tell_partitions("assigned", assigned)

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        self.member.owned = set()
        async with self.member.committing:
            for place in revoked:
                self.member.read.pop(place, None)
            self.member.line.tell_partitions("revoked", revoked)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    asyncio.run(AiokafkaMember(settings_of_process(), Line()).run())
