"""A disk that answers EIO, under real clients: an error in Kafka's terms, one directory offline, nothing lost.

The broker has two log directories, with a partition in each; the second one's disk fails. What clients were told is
held against what a restart on the whole disk serves: whoever was acknowledged finds his record, under its offset.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.fault.failing_disk_broker import FailingDiskBroker
from tests.fault.partition_clients import READERS, SENDERS, TIMEOUT_S, Told
from tests.invariants.checker import check_files, check_history
from tests.invariants.history import History, LogView, Outcome, Producer, Send, TopicPartition
from tests.invariants.log_files import read_directory

TOPIC = "orders"
# How long clients try: what must get through, on a loaded machine, and what nobody serves any more.
PATIENT_MS = 25_000
UNSERVED_MS = 300
# What the failing disk refuses: the others hear of one error and try no more.
REFUSED_AFTER_MS = {"aiokafka": 1_000}
VALUE_BYTES = 200
BATCH = 20
# Two batches fill a segment.
TOPIC_CONFIG = {"segment.bytes": "9000", "index.interval.bytes": "300"}
PROPERTIES = {
    "replica.high.watermark.checkpoint.interval.ms": "50",
    "log.flush.offset.checkpoint.interval.ms": "50",
    "log.initial.task.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
}
# What Kafka's clients say of a partition whose directory failed, the last two when their time is over.
UNSERVED = {"KAFKA_STORAGE_ERROR", "LEADER_NOT_AVAILABLE", "_MSG_TIMED_OUT", "KafkaTimeoutError"}


class Scene:
    """A broker of two directories, a topic with a partition in each, and what clients were told of them."""

    def __init__(self, broker: FailingDiskBroker, directory: Path) -> None:
        self.broker = broker
        self.failing_directory = directory
        self.history = History()
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_server})
        admin.create_topics([NewTopic(TOPIC, 2, 1, config=TOPIC_CONFIG)])[TOPIC].result(TIMEOUT_S)
        (name,) = (path.name for path in directory.glob(f"{TOPIC}-*"))
        self.failing = TopicPartition(TOPIC, int(name.rpartition("-")[2]))
        self.sound = TopicPartition(TOPIC, 1 - self.failing.partition)

    def fail(self, operations: Sequence[str], names: str, **rule: object) -> None:
        """In the failing directory; `names` is a pattern below it."""
        self.broker.fail(operations, f"{self.failing_directory}/{names}", **rule)

    def send(self, client: str, to: TopicPartition, tries_ms: int = PATIENT_MS) -> list[Told]:
        """A batch, noted in the history."""
        producer = f"{client} {len(self.history.producers)}"
        self.history.add_producer(Producer(producer, idempotent=False, ordered=False))
        values = [f"{producer}:{number} ".encode().ljust(VALUE_BYTES, b".") for number in range(BATCH)]
        told = SENDERS[client](self.broker.bootstrap_server, to, values, tries_ms)
        numbers = {value: number for number, value in enumerate(values)}
        for value, offset, error in told:
            outcome = Outcome.ACKED if error is None else Outcome.UNKNOWN
            at = time.monotonic_ns()
            self.history.sends.append(Send(producer, numbers[value], to, value, outcome, offset, at))
        return told

    def send_all(self, client: str, to: TopicPartition) -> None:
        """A batch that must be acknowledged."""
        errors = {told.error for told in self.send(client, to)}
        assert errors == {None}, errors

    def meet_error(self, client: str) -> None:
        """A batch that meets the fault: nothing of it may be acknowledged, and its client hears of the disk."""
        told = self.send(client, self.failing, REFUSED_AFTER_MS.get(client, PATIENT_MS))
        errors = {one.error for one in told}
        assert errors <= ({"KAFKA_STORAGE_ERROR"} if client not in REFUSED_AFTER_MS else UNSERVED), errors

    def send_none(self, client: str) -> None:
        """A batch to the partition that nobody serves."""
        errors = {told.error for told in self.send(client, self.failing, UNSERVED_MS)}
        assert errors <= UNSERVED, errors

    def wait_until_offline(self) -> str:
        """What the broker's log says of it."""
        return self.broker.wait_for_log(f"Log directory {self.failing_directory} is offline now")

    def wait_until_unled(self) -> None:
        """Until the metadata says that nobody leads the partition in the failing directory, and the other is led."""
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_server})
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            partitions = admin.list_topics(TOPIC, timeout=TIMEOUT_S).topics[TOPIC].partitions
            assert partitions[self.sound.partition].error is None
            error = partitions[self.failing.partition].error
            if error is not None:
                break
            assert time.monotonic() < deadline, "the partition is led still"
        assert error.code() == KafkaError.LEADER_NOT_AVAILABLE

    def read_whole(self, client: str) -> None:
        """Both partitions, from their start to their end, noted in the history."""
        at, ends = time.monotonic_ns(), {}
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap_server, "group.id": "ends"})
        for partition in (self.failing, self.sound):
            _, ends[partition] = consumer.get_watermark_offsets(ConfluentPartition(*partition), timeout=TIMEOUT_S)
        consumer.close()
        found = READERS[client](self.broker.bootstrap_server, ends, TIMEOUT_S)
        for partition, end in ends.items():
            self.history.views.append(LogView(partition, 0, end, found[partition], at))

    def restart_whole(self, client: str, end: str) -> None:
        """What was acknowledged is served by a broker on the whole disk, which takes records again."""
        assert self.broker.stop() == 0 if end == "stop" else self.broker.kill() is None
        self.broker.start()
        self.read_whole(client)
        for partition in (self.failing, self.sound):
            self.send_all(client, partition)
        self.read_whole(client)
        check_history(self.history)
        assert self.broker.stop() == 0
        for path in self.failing_directory.parent.glob(f"*/{TOPIC}-?"):
            check_files(read_directory(path))


