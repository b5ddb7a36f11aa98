"""The consoles beside Apache Kafka's own, of both versions: the same lines make and print the same records."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kcore.client.producer import Producer
from tests.apache_kafka import QUICK_START, ApacheKafka
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Kcli, Result, read_until_silence

pytestmark = pytest.mark.needs("java", "mvn")
TIMEOUT_S = 120
# What version 4 has new names for, and says so on stdout when the old ones are used.
OPTIONS = {"3.9": ("--property", "--property"), "4": ("--reader-property", "--formatter-property")}
READER = ("parse.key=true", "parse.headers=true", "null.marker=<none>", "key.separator=|")
LINES = (
    "a:1,b:<none>,a:\tkey|value\n"
    "<none>\t<none>|<none>\n"
    "a:b:c,\t|k|v\n"
    "h:\t\t\tx|tab\there\n"
    "é:ü\tschlüssel|wert\r\n"
    "last:1\tkey|without an end"
)
Java = Callable[..., Result]


@pytest.fixture(params=["3.9", "4"])
def version(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def java(checkout: Path, broker: BrokerProcess, version: str) -> Java:
    """One of Kafka's consoles, before the session's broker."""

    def run(program: str, *arguments: str, stdin: str = "") -> Result:
        command = [str(checkout / "bin" / "kafka-run"), version, program, "--bootstrap-server", broker.bootstrap_server]
        done = subprocess.run(
            [*command, *arguments],
            input=stdin.encode(),
            capture_output=True,
            timeout=TIMEOUT_S,
            env={"KAFKA_HEAP_OPTS": " ".join(QUICK_START), **os.environ},
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def each(option: str, *values: str) -> list[str]:
    return [word for value in values for word in (option, value)]


def test_the_same_lines_make_the_same_records_and_print_the_same(kcli: Kcli, java: Java, version: str) -> None:
    reader, formatter = OPTIONS[version]
    topics = [f"{who}-lines-{version}" for who in ("ours", "theirs")]
    for topic in topics:
        assert kcli("topics", "create", topic, "--partitions", "1").code == 0
    arguments = each(reader, *READER)
    assert kcli("console-producer", "--topic", topics[0], *arguments, stdin=LINES) == (0, "", "")
    assert java("ConsoleProducer", "--topic", topics[1], *arguments, stdin=LINES).code == 0
    ours, theirs = (kcli("console-consumer", topic, "--exit-at-end", "-o", "json").stable for topic in topics)
    assert ours == theirs.replace(topics[1], topics[0])
    assert len(ours.splitlines()) == len(LINES.splitlines())

    parts = ("timestamp", "partition", "offset", "headers", "key", "value")
    read = ["--topic", topics[1], "--from-beginning", "--max-messages", "6"]
    read += each(formatter, *(f"print.{part}=true" for part in parts), "null.literal=NIL", "headers.separator=;")
    printed = java("ConsoleConsumer", *read)
    assert kcli("console-consumer", *read) == (printed.code, printed.stdout, "Processed a total of 6 messages\n")
    assert "Processed a total of 6 messages" in printed.stderr


def test_deserializers_and_a_place_within_a_partition(kcli: Kcli, java: Java, version: str) -> None:
    _, formatter = OPTIONS[version]
    topic = f"numbers-{version}"
    assert kcli("topics", "create", topic, "--partitions", "1").code == 0
    numbers = (0, 7, -1, 2**63 - 1)
    lines = "".join(
        f'{{"key":{{"hex":"{number.to_bytes(8, "big", signed=True).hex()}"}},"value":"v{number}"}}\n'
        for number in numbers
    )
    assert kcli("console-producer", topic, "-i", "json", stdin=lines).code == 0
    read = ["--topic", topic, "--partition", "0", "--offset", "1", "--timeout-ms", "60000", "--max-messages", "3"]
    read += ["--key-deserializer", "org.apache.kafka.common.serialization.LongDeserializer"]
    read += each(formatter, "print.key=true", "key.separator= = ", "line.separator=;\n")
    printed = java("ConsoleConsumer", *read)
    assert (printed.code, printed.stdout) == (0, "7 = v7;\n-1 = v-1;\n9223372036854775807 = v9223372036854775807;\n")
    assert kcli("console-consumer", *read) == (0, printed.stdout, "Processed a total of 3 messages\n")


def test_what_ends_them_alike(kcli: Kcli, java: Java, version: str) -> None:
    """A line without its separator, after those before it; and a time that is up before enough has come."""
    reader, _ = OPTIONS[version]
    topics = [f"{who}-ends-{version}" for who in ("ours", "theirs")]
    arguments, lines = each(reader, "parse.key=true"), "k\tone\nk\ttwo\nnone\nk\tthree\n"
    for topic, program in zip(topics, (kcli, java), strict=True):
        assert kcli("topics", "create", topic, "--partitions", "1").code == 0
        name = "console-producer" if program is kcli else "ConsoleProducer"
        result = program(name, "--topic", topic, *arguments, stdin=lines)
        assert result.code == 1
        assert "none" in result.stderr
        assert kcli("console-consumer", topic, "--exit-at-end").stdout == "one\ntwo\n"
    read = ("--topic", topics[0], "--from-beginning", "--max-messages", "9")
    printed = read_until_silence(java, "ConsoleConsumer", *read)
    assert (printed.code, printed.stdout) == (0, "one\ntwo\n")
    assert read_until_silence(kcli, "console-consumer", *read) == (0, "one\ntwo\n", "Processed a total of 2 messages\n")


def test_what_is_committed_is_read_to_the_end_of_apache_kafka(apache_kafka_4: ApacheKafka, offline: Kcli) -> None:
    """The last offsets of the log are markers, which are no records: the end is reached all the same."""
    server = apache_kafka_4.bootstrap_server
    at = ("--bootstrap-server", server)
    topic = "committed-and-aborted"
    assert offline("topics", "create", topic, "--partitions", "2", *at).code == 0
    with Producer(bootstrap_servers=server, transactional_id="console") as producer:
        producer.init_transactions()
        for number, ends in enumerate(("commit", "abort", "commit", "abort")):
            producer.begin_transaction()
            for partition in range(2):
                producer.send(topic, b"%d %s" % (number, ends.encode()), partition=partition)
            # An abort leaves out what was not sent yet.
            producer.flush()
            if ends == "commit":
                producer.commit_transaction()
            else:
                producer.abort_transaction()
    read = ("console-consumer", topic, "--exit-at-end", *at)
    stable = (*read, "--isolation-level", "read_committed")
    committed = offline(*stable).stdout.splitlines()
    assert sorted(committed) == ["0 commit", "0 commit", "2 commit", "2 commit"]
    assert len(offline(*read).stdout.splitlines()) == 8
    grouped = offline(*stable, "--group", "console", "--from-beginning", "-f", "%p")
    assert sorted(grouped.stdout) == list("0011")
    assert offline(*stable, "--group", "console").stdout == ""
