"""Partition directories both ways between Apache Kafka and us, with the brokers themselves.

Theirs into ours, killed in the middle of things: indexes still of their preallocated size, no snapshot, a transaction
left open. Ours into theirs by the route that KRaft leaves: the topic is created there first, Apache Kafka is stopped,
our segments are put into its directory, and it is started again. And back once more, with what Apache Kafka appended.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcore import uuid
from tests.apache_kafka import ApacheKafka, ZooKeeperKafka
from tests.broker_process import BrokerProcess
from tests.interchange import contents
from tests.interchange.contents import read_rows
from tests.interchange.importing import broker_over, check_same, import_partitions, with_text
from tests.interchange.observation import is_settled, observe
from tests.vectors.kafka.make import PROPERTIES, read_answers, write_old

pytestmark = pytest.mark.needs("java", "mvn", "setpriv")

OURS = "ours"
TOPICS = ("codecs", "transactions", "open-transaction")
# What Apache Kafka made for its own topic, which has to stay with it.
THEIRS = ("partition.metadata",)
ABORT_MARKERS = "endTxnMarker: ABORT"


class Exchange:
    """What the brokers have written so far, and a Kafka that has been stopped."""

    def __init__(self, directory: Path, kafka: ApacheKafka) -> None:
        self.directory = directory
        self.kafka = kafka
        self.our_rows: list[tuple[Any, ...]] = []
        self.our_files: dict[str, bytes] = {}
        self.their_answers: dict[str, Any] = {}
        self.their_rows: dict[str, list[tuple[Any, ...]]] = {}

    def write_ours(self) -> None:
        """Every codec, idempotent producers and plain ones, with a restart in between: two leader epochs."""
        with BrokerProcess(self.directory / "ours") as broker:
            contents.every_codec(broker.bootstrap_server, OURS)
            broker.restart()
            contents.send(contents.producer(broker.bootstrap_server, "lz4"), OURS, 200, 9, "after a restart")
            self.our_rows = read_rows(broker.bootstrap_server, OURS)
            assert broker.stop() == 0
        self.our_files = log_files(self.directory / "ours" / f"{OURS}-0")

    def put_ours_into_theirs(self) -> None:
        """While Apache Kafka is stopped."""
        target = self.kafka.directory / f"{OURS}-0"
        for path in target.iterdir():
            if path.name not in THEIRS:
                path.unlink()
        for path in (self.directory / "ours" / f"{OURS}-0").iterdir():
            if path.name not in THEIRS:
                shutil.copy(path, target / path.name)


def log_files(directory: Path) -> dict[str, bytes]:
    """The segments of a partition."""
    return {path.name: path.read_bytes() for path in sorted(directory.glob("*.log"))}


def record_lines(printed: str) -> list[str]:
    """What the console consumer says of records; 4 also says that an option of 3.9 is deprecated."""
    return [line.rstrip() for line in printed.splitlines() if line.startswith("Offset:")]


@pytest.fixture(scope="module", params=[pytest.param("3.9", marks=pytest.mark.full_size), "4"])
def exchange(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exchange]:
    """3.9 is shut down cleanly before it gets our segments, 4 is killed, and has to recover them."""
    directory = tmp_path_factory.mktemp(f"exchange-{request.param}")
    with ApacheKafka(request.param, directory / "kafka", PROPERTIES) as kafka:
        exchange = Exchange(directory, kafka)
        exchange.write_ours()
        contents.create(kafka.bootstrap_server, OURS)
        if request.param == "4":
            contents.every_codec(kafka.bootstrap_server, "codecs")
            contents.transactions(kafka.bootstrap_server, "transactions", ends_open=False, rounds=3)
            undecided = contents.transactions(kafka.bootstrap_server, "open-transaction", ends_open=True, rounds=2)
            contents.wait_until(lambda: is_settled(kafka.port, "transactions"), "the last marker does not come")
            for topic in TOPICS:
                exchange.their_answers[topic] = json.loads(json.dumps(observe(kafka.port, topic)))
                exchange.their_rows[topic] = read_rows(kafka.bootstrap_server, topic)
            kafka.kill()
            # Collected before, it would have aborted.
            del undecided
        else:
            kafka.stop()
        shutil.copytree(kafka.directory, directory / "theirs")
        exchange.put_ours_into_theirs()
        kafka.start()
        yield exchange


# Files of 3.9, compacted ones too, are kept in tests/vectors/kafka (test_golden.py); here they are of 4.
with_files_of_4 = pytest.mark.parametrize("exchange", ["4"], indirect=True, scope="module")


def test_apache_kafka_serves_our_segments(exchange: Exchange) -> None:
    kafka = exchange.kafka
    contents.wait_until(lambda: bool(read_rows(kafka.bootstrap_server, OURS)), "our records do not come")
    assert read_rows(kafka.bootstrap_server, OURS) == exchange.our_rows
    assert log_files(kafka.directory / f"{OURS}-0") == exchange.our_files, "it has changed nothing"
    printed = kafka.run(
        *("ConsoleConsumer", "--bootstrap-server", kafka.bootstrap_server, "--topic", OURS, "--from-beginning"),
        *("--max-messages", str(len(exchange.our_rows)), "--property", "print.offset=true", "--timeout-ms", "60000"),
    )
    expected = [f"Offset:{offset}\t{value.decode()}".rstrip() for offset, _, _, value in exchange.our_rows]
    assert record_lines(printed) == expected


def test_its_dump_tool_finds_nothing_wrong_with_them(exchange: Exchange) -> None:
    directory = exchange.directory / "ours" / f"{OURS}-0"
    files = sorted(
        str(path) for suffix in ("log", "index", "timeindex", "snapshot") for path in directory.glob(f"*.{suffix}")
    )
    dumped = exchange.kafka.run("DumpLogSegments", "--deep-iteration", "--files", ",".join(files))
    assert dumped.count("| offset: ") == len(exchange.our_rows)
    assert "isvalid: false" not in dumped
    for complaint in ("Mismatches", "Non-consecutive", "corrupt", "Exception", "Found timestamp mismatch"):
        assert complaint not in dumped


def test_it_appends_to_our_log_and_we_take_it_back(exchange: Exchange, tmp_path: Path) -> None:
    kafka = exchange.kafka
    sender = contents.producer(kafka.bootstrap_server, "zstd", enable_idempotence=True)
    contents.send(sender, OURS, 300, 12, "appended by Apache Kafka")
    aborter = contents.transactional(kafka.bootstrap_server, "appending")
    aborter.begin_transaction()
    contents.send(aborter, OURS, 320, 3, "aborted")
    aborter.abort_transaction(contents.TIMEOUT_S)
    contents.wait_until(lambda: is_settled(kafka.port, OURS), "the marker does not come")
    answers = json.loads(json.dumps(observe(kafka.port, OURS)))
    rows = read_rows(kafka.bootstrap_server, OURS)
    assert rows[: len(exchange.our_rows)] == exchange.our_rows
    assert len(rows) == len(exchange.our_rows) + 15
    kafka.kill()
    try:
        shutil.copytree(kafka.directory / f"{OURS}-0", tmp_path / f"{OURS}-0")
    finally:
        kafka.start()
    import_partitions(tmp_path / "data", [tmp_path / f"{OURS}-0"])
    with broker_over(tmp_path / "data") as broker:
        assert read_rows(broker.bootstrap_server, OURS) == rows
        assert len(read_rows(broker.bootstrap_server, OURS, "read_committed")) == len(rows) - 3
        check_same(answers, json.loads(json.dumps(observe(broker.port, OURS))), rows)
        assert broker.stop() == 0


@with_files_of_4
@pytest.mark.parametrize("fast", [True, False], ids=["native", "python"])
def test_what_apache_kafka_was_killed_over_is_recovered(fast: bool, exchange: Exchange, tmp_path: Path) -> None:
    directories = [exchange.directory / "theirs" / f"{topic}-0" for topic in TOPICS]
    import_partitions(tmp_path / "data", directories)
    with broker_over(tmp_path / "data", fast=fast) as broker:
        for topic in TOPICS:
            ours = json.loads(json.dumps(observe(broker.port, topic)))
            check_same(exchange.their_answers[topic], ours, exchange.their_rows[topic])
            assert read_rows(broker.bootstrap_server, topic) == exchange.their_rows[topic]
        assert broker.stop() == 0


@with_files_of_4
def test_javas_consumer_reads_what_was_theirs_from_us(exchange: Exchange, tmp_path: Path) -> None:
    directories = [exchange.directory / "theirs" / f"{topic}-0" for topic in TOPICS]
    import_partitions(tmp_path / "data", directories)
    with broker_over(tmp_path / "data") as broker:
        expected = read_rows(broker.bootstrap_server, "transactions", "read_committed")
        printed = exchange.kafka.run(
            *("ConsoleConsumer", "--bootstrap-server", broker.bootstrap_server, "--topic", "transactions"),
            *("--from-beginning", "--isolation-level", "read_committed", "--max-messages", str(len(expected))),
            *("--property", "print.offset=true", "--timeout-ms", "60000"),
        )
        offsets = [line.partition("\t")[0] for line in record_lines(printed)]
        assert offsets == [f"Offset:{offset}" for offset, *_ in expected]
        assert broker.stop() == 0


@pytest.mark.full_size
def test_formats_of_old_from_a_cluster_that_was_killed(tmp_path: Path) -> None:
    topics = ("v0", "v1", "upgraded")
    with ZooKeeperKafka("2.8", tmp_path / "kafka", PROPERTIES) as kafka:
        write_old(kafka.bootstrap_server)
        rows = {topic: read_rows(kafka.bootstrap_server, topic) for topic in topics}
        kafka.kill()
    answers = read_answers("2.8")
    for topic in topics:
        # 2.8 writes partition.metadata only later.
        topic_id = uuid.to_text(uuid.random_uuid())
        import_partitions(tmp_path / "data", [kafka.directory / f"{topic}-0"], "--topic-id", topic_id)
    with broker_over(tmp_path / "data") as broker:
        for topic in topics:
            assert with_text(rows[topic]) == answers[topic]["rows"], "what 2.8 writes has not changed"
            assert read_rows(broker.bootstrap_server, topic) == rows[topic]
            magics = {batch[0] for batch in observe(broker.port, topic)["batches"]}
            assert magics == {batch[0] for batch in answers[topic]["batches"]}
        # What is appended to them from now on is in the format of today.
        contents.send(contents.producer(broker.bootstrap_server), "v0", 900, 2)
        assert observe(broker.port, "v0")["batches"][-1][0] == 2
        assert broker.stop() == 0
