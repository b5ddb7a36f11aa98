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
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kcore.protocol import apis
from tests.fault.failing_disk_broker import FailingDiskBroker
from tests.fault.partition_clients import READERS, SENDERS, TIMEOUT_S, Told
from tests.invariants.checker import check_files, check_history
from tests.invariants.history import History, LogView, Outcome, Producer, Read, Send, TopicPartition
from tests.invariants.log_files import read_directory
from tests.raw_client import RawClient

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
        while not self.broker.failures():  # on a busy machine an impatient client may not come so far
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

    def read(self, client: str, wanted: Mapping[TopicPartition, int], patience_s: float) -> int:
        """How many records a consumer has got, noted in the history."""
        found = READERS[client](self.broker.bootstrap_server, wanted, patience_s)
        at = time.monotonic_ns()
        reads = [Read(client, place, *read, at) for place, records in found.items() for read in records.items()]
        self.history.reads += reads
        return len(reads)

    def fetch_error(self) -> int:
        """What a fetch of the failing partition is answered."""
        partition = {"partition": self.failing.partition, "fetch_offset": 0, "partition_max_bytes": 1_000}
        fields = {"topics": [{"topic": TOPIC, "partitions": [partition]}], "max_wait_ms": 0, "min_bytes": 0}
        with RawClient(self.broker.port) as client:
            answer = client.request(apis.FETCH, 4, fields)
        return int(answer.responses[0].partitions[0].error_code)

    def read_whole(self, client: str) -> None:
        """Both partitions, from their start to their end, noted in the history."""
        at, bounds = time.monotonic_ns(), {}
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap_server, "group.id": "ends"})
        for partition in (self.failing, self.sound):
            bounds[partition] = consumer.get_watermark_offsets(ConfluentPartition(*partition), timeout=TIMEOUT_S)
        consumer.close()
        wanted = {partition: end - start for partition, (start, end) in bounds.items()}
        found = READERS[client](self.broker.bootstrap_server, wanted, TIMEOUT_S)
        for partition, (start, end) in bounds.items():
            self.history.views.append(LogView(partition, start, end, found[partition], at))

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


def case_id(part: str | Case) -> str:
    return part if isinstance(part, str) else "-".join(part)


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


def by_size(cases: Sequence[tuple[str, Case]]) -> list[object]:
    """As parameters of a test: the small size of the suite is without the clients in Python."""
    return [
        pytest.param(name, case, marks=[] if case.client == "confluent" else [pytest.mark.full_size])
        for name, case in cases
    ]


@pytest.mark.parametrize(("name", "case"), by_size(APPEND_CASES), ids=case_id)
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


ROLLS = {
    "segment": ("create", "*.log"),
    "offset-index": ("pwritev", "*.index*"),
    "time-index": ("pwritev", "*.timeindex*"),
    "snapshot": ("create", "*.snapshot*"),
}


@pytest.mark.parametrize("name", ROLLS)
def test_a_roll_that_fails_ends_the_directory_and_loses_nothing(tmp_path: Path, name: str) -> None:
    operation, names = ROLLS[name]
    with scene(tmp_path, {}) as staged:
        for partition in (staged.failing, staged.sound):
            staged.send_all("confluent", partition)
        staged.fail([operation], names)
        # The second batch still finds room in the segment.
        told = [one for _ in range(4) for one in staged.send("confluent", staged.failing, 2_000)]
        assert {one.error for one in told} > {None}
        line = staged.wait_until_offline()
        assert "Errno 5" in line, line
        staged.wait_until_unled()
        staged.send_none("confluent")
        staged.send_all("confluent", staged.sound)
        staged.restart_whole("confluent", "kill")


CHECKPOINTS = {
    "recovery-point": ("create", "recovery-point-offset-checkpoint*"),
    "high-watermark": ("rename", "replication-offset-checkpoint*"),
    "leader-epoch": ("fdatasync", "*/leader-epoch-checkpoint*"),
}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_checkpoint_that_cannot_be_written_ends_the_directory(tmp_path: Path, name: str) -> None:
    operation, names = CHECKPOINTS[name]
    with scene(tmp_path, {"log.flush.interval.messages": "1000"}) as staged:
        staged.fail([operation], names)
        # Nothing is wrong with the log itself, and what it took is kept.
        for _ in range(3):
            staged.send("confluent", staged.failing, 2_000)
        line = staged.wait_until_offline()
        assert "Errno 5" in line, line
        staged.wait_until_unled()
        staged.send_none("confluent")
        staged.send_all("confluent", staged.sound)
        staged.restart_whole("confluent", "stop")


