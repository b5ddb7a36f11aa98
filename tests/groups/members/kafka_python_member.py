"""A member with kafka-python; line_protocol.py says what it hears and tells.

Its callbacks run on the library's own thread, while `poll` waits for them: a commit that is waited for there would wait
for ever. Nothing is left to commit by then, since every batch is committed when it was read.
"""

from __future__ import annotations

import logging

from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import FencedInstanceIdError, KafkaError

from tests.groups.members.line_protocol import POLL_S, Line, Settings, settings_of_process

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


class KafkaPythonMember:
    def __init__(self, settings: Settings, line: Line) -> None:
        logging.disable(logging.CRITICAL)
        self.line = line
        self.topics = settings.topics
        self.read: dict[TopicPartition, int] = {}
        self.consumer = KafkaConsumer(
            bootstrap_servers=settings.server,
            group_id=settings.group,
            client_id=settings.client_id,
            group_instance_id=settings.group_instance_id,
            partition_assignment_strategy=[ASSIGNORS[settings.assignor]],
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            max_poll_interval_ms=settings.max_poll_interval_ms,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_wait_ms=100,
        )

    def run(self) -> None:
        for topic in self.topics:
            # It joins anew when it learns of its topics' partitions after it has joined.
            self.consumer.partitions_for_topic(topic)
        self.line.tell("ready")
        if self.line.wait_for_command() == "join":
            self.consumer.subscribe(self.topics, listener=Listener(self))
            self.poll_until_leave()
        self.consumer.close(autocommit=False)
        self.line.tell("left")

    def poll_until_leave(self) -> None:
        while self.line.command() is None:
            try:
                found = self.consumer.poll(timeout_ms=int(POLL_S * 1000))
            except FencedInstanceIdError:
                self.line.tell("fenced")
                self.line.wait_for_command()
                return
            except KafkaError as error:
                self.line.tell("failed", error=type(error).__name__)
                continue
            self.take([record for records in found.values() for record in records])

    def take(self, records: list[object]) -> None:
        if not records:
            return
        told = [(one.topic, one.partition, one.offset, one.value.decode()) for one in records]  # type: ignore[attr-defined]
        self.line.tell("records", records=told)
        for topic, partition, offset, _ in told:
            self.read[TopicPartition(topic, partition)] = offset + 1
        if self.line.commits:
            self.commit()

    def commit(self) -> None:
        """Everything read and not committed yet, of what is still its own."""
        offsets = {place: OffsetAndMetadata(offset, "", -1) for place, offset in list(self.read.items())}
        try:
            self.consumer.commit(offsets)
        except KafkaError as error:
            self.line.tell("committed", error=type(error).__name__)
            return
        self.line.tell("committed", error=None)
        for place, one in offsets.items():
            if self.read.get(place) == one.offset:
                del self.read[place]

    def forget(self, partitions: list[TopicPartition]) -> None:
        for place in partitions:
            self.read.pop(place, None)


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, member: KafkaPythonMember) -> None:
        self.member = member

    def on_partitions_assigned(self, assigned: list[TopicPartition]) -> None:
        self.member.line.tell_partitions("assigned", assigned)

    def on_partitions_revoked(self, revoked: list[TopicPartition]) -> None:
        self.member.forget(revoked)
        self.member.line.tell_partitions("revoked", revoked)

    def on_partitions_lost(self, lost: list[TopicPartition]) -> None:
        self.member.forget(lost)
        self.member.line.tell_partitions("lost", lost)


if __name__ == "__main__":
    KafkaPythonMember(settings_of_process(), Line()).run()
