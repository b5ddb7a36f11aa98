"""Files that Apache Kafka wrote (tests/vectors/kafka), served by our broker: every answer is the one that Kafka gave.

No Java is needed: what 3.9 answered of them was kept. The files are taken as a clean shutdown left them, indexes and
transaction indexes of Apache Kafka's own, and as a crash would have: then all of that is made anew from the batches.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPythonPartition

from kcore.record.decoder import decode_batches
from tests.broker_process import BrokerProcess
from tests.cli.conftest import run_kcli
from tests.interchange.contents import NO_TIME, read_rows
from tests.interchange.importing import broker_over, check_same, import_partitions, with_text
from tests.interchange.observation import Observation, observe
from tests.vectors.kafka.make import BESIDE_TOPICS, HERE, OLD_TOPICS, TOPICS, read_answers

ANSWERS = {**read_answers("2.8"), **read_answers("3.9")}
SOURCES = {**dict.fromkeys(OLD_TOPICS, HERE / "2.8"), **dict.fromkeys(TOPICS, HERE / "3.9")}
DERIVED = ("*.index", "*.timeindex", "*.txnindex", "*.snapshot", "leader-epoch-checkpoint")


@pytest.fixture(scope="module", params=["clean", "crashed", "bare"])
def data_dir(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Imported as they are, without the word of a clean shutdown, and without all that can be derived too."""
    directory = tmp_path_factory.mktemp(request.param)
    sources = []
    for version in ("2.8", "3.9"):
        left_out = () if request.param == "clean" else (*BESIDE_TOPICS, *(DERIVED if request.param == "bare" else ()))
        shutil.copytree(HERE / version, directory / version, ignore=shutil.ignore_patterns(*left_out))
        sources += sorted((directory / version).glob("*-0"))
    import_partitions(directory / "data", sources)
    return directory / "data"


@pytest.fixture(scope="module", params=["native", "python"])
def broker(request: pytest.FixtureRequest, data_dir: Path) -> Iterator[BrokerProcess]:
    with broker_over(data_dir, fast=request.param == "native") as broker:
        yield broker
        broker.stop()


@pytest.mark.parametrize("topic", ANSWERS)
def test_every_answer_is_the_one_of_apache_kafka(topic: str, broker: BrokerProcess) -> None:
    answers = ANSWERS[topic]
    ours: Observation = json.loads(json.dumps(observe(broker.port, topic)))
    check_same(answers, ours, answers["rows"])


def test_transaction_indexes_are_those_of_apache_kafka(broker: BrokerProcess, data_dir: Path) -> None:
    """Kept where a clean shutdown vouches for them, and made from the batches to the same bytes where nothing does."""
    for topic in ("transactions", "open-transaction"):
        theirs = {path.name: path.read_bytes() for path in (SOURCES[topic] / f"{topic}-0").glob("*.txnindex")}
        ours = {path.name: path.read_bytes() for path in (data_dir / f"{topic}-0").glob("*.txnindex")}
        assert ours == theirs


@pytest.mark.parametrize("topic", ANSWERS)
def test_dump_log_understands_every_record(topic: str) -> None:
    directory = SOURCES[topic] / f"{topic}-0"
    done = run_kcli("dump-log", directory, "--print-data-log", "-o", "jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    records = [row for row in rows if row["kind"] == "record" and "control" not in row]
    assert [[row["offset"], row["timestamp"]] for row in records] == [row[:2] for row in ANSWERS[topic]["rows"]]
    assert not [row for row in rows if row["kind"] == "invalid_bytes" or not row.get("is_valid", True)]
    assert "checksum" not in done.stderr


@pytest.fixture(scope="module")
def read_by_clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One broker for clients to read from: the tests above have held every byte of what they are sent."""
    directory = tmp_path_factory.mktemp("clients")
    import_partitions(directory / "data", [source / f"{topic}-0" for topic, source in SOURCES.items()])
    with broker_over(directory / "data") as broker:
        yield broker
        broker.stop()


@pytest.mark.parametrize("topic", ANSWERS)
def test_clients_read_the_same_rows(topic: str, read_by_clients: BrokerProcess) -> None:
    answers = ANSWERS[topic]
    server = read_by_clients.bootstrap_server
    rows, committed = read_rows(server, topic), read_rows(server, topic, "read_committed")
    assert with_text(rows) == answers["rows"]
    assert len(committed) == answers["committed_rows"]
    # kafka-python wants a package more for lz4 of magic 0, whose frames had a wrong checksum.
    count = 24 if topic == "v0" else len(rows)
    assert read_with_kafka_python(read_by_clients, topic, "read_uncommitted", count) == rows[:count]
    if topic in TOPICS:
        assert read_with_kafka_python(read_by_clients, topic, "read_committed", len(committed)) == committed


def read_with_kafka_python(broker: BrokerProcess, topic: str, isolation: str, count: int) -> list[tuple[object, ...]]:
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap_server,
        isolation_level=isolation,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=20_000,
        check_crcs=True,
    )
    try:
        consumer.assign([KafkaPythonPartition(topic, 0)])
        rows = []
        while len(rows) < count:
            message = next(consumer)
            time = NO_TIME if message.timestamp is None else message.timestamp
            rows.append((message.offset, time, message.key, message.value))
        return rows
    finally:
        consumer.close()


def test_the_vectors_hold_what_they_are_for() -> None:
    magics = {topic: {batch[0] for batch in answers["batches"]} for topic, answers in ANSWERS.items()}
    assert magics["v0"] == {0}
    assert magics["v1"] == magics["v1-append-time"] == {1}
    assert magics["upgraded"] == {0, 1, 2}
    assert {batch[3] for batch in ANSWERS["v0"]["batches"]} == {0, 1, 2, 3}
    assert {batch[3] for batch in ANSWERS["codecs"]["batches"]} == {0, 1, 2, 3, 4}
    for topic in ("transactions", "open-transaction"):
        answers = ANSWERS[topic]
        assert any(fetch["aborted"] for fetch in answers["fetches"])
        assert len(list((SOURCES[topic] / f"{topic}-0").glob("*.txnindex"))) >= 4
        assert answers["committed_rows"] < len(answers["rows"])
    assert ANSWERS["open-transaction"]["last_stable"]["offset"] < ANSWERS["open-transaction"]["end"]
    compacted = ANSWERS["compacted"]
    offsets = [row[0] for row in compacted["rows"]]
    assert len(offsets) < compacted["end"] - compacted["start"] - 5, "there are gaps"
    assert any(row[3] is None for row in compacted["rows"]), "there are tombstones"
    segments = [path.read_bytes() for path in sorted((SOURCES["compacted"] / "compacted-0").glob("*.log"))]
    assert b"" in segments, "the cleaner has emptied a segment"
    assert all(list(decode_batches(segment)) for segment in segments if segment)


def test_a_consumer_starts_at_the_time_that_it_asks_for(read_by_clients: BrokerProcess) -> None:
    consumer = Consumer({"bootstrap.servers": read_by_clients.bootstrap_server, "group.id": "times"})
    try:
        for topic in ("v1", "upgraded", "codecs"):
            rows = [row for row in ANSWERS[topic]["rows"] if row[1] >= 0]
            offset, time = rows[len(rows) // 2][:2]
            (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, time)], timeout=20)
            assert found.offset == offset
    finally:
        consumer.close()
