"""A disk that answers EIO under `__consumer_offsets`: nobody is told of a commit that is not kept, nor of a lost one.

Its two partitions lie in a directory each, and the second one's disk fails, when offsets are appended or when the
coordinator reads them back. Groups of the other partition go on; those of the failed one have no coordinator until the
broker starts on the whole disk, and then have every offset that was acknowledged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kcore.coordinator.group.partitioner import partition_for
from kcore.protocol import apis
from tests.fault.failing_disk_broker import FailingDiskBroker, rule_for
from tests.fault.partition_clients import TIMEOUT_S, send_with_confluent
from tests.invariants.history import TopicPartition as Place
from tests.raw_client import RawClient

OFFSETS = "__consumer_offsets"
TOPIC = "orders"
RECORDS = 10
# A client that hears of no coordinator asks again until its time is over.
UNSERVED_S = 1.0
PROPERTIES = {
    "offsets.topic.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
    "replica.high.watermark.checkpoint.interval.ms": "50",
    "log.initial.task.delay.ms": "0",
}
NOT_AVAILABLE, NOT_COORDINATOR = 15, 16
# What librdkafka says of it: the error, or that its time is over.
UNSERVED = (KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR, KafkaError._TIMED_OUT)


class Scene:
    """A broker of two directories, a topic, and groups of each partition of `__consumer_offsets`."""

    def __init__(self, broker: FailingDiskBroker, failing_directory: Path) -> None:
        self.broker = broker
        self.directory = failing_directory
        # Clients find it again after a restart.
        broker.properties["listeners"] = f"PLAINTEXT://{broker.bootstrap_server}"
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_server})
        admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(TIMEOUT_S)
        told = send_with_confluent(
            broker.bootstrap_server, Place(TOPIC, 0), [b"%d" % number for number in range(RECORDS)], 25_000
        )
        assert {one.error for one in told} == {None}
        # Whoever asks for a coordinator first has the topic made.
        assert self.committed("anybody") is None
        (name,) = (path.name for path in failing_directory.glob(f"{OFFSETS}-*"))
        self.failing_index = int(name.rpartition("-")[2])
        self.failing, self.other_failing = self.groups_of(self.failing_index)
        self.sound, _ = self.groups_of(1 - self.failing_index)

    @staticmethod
    def groups_of(index: int) -> list[str]:
        """Two groups whose offsets that partition keeps."""
        return [name for name in map("readers-{}".format, range(100)) if partition_for(name, 2) == index][:2]

    @property
    def files(self) -> str:
        """Of the failing partition, as a pattern."""
        return f"{self.directory}/{OFFSETS}-{self.failing_index}/*"

    def consumer(self, group: str, **settings: Any) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self.broker.bootstrap_server,
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 6_000,
                "heartbeat.interval.ms": 200,
                **settings,
            }
        )

    def commit(self, group: str, offset: int) -> None:
        """By somebody who manages partitions himself."""
        consumer = self.consumer(group)
        try:
            consumer.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False)
        finally:
            consumer.close()

    def committed(self, group: str, patience_s: float = TIMEOUT_S) -> int | None:
        """As an administrator is told; KafkaException when he is told of an error."""
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_server})
        asked = ConsumerGroupTopicPartitions(group, [TopicPartition(TOPIC, 0)])
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            future = admin.list_consumer_group_offsets([asked], request_timeout=patience_s)[group]
            try:
                (place,) = future.result(TIMEOUT_S).topic_partitions
            except KafkaException as error:
                # What begins to serve says so; librdkafka leaves it to the application to ask again.
                is_beginning = error.args[0].code() == KafkaError.COORDINATOR_LOAD_IN_PROGRESS
                if not is_beginning or time.monotonic() > deadline:
                    raise
            else:
                return None if place.offset < 0 else int(place.offset)

    def codes(self, group: str) -> dict[str, int]:
        """The wire codes of what a group's clients ask."""
        with RawClient(self.broker.port) as client:
            find = {"key_type": 0, "coordinator_keys": [group]}
            partitions = [{"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}]
            commit = {"group_id": group, "topics": [{"name": TOPIC, "partitions": partitions}]}
            fetch = {"groups": [{"group_id": group, "topics": None}]}
            beat = {"group_id": group, "member_id": "m", "generation_id": 1}
            member = {"group_id": group, "member_id": "m", "member_epoch": 1}
            return {
                "find": client.request(apis.FIND_COORDINATOR, 4, find).coordinators[0].error_code,
                "commit": client.request(apis.OFFSET_COMMIT, 8, commit).topics[0].partitions[0].error_code,
                "fetch": client.request(apis.OFFSET_FETCH, 8, fetch).groups[0].error_code,
                "heartbeat": client.request(apis.HEARTBEAT, 4, beat).error_code,
                "consumer heartbeat": client.request(apis.CONSUMER_GROUP_HEARTBEAT, 1, member).error_code,
            }

    def wait_until_unserved(self) -> None:
        """Nobody coordinates the groups of the failed partition, and nobody is sent to ask here."""
        nobody = {
            "find": NOT_AVAILABLE,
            "commit": NOT_COORDINATOR,
            "fetch": NOT_COORDINATOR,
            "heartbeat": NOT_COORDINATOR,
            "consumer heartbeat": NOT_COORDINATOR,
        }
        deadline = time.monotonic() + TIMEOUT_S
        while (told := self.codes(self.failing)) != nobody:
            assert time.monotonic() < deadline, told

    def check_others_go_on(self, offset: int) -> None:
        self.commit(self.sound, offset)
        assert self.committed(self.sound) == offset


@contextmanager
def scene(tmp_path: Path, properties: Mapping[str, str] = {}) -> Iterator[Scene]:
    directories = [tmp_path / "sound", tmp_path / "failing"]
    with FailingDiskBroker(directories, {**PROPERTIES, **properties}) as broker:
        yield Scene(broker, directories[1])


def poll_until(consumer: Consumer, condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        consumer.poll(0.05)


def is_taken(member: Consumer, offset: int) -> bool:
    """Whether the member could commit; it cannot while it joins again."""
    try:
        return bool(member.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False))
    except KafkaException:
        return False


FLUSHED = {"log.flush.interval.messages": "1"}
COMMITTED = {"log.flush.group.commit": "true"}
APPENDS = {"write": ("pwritev", {}), "sync": ("fdatasync", FLUSHED), "group-commit": ("fdatasync", COMMITTED)}


@pytest.mark.parametrize("name", APPENDS)
def test_a_commit_that_cannot_be_kept_is_not_acknowledged(tmp_path: Path, name: str) -> None:
    """A member is told to look for another coordinator, finds none, and is served again after the restart."""
    operation, properties = APPENDS[name]
    with scene(tmp_path, properties) as staged:
        for group in (staged.failing, staged.sound):
            staged.commit(group, 3)
        ended: list[object] = []
        member = staged.consumer(staged.failing, on_commit=lambda error, _: ended.append(error))
        member.subscribe([TOPIC])
        poll_until(member, member.assignment)
        staged.broker.fail([operation], staged.files)
        member.commit(offsets=[TopicPartition(TOPIC, 0, 7)])
        assert staged.codes(staged.other_failing)["commit"] != 0
        staged.broker.wait_for_log(f"Log directory {staged.directory} is offline now")
        staged.wait_until_unserved()
        staged.check_others_go_on(5)
        staged.broker.kill()
        staged.broker.start()
        # What was refused may have reached the log all the same, as the answer of no broker can rule out.
        assert staged.committed(staged.failing) in (3, 7)
        assert staged.committed(staged.sound) == 5
        assert staged.committed(staged.other_failing) is None or operation == "fdatasync"
        # The client holds the refused commit back until there is a coordinator. It must not come after the next one.
        poll_until(member, lambda: ended)
        poll_until(member, lambda: member.assignment() and is_taken(member, 8))
        assert staged.committed(staged.failing) == 8
        member.close()
        assert staged.broker.stop() == 0


@pytest.mark.parametrize("operation", ["pread", "open"])
def test_offsets_that_cannot_be_read_are_not_said_to_be_none(tmp_path: Path, operation: str) -> None:
    """A client that took an unread offset for none would begin anew, and read everything twice."""
    with scene(tmp_path) as staged:
        for group in (staged.failing, staged.sound):
            staged.commit(group, 3)
        assert staged.broker.stop() == 0
        staged.broker.start(rule_for([operation], f"{staged.files}.log"))
        staged.wait_until_unserved()
        with pytest.raises(KafkaException) as refused:
            staged.committed(staged.failing, UNSERVED_S)
        assert refused.value.args[0].code() in UNSERVED, refused.value
        staged.check_others_go_on(5)
        staged.broker.kill()
        staged.broker.start()
        assert staged.committed(staged.failing) == 3
        assert staged.committed(staged.sound) == 5
        assert staged.broker.stop() == 0
