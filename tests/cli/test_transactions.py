"""`kcli transactions`: a transaction that hangs is found, described and aborted; consumers of librdkafka read on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from kcore.config.broker import BrokerConfig
from kcore.server.broker import Broker
from tests.broker_process import KEEPING, BrokerProcess
from tests.cli.conftest import Kcli, Result, missing_topic, run_kcli
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch, produce

WAIT_S = 30


def plant(directory: Path) -> None:
    """A log whose offsets 1 and 2 are of a transaction that an earlier release admitted and nothing ends."""
    broker = Broker(BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(directory), **KEEPING}))
    broker.startup()
    with RawClient(broker.bound_listeners[0].port) as client:
        client.create_topic("orders", 2)
        produce(client, "orders", batch([b"before"]), index=1)
        partition = broker.replica_manager.partition("orders", 1)
        assert partition is not None
        assert partition.append_records(batch([b"open"] * 2, producer=(7, 3, 0), transactional=True)).error == 0
        produce(client, "orders", batch([b"behind"]), index=1)
    broker.shutdown()


@pytest.fixture
def process(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker on a directory with a transaction that hangs."""
    plant(tmp_path / "data")
    with BrokerProcess(tmp_path / "data") as started:
        yield started


@pytest.fixture
def kcli(process: BrokerProcess) -> Kcli:
    def run(*arguments: str | Path, stdin: str | bytes = b"") -> Result:
        return run_kcli(*arguments, stdin=stdin, env={"KCLI_BOOTSTRAP_SERVER": process.bootstrap_server})

    return run


def read_committed(process: BrokerProcess, count: int) -> list[bytes | None]:
    """The values of the first `count` committed records; fewer when the partition's readable end comes before."""
    properties = {
        "bootstrap.servers": process.bootstrap_server,
        "group.id": "reader",
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(properties)
    consumer.assign([TopicPartition("orders", 1, 0)])
    values: list[bytes | None] = []
    while len(values) < count:
        message = consumer.poll(WAIT_S)
        assert message is not None
        if message.error() is not None:
            break
        values.append(message.value())
    consumer.close()
    return values


def test_a_hanging_transaction_is_found_and_aborted(process: BrokerProcess, kcli: Kcli) -> None:
    assert read_committed(process, 2) == [b"before"]
    found = json.loads(kcli("transactions", "find-hanging", "-o", "json").stdout)
    assert [(row["topic"], row["partition"], row["producer_id"], row["start_offset"]) for row in found] == [
        ("orders", 1, 7, 1)
    ]
    place = ("--topic", "orders", "--partition", "1")
    producers = json.loads(kcli("transactions", "describe-producers", *place, "-o", "json").stdout)
    assert [(row["producer_epoch"], row["transaction_start_offset"]) for row in producers] == [(3, 1)]
    assert kcli("transactions", "abort", *place, "--start-offset", "1", "--yes").code == 0
    assert kcli("transactions", "find-hanging", "-o", "json").stdout == "[]\n"
    assert read_committed(process, 2) == [b"before", b"behind"]
    process.stop()
    process.start()
    assert read_committed(process, 2) == [b"before", b"behind"]


def test_a_transaction_is_named_by_its_producer_too(process: BrokerProcess, kcli: Kcli) -> None:
    place = ("--topic", "orders", "--partition", "1")
    names = ("--producer-id", "7", "--producer-epoch", "3", "--coordinator-epoch", "-1")
    assert kcli("transactions", "abort", *place, *names, "--yes").code == 0
    assert read_committed(process, 2) == [b"before", b"behind"]


def test_what_is_not_aborted(kcli: Kcli) -> None:
    place = ("--topic", "orders", "--partition", "1")
    wrong = kcli("transactions", "abort", *place, "--start-offset", "2", "--yes")
    assert (wrong.code, wrong.stdout) == (1, "")
    assert wrong.stderr == (
        "kcli transactions abort: no open transaction of partition orders-1 starts at offset 2. "
        "List them with: kcli transactions describe-producers --topic orders --partition 1\n"
    )
    assert kcli("transactions", "abort", *place, "--start-offset", "1").code == 2, "no terminal to confirm"
    assert kcli("transactions", "abort", *place).code == 2
    both = kcli("transactions", "abort", *place, "--start-offset", "1", "--producer-id", "7")
    assert both == (
        2,
        "",
        "kcli transactions abort: --start-offset and --producer-id cannot be combined: pass one of them\n",
    )
    missing = kcli("transactions", "abort", "--topic", "nope", "--partition", "0", "--start-offset", "1", "--yes")
    assert missing.stderr == (f"kcli transactions abort: {missing_topic('nope')}\n")
    assert kcli("transactions", "abort", *place, "--producer-id", "7", "--yes").code == 2
    assert kcli("transactions", "find-hanging", "--partition", "1").code == 2
    old = ("--producer-id", "7", "--producer-epoch", "2", "--coordinator-epoch", "0")
    assert kcli("transactions", "abort", *place, *old, "--yes").code == 1
    recent = kcli("transactions", "find-hanging", "--max-transaction-timeout", str(60 * 24 * 365 * 100), "-o", "json")
    assert recent.stdout == "[]\n"
    missing = kcli("transactions", "find-hanging", "--topic", "orders", "--partition", "9")
    assert missing.code == 1
