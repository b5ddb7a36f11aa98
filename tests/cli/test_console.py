"""`kcli console-producer` and `console-consumer`: what goes in is what comes out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.broker_process import BrokerProcess
from tests.cli.conftest import Kcli


@pytest.fixture
def topic(kcli: Kcli, request: pytest.FixtureRequest) -> str:
    name: str = request.node.name.replace("[", "-").replace("]", "")
    assert kcli("topics", "create", name, "--partitions", "1").code == 0
    return name


def test_lines_come_back_and_the_last_one_needs_no_end(kcli: Kcli, topic: str) -> None:
    assert kcli("console-producer", "--topic", topic, stdin="one\ntwo\r\n\nlast") == (0, "", "")
    assert kcli("console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "4") == (
        0,
        "one\ntwo\n\nlast\n",
        "Processed a total of 4 messages\n",
    )


def test_keys_headers_and_nulls(kcli: Kcli, topic: str) -> None:
    properties = ["parse.key=true", "key.separator=|", "parse.headers=true", "headers.delimiter=#", "null.marker=NULL"]
    arguments = [part for name in properties for part in ("--property", name)]
    lines = "a:1,b:NULL#key|value\nNULL#NULL|NULL\nNULL#|empty key\n"
    assert kcli("console-producer", "--topic", topic, *arguments, stdin=lines).code == 0
    printed = [f"print.{name}=true" for name in ("timestamp", "partition", "offset", "headers", "key")]
    arguments = [part for name in printed for part in ("--property", name)]
    result = kcli("console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "3", *arguments)
    assert result.code == 0
    assert result.stable.splitlines() == [
        "CreateTime:<ms>\tPartition:0\tOffset:0\ta:1,b:null\tkey\tvalue",
        "CreateTime:<ms>\tPartition:0\tOffset:1\tNO_HEADERS\tnull\tnull",
        "CreateTime:<ms>\tPartition:0\tOffset:2\tNO_HEADERS\t\tempty key",
    ]
    result = kcli("console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "1", "-o", "jsonl")
    assert json.loads(result.stdout.replace(str(json.loads(result.stdout)["timestamp"]), "0")) == {
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "timestamp": 0,
        "timestamp_type": "CreateTime",
        "key": "key",
        "value": "value",
        "headers": [["a", "1"], ["b", None]],
    }


def test_a_line_without_its_separator_is_named(kcli: Kcli, topic: str) -> None:
    result = kcli("console-producer", "--topic", topic, "--property", "parse.key=true", stdin="k\tv\nnone\n")
    assert (result.code, result.stdout) == (2, "")
    assert result.stderr == "kcli: no key separator '\\t' in line 2: 'none'; set ignore.error=true to go on\n"


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_each_codec(kcli: Kcli, topic: str, codec: str) -> None:
    lines = "".join(f"line {number}\n" for number in range(2000))
    assert kcli("console-producer", "--topic", topic, "--compression-codec", codec, stdin=lines).code == 0
    assert kcli("console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "2000").stdout == lines


def test_where_reading_starts_and_ends(kcli: Kcli, topic: str) -> None:
    kcli("console-producer", "--topic", topic, stdin="".join(f"{number}\n" for number in range(10)))
    partition = ("console-consumer", "--topic", topic, "--partition", "0", "--timeout-ms", "200")
    assert kcli(*partition, "--offset", "7").stdout == "7\n8\n9\n"
    assert kcli(*partition, "--offset", "earliest", "--max-messages", "2").stdout == "0\n1\n"
    assert kcli(*partition, "--offset", "latest").stdout == ""
    assert kcli(*partition).stdout == ""
    short = kcli(*partition, "--offset", "8", "--max-messages", "3")
    assert (short.code, short.stdout) == (3, "8\n9\n")
    assert short.stderr.endswith(f"kcli: topic {topic}: 2 of 3 records within 200 ms\n")


def test_a_group_goes_on_where_it_stopped(kcli: Kcli, topic: str) -> None:
    kcli("console-producer", "--topic", topic, stdin="a\nb\nc\n")
    group = ("console-consumer", "--topic", topic, "--group", topic, "--from-beginning")
    assert kcli(*group, "--max-messages", "2").stdout == "a\nb\n"
    assert kcli(*group, "--max-messages", "1").stdout == "c\n"
    assert kcli(*group, "--timeout-ms", "200").stdout == ""


def test_two_members_share_the_partitions(kcli: Kcli, broker: BrokerProcess) -> None:
    """Each member reads until it has been silent for long enough; together they read everything once."""
    kcli("topics", "create", "shared", "--partitions", "4")
    command = [sys.executable, "-m", "kcli", "console-consumer", "--topic", "shared", "--group", "shared"]
    command += ["--from-beginning", "--timeout-ms", "5000", "--consumer-property", "heartbeat.interval.ms=100"]
    environment = {**os.environ, "KCLI_BOOTSTRAP_SERVER": broker.bootstrap_server}
    members = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    lines = "".join(f"{number}:{number}\n" for number in range(400))
    arguments = ("--property", "parse.key=true", "--property", "key.separator=:")
    assert kcli("console-producer", "--topic", "shared", *arguments, stdin=lines).code == 0
    outputs = [member.communicate(timeout=60) for member in members]
    assert [member.returncode for member in members] == [0, 0], outputs
    assert sorted("".join(stdout for stdout, _ in outputs).split(), key=int) == [str(n) for n in range(400)]


def test_lines_of_a_terminal_are_not_held_back(kcli: Kcli, broker: BrokerProcess, topic: str) -> None:
    """While the producer's input stays open, what was written can already be read."""
    environment = {**os.environ, "KCLI_BOOTSTRAP_SERVER": broker.bootstrap_server}
    command = [sys.executable, "-m", "kcli", "console-producer", "--topic", topic]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, env=environment) as producer:
        assert producer.stdin is not None
        producer.stdin.write("now\n")
        producer.stdin.flush()
        assert kcli("console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "1").stdout == "now\n"
        producer.stdin.close()
        assert producer.wait(30) == 0


def test_ctrl_c_ends_a_consumer_with_code_130_and_without_a_traceback(
    kcli: Kcli, broker: BrokerProcess, topic: str
) -> None:
    kcli("console-producer", "--topic", topic, stdin="one\n")
    environment = {**os.environ, "KCLI_BOOTSTRAP_SERVER": broker.bootstrap_server}
    command = [sys.executable, "-m", "kcli", "console-consumer", "--topic", topic, "--from-beginning", "--group", topic]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as consumer:
        assert consumer.stdout is not None
        assert consumer.stdout.readline() == "one\n"
        consumer.send_signal(signal.SIGINT)
        _, stderr = consumer.communicate(timeout=30)
    assert (consumer.returncode, stderr) == (130, "Processed a total of 1 messages\n")
    assert kcli("console-consumer", "--topic", topic, "--group", topic, "--timeout-ms", "200").stdout == "", "committed"


def test_usage(kcli: Kcli) -> None:
    assert kcli("console-consumer").code == 2
    assert kcli("console-consumer", "--topic", "t", "--offset", "3").stderr == (
        "kcli: --offset: needs --partition too, since offsets count within one\n"
    )
    assert kcli("console-consumer", "--topic", "t", "--group", "").stderr == (
        "kcli: --group: the name is empty; leave the option out to read without a group\n"
    )
    missing = kcli("console-consumer", "--topic", "no-such-topic", "--from-beginning")
    assert missing.code == 1
    assert "kcli topics create no-such-topic" in missing.stderr
    beyond = kcli("console-consumer", "--topic", "__none", "--partition", "0")
    assert beyond.code == 1


def test_an_offset_that_there_cannot_be_is_usage(kcli: Kcli, topic: str) -> None:
    refused = kcli("console-consumer", "--topic", topic, "--partition", "0", "--offset", str(2**63))
    assert refused.code == 2
    assert refused.stderr.splitlines()[-1] == (
        f"kcli: --offset {2**63}: must be no more than {2**63 - 1}, the largest offset there can be"
    )