@contextmanager
def scene(tmp_path: Path, properties: Mapping[str, str]) -> Iterator[Scene]:
    directories = [tmp_path / "sound", tmp_path / "failing"]
    with FailingDiskBroker(directories, {**PROPERTIES, **properties}) as broker:
        yield Scene(broker, directories[1])


class Case(NamedTuple):
    client: str
    fast_path: str
    end: str


CASES = [
    Case("confluent", "true", "kill"),
    Case("confluent", "false", "stop"),
    Case("kafka-python", "true", "stop"),
    Case("aiokafka", "true", "kill"),
]


class Fault(NamedTuple):
    """A rule for the disk, under what properties of the broker, and the work that the broker's log says it met."""

    operation: str
    names: str
    work: str
    properties: Mapping[str, str] = {}
    rule: Mapping[str, object] = {}


FLUSHED = {"log.flush.interval.messages": "1"}
COMMITTED = {"log.flush.group.commit": "true"}
# A sync that failed once succeeds from then on, although the pages are lost: it may not be believed.
ONCE = {"times": 1}
APPENDS = {
    "write": Fault("pwritev", "*.log", "appending to the log"),
    "sync": Fault("fdatasync", "*.log", "flushing the log", FLUSHED, ONCE),
    "group-commit": Fault("fdatasync", "*.log", "flushing the log", COMMITTED, ONCE),
    "torn-write": Fault("pwritev", "*.log", "appending to the log", rule={"short": True}),
    "sync-done": Fault("fdatasync", "*.log", "flushing the log", FLUSHED, {**ONCE, "done": True}),
}
APPEND_CASES = [(name, case) for name in ("write", "sync") for case in CASES] + [
    ("group-commit", CASES[0]),
    ("group-commit", CASES[1]),
    ("torn-write", CASES[0]),
    ("sync-done", CASES[0]),
]


@pytest.mark.parametrize(
    ("name", "case"), APPEND_CASES, ids=lambda part: part if isinstance(part, str) else "-".join(part)
)
def test_an_append_that_fails_is_not_acknowledged(tmp_path: Path, name: str, case: Case) -> None:
    fault, client = APPENDS[name], case.client
    with scene(tmp_path, {**fault.properties, "kcli.fast.path.enable": case.fast_path}) as staged:
        for partition in (staged.failing, staged.sound):
            staged.send_all(client, partition)
        staged.fail([fault.operation], fault.names, **fault.rule)
        staged.meet_error(client)
        line = staged.wait_until_offline()
        assert all(words in line for words in ("Errno 5", f"while {fault.work}", "restart the broker")), line
        staged.wait_until_unled()
        staged.send_none(client)
        staged.send_all(client, staged.sound)
        staged.restart_whole(client, case.end)