# What reads a segment's bytes for an answer: the search for an offset, and the kernel while it sends.
READS = [("pread", case) for case in CASES] + [("sendfile", case) for case in CASES if case.fast_path == "true"]


@pytest.mark.parametrize(("operation", "case"), by_size(READS), ids=case_id)
def test_a_read_that_fails_is_an_error_and_keeps_nobody_from_the_other_directory(
    tmp_path: Path, operation: str, case: Case
) -> None:
    client = case.client
    with scene(tmp_path, {"kcli.fast.path.enable": case.fast_path}) as staged:
        for partition in (staged.failing, staged.sound, staged.failing, staged.sound):
            staged.send_all(client, partition)
        # Nothing is known of the log but its end, as for most readers.
        assert staged.broker.stop() == 0
        staged.broker.start()
        staged.fail([operation], "*.log")
        assert staged.read(client, {staged.failing: 0, staged.sound: 2 * BATCH}, TIMEOUT_S) == 2 * BATCH
        assert staged.read(client, {staged.failing: 1}, 0.5) == 0
        line = staged.wait_until_offline()
        assert "[Errno 5]" in line, line
        assert "while reading the log" in line, line
        assert staged.fetch_error() == KafkaError.KAFKA_STORAGE_ERROR
        staged.wait_until_unled()
        staged.restart_whole(client, case.end)


def test_deleted_records_are_not_said_to_be_gone_when_that_cannot_be_kept(tmp_path: Path) -> None:
    with scene(tmp_path, {}) as staged:
        for partition in (staged.failing, staged.sound):
            staged.send_all("confluent", partition)
        staged.fail(["rename"], "log-start-offset-checkpoint*")
        admin = AdminClient({"bootstrap.servers": staged.broker.bootstrap_server})
        asked = admin.delete_records([ConfluentPartition(*staged.failing, 5)], request_timeout=TIMEOUT_S)
        with pytest.raises(KafkaException) as refused:
            next(iter(asked.values())).result(TIMEOUT_S)
        assert refused.value.args[0].code() in (KafkaError.KAFKA_STORAGE_ERROR, KafkaError._TIMED_OUT)
        staged.wait_until_offline()
        staged.restart_whole("confluent", "stop")


def create_topic(servers: str, name: str, **configs: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(name, 1, 1, config=configs)])[name].result(TIMEOUT_S)


@pytest.mark.parametrize(("operation", "names"), [("mkdir", "*"), ("create", "*/partition.metadata*")])
def test_a_topic_is_made_where_the_disk_is_sound(tmp_path: Path, operation: str, names: str) -> None:
    """Also where the failing directory keeps a part of it, which is nothing to the restart."""
    with scene(tmp_path, {}) as staged:
        for partition in (staged.failing, staged.sound):
            staged.send_all("confluent", partition)
        staged.fail([operation], names)
        for number in range(2):
            create_topic(staged.broker.bootstrap_server, f"new-{number}")
        staged.wait_until_offline()
        assert len(list((tmp_path / "sound").glob("new-*"))) == 2
        for number in range(2):
            to = TopicPartition(f"new-{number}", 0)
            assert {told.error for told in staged.send("confluent", to)} == {None}
        staged.restart_whole("confluent", "stop")


def test_a_broker_without_any_directory_left_says_so_and_ends(tmp_path: Path) -> None:
    with scene(tmp_path, FLUSHED) as staged:
        for partition in (staged.failing, staged.sound):
            staged.send_all("confluent", partition)
        staged.broker.fail(["fdatasync"], f"{tmp_path}/*.log")
        staged.meet_error("confluent")
        staged.wait_until_offline()
        told = staged.send("confluent", staged.sound, UNSERVED_MS)
        assert [one for one in told if one.error is None] == []
        assert staged.broker.wait() == 1
        assert "All log directories failed. The broker stops" in staged.broker.log()
        assert not list(tmp_path.glob("*/.kafka_cleanshutdown"))
        staged.broker.start()
        staged.restart_whole("confluent", "kill")
