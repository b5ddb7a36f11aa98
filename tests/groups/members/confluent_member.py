"""A member with confluent-kafka (librdkafka); line_protocol.py says what it hears and tells."""

from __future__ import annotations

import logging

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tests.groups.members.line_protocol import POLL_S, Line, Settings, settings_of_process

AT_ONCE = 100


class ConfluentMember:
    def __init__(self, settings: Settings, line: Line) -> None:
        self.line = line
        self.topics = settings.topics
        self.read: dict[tuple[str, int], int] = {}
        silent = logging.getLogger("confluent")
        silent.addHandler(logging.NullHandler())
        silent.propagate = False
        instance = {} if settings.group_instance_id is None else {"group.instance.id": settings.group_instance_id}
        self.consumer = Consumer(
            {
                "bootstrap.servers": settings.server,
                "group.id": settings.group,
                "client.id": settings.client_id,
                "partition.assignment.strategy": settings.assignor,
                "session.timeout.ms": settings.session_timeout_ms,
                "heartbeat.interval.ms": settings.heartbeat_interval_ms,
                "max.poll.interval.ms": settings.max_poll_interval_ms,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "fetch.wait.max.ms": 100,
                "reconnect.backoff.max.ms": 500,
                **instance,
            },
            logger=silent,
        )

    def run(self) -> None:
        self.line.tell("ready")
        while (command := self.line.wait_for_command()) != "leave":
            assert command == "join", command
            self.consumer.subscribe(self.topics, on_assign=self.assigned, on_revoke=self.revoked, on_lost=self.lost)
            if self.poll_until_command() == "leave":
                break
        self.consumer.close()
        self.line.tell("left")

    def poll_until_command(self) -> str:
        while (command := self.line.command()) is None:
            first = self.consumer.poll(POLL_S)
            if first is None:
                continue
            if not self.take([first, *self.consumer.consume(AT_ONCE, 0)]):
                return self.line.wait_for_command()
        return command

    def take(self, messages: list[Message]) -> bool:
        """False when it is a member no more, and cannot become one again."""
        good = []
        for message in messages:
            error = message.error()
            # It says so of the cause, or once that was told, of every further poll.
            if error is not None and (error.fatal() or error.code() == KafkaError._FATAL):
                self.line.tell("fenced")
                return False
            if error is not None:
                self.line.tell("failed", error=error.name())
            else:
                good.append(message)
        if not good:
            return True
        records = [(one.topic(), one.partition(), one.offset(), (one.value() or b"").decode()) for one in good]
        self.line.tell("records", records=records)
        for topic, partition, offset, _ in records:
            assert topic is not None
            assert partition is not None
            assert offset is not None
            self.read[topic, partition] = offset + 1
        if self.line.commits:
            self.commit()
        return True

    def commit(self) -> None:
        """Everything read and not committed yet."""
        if not self.read:
            return
        offsets = [TopicPartition(topic, partition, offset) for (topic, partition), offset in self.read.items()]
        try:
            results = self.consumer.commit(offsets=offsets, asynchronous=False)
            failed = [one.error for one in results or () if one.error is not None]
            error = failed[0] if failed else None
        except KafkaException as raised:
            error = raised.args[0]
        self.line.tell("committed", error=None if error is None else name_of(error))
        if error is None:
            self.read.clear()

    def assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.line.tell_partitions("assigned", partitions)

    def revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self.line.commits:
            self.commit()
        self.forget(partitions)
        self.line.tell_partitions("revoked", partitions)

    def lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.forget(partitions)
        self.line.tell_partitions("lost", partitions)

    def forget(self, partitions: list[TopicPartition]) -> None:
        for one in partitions:
            self.read.pop((one.topic, one.partition), None)


def name_of(error: KafkaError) -> str:
    return str(error.name())


if __name__ == "__main__":
    ConfluentMember(settings_of_process(), Line()).run()
