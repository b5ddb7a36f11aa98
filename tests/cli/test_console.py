"""`kcli console-producer` and `console-consumer`: what goes in is what comes out."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import termios

import pytest

from tests.broker_process import BrokerProcess
from tests.cli.conftest import Kcli, missing_topic, read_until_silence


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
    assert (result.code, result.stdout) == (1, "")
    assert (
        result.stderr
        == "kcli console-producer: line 2: no key separator '\\t' in 'none'. Set ignore.error=true to accept this\n"
    )


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_each_codec(kcli: Kcli, topic: str, codec: str) -> None:
    lines = "".join(f"line {number}\n" for number in range(2000))
    assert kcli("console-producer", "--topic", topic, "--compression-codec", codec, stdin=lines).code == 0
    assert kcli("console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "2000").stdout == lines


def test_where_reading_starts_and_ends(kcli: Kcli, topic: str) -> None:
    kcli("console-producer", "--topic", topic, stdin="".join(f"{number}\n" for number in range(10)))
    partition = ("console-consumer", "--topic", topic, "--partition", "0")
    assert kcli(*partition, "--offset", "7", "--max-messages", "3").stdout == "7\n8\n9\n"
    assert kcli(*partition, "--offset", "earliest", "--max-messages", "2").stdout == "0\n1\n"
    assert kcli(*partition, "--offset", "latest", "--timeout-ms", "200").stdout == ""
    assert kcli(*partition, "--timeout-ms", "200").stdout == ""
    short = read_until_silence(kcli, *partition, "--offset", "8", "--max-messages", "3")
    assert short == (0, "8\n9\n", "Processed a total of 2 messages\n"), "as Kafka's: the time was up"


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
    command += ["--from-beginning", "--timeout-ms", "10000", "--consumer-property", "heartbeat.interval.ms=100"]
    lines = "".join(f"{number}:{number}\n" for number in range(400))
    arguments = ("--property", "parse.key=true", "--property", "key.separator=:")
    assert kcli("console-producer", "--topic", "shared", *arguments, stdin=lines).code == 0
    environment = {**os.environ, "KCLI_BOOTSTRAP_SERVER": broker.bootstrap_server}
    members = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    outputs = [member.communicate(timeout=120) for member in members]
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
        assert producer.wait(60) == 0


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
        _, stderr = consumer.communicate(timeout=60)
    assert (consumer.returncode, stderr) == (130, "Processed a total of 1 messages\n")
    assert kcli("console-consumer", "--topic", topic, "--group", topic, "--timeout-ms", "200").stdout == "", "committed"


def test_usage(kcli: Kcli) -> None:
    assert kcli("console-consumer").code == 2
    assert kcli("console-consumer", "--topic", "t", "--offset", "3").stderr == (
        "kcli console-consumer: --offset needs a partition, because offsets count within one: add --partition N\n"
    )
    assert kcli("console-consumer", "--topic", "t", "--group", "").stderr == (
        "kcli console-consumer: --group: the group id is empty. Omit the option to read without a group\n"
    )
    missing = kcli("console-consumer", "--topic", "no-such-topic", "--from-beginning")
    assert missing.code == 1
    assert missing.stderr.startswith(f"kcli console-consumer: {missing_topic('no-such-topic')}\n")
    beyond = kcli("console-consumer", "--topic", "__none", "--partition", "0")
    assert beyond.code == 1


def test_a_range_that_ends_before_it_begins(offline: Kcli) -> None:
    assert offline("console-consumer", "t", "--from", "-1h", "--to", "-2h") == (
        2,
        "",
        "kcli console-consumer: --to is before --from: no record can match. Pass a later --to, or an earlier --from\n",
    )


def test_a_pattern_without_a_topic(kcli: Kcli) -> None:
    missing = "no topic matches --include never-made-.*"
    bounded = kcli("console-consumer", "--include", "never-made-.*", "--exit-at-end")
    assert (bounded.code, bounded.stdout) == (1, "")
    assert bounded.stderr == f"kcli console-consumer: {missing}. List the topics with: kcli topics list\n"
    endless = kcli("console-consumer", "--include", "never-made-.*", "--timeout-ms", "100")
    assert endless.stderr.startswith(f"kcli console-consumer: warning: {missing}. Waiting for one\n")


def test_an_offset_that_there_cannot_be_is_usage(kcli: Kcli, topic: str) -> None:
    refused = kcli("console-consumer", "--topic", topic, "--partition", "0", "--offset", str(2**63))
    assert refused.code == 2
    assert refused.stderr.splitlines()[-1] == (
        f"kcli console-consumer: --offset {2**63}: too large; the largest offset is {2**63 - 1}"
    )


# Lines of one's own


def test_json_loses_nothing_on_the_way_to_another_topic(kcli: Kcli, topic: str) -> None:
    """Keys, values, headers and timestamps, with bytes that are no text, nulls, and names that repeat."""
    lines = (
        '{"key":"k","value":"two\\nlines","headers":[["a","1"],["a",null],["é",""]],"timestamp":1700000000000}\n'
        '{"key":{"hex":"00ff"},"value":{"base64":"/w=="},"headers":[["b",{"hex":"fe"}]],"timestamp":1700000000001}\n'
        '{"value":null,"timestamp":1700000000002}\n'
    )
    assert kcli("console-producer", "--topic", topic, "-i", "json", stdin=lines) == (0, "", "")
    first = kcli("console-consumer", "--topic", topic, "--exit-at-end", "-o", "json")
    records = [json.loads(line) for line in first.stdout.splitlines()]
    assert [(r["key"], r["value"]) for r in records] == [
        ("k", "two\nlines"),
        ({"base64": "AP8="}, {"base64": "/w=="}),
        (None, None),
    ]
    assert records[0]["headers"] == [["a", "1"], ["a", None], ["é", ""]]
    copy = f"{topic}-copy"
    assert kcli("topics", "create", copy, "--partitions", "3").code == 0
    assert kcli("console-producer", copy, "-i", "json", "--keep-partitions", stdin=first.stdout) == (0, "", "")
    second = kcli("console-consumer", copy, "--exit-at-end", "-o", "json")
    assert second.stdout == first.stdout.replace(f'"topic":"{topic}"', f'"topic":"{copy}"')


def test_formats_and_filters(kcli: Kcli, topic: str) -> None:
    lines = "".join(f"n:{number}\tk{number % 3}\tv{number}\n" for number in range(9))
    properties = ("--reader-property", "parse.headers=true", "--reader-property", "parse.key=true")
    assert kcli("console-producer", topic, *properties, stdin=lines).code == 0
    read = ("console-consumer", topic, "--exit-at-end", "-f", r"%o:%k=%s\n")
    assert kcli(*read, "--filter", "key=k1").stdout == "1:k1=v1\n4:k1=v4\n7:k1=v7\n"
    assert kcli(*read, "--filter", "key~[12]", "--filter", "offset>=5").stdout == "5:k2=v5\n7:k1=v7\n8:k2=v8\n"
    assert kcli(*read, "--filter", "header.n=6").stdout == "6:k0=v6\n"
    limited = kcli(
        "console-consumer", topic, "--from-beginning", "--max-messages", "2", "--filter", "key=k2", "-f", "%o "
    )
    assert (limited.stdout, limited.stderr) == ("2 5 ", "Processed a total of 2 messages\n")


def test_times_bound_what_is_read(kcli: Kcli, topic: str) -> None:
    start_ms = 1_700_000_000_000
    lines = "".join(f'{{"value":"{number}","timestamp":{start_ms + number * 1000}}}\n' for number in range(10))
    assert kcli("console-producer", topic, "-i", "jsonl", stdin=lines).code == 0
    read = ("console-consumer", topic, "-f", "%s ")
    assert kcli(*read, "--from", str(start_ms + 6_500), "--exit-at-end").stdout == "7 8 9 "
    assert kcli(*read, "--to", str(start_ms + 2_000)).stdout == "0 1 "
    assert kcli(*read, "--from", "2023-11-14T22:13:23Z", "--to", "2023-11-14T22:13:25").stdout == "3 4 "
    assert kcli(*read, "--from", "-1h", "--exit-at-end").stdout == ""
    assert kcli(*read, "--partition", "0", "--offset", "8", "--exit-at-end").stdout == "8 9 "
    group = (*read, "--group", topic, "--to", str(start_ms + 4_000))
    assert kcli(*group).stdout == "0 1 2 3 "
    assert kcli(*read, "--group", topic, "--exit-at-end").stdout == "4 5 6 7 8 9 ", "nothing more was committed"
    for protocol in ("classic", "consumer"):
        by_protocol = (*read, "--group", f"{topic}-{protocol}", "--command-property", f"group.protocol={protocol}")
        assert kcli(*by_protocol, "--exit-at-end").stdout == "0 1 2 3 4 5 6 7 8 9 "
        assert kcli(*by_protocol, "--exit-at-end").stdout == ""


def test_topics_by_a_pattern(kcli: Kcli, topic: str) -> None:
    other = f"{topic}-too"
    kcli("topics", "create", other, "--partitions", "1")
    kcli("console-producer", topic, stdin="here\n")
    kcli("console-producer", other, stdin="there\n")
    read = kcli(
        "console-consumer", "--include", f"{topic}.*", "--from-beginning", "--max-messages", "2", "-f", r"%t %s\n"
    )
    assert sorted(read.stdout.splitlines()) == [f"{topic} here", f"{topic}-too there"]


def test_deserializers(kcli: Kcli, topic: str) -> None:
    lines = '{"key":{"hex":"0000000000000007"},"value":"seven"}\n{"key":"short","value":"bad"}\n{"value":"no key"}\n'
    assert kcli("console-producer", topic, "-i", "json", stdin=lines).code == 0
    read = ["console-consumer", topic, "--exit-at-end", "--property", "print.key=true"]
    read += ["--key-deserializer", "org.apache.kafka.common.serialization.LongDeserializer"]
    stopped = kcli(*read)
    assert (stopped.code, stopped.stdout) == (1, "7\tseven\n")
    assert (
        f"kcli console-consumer: {topic}-0, offset 1: topic {topic}: 5 bytes instead of the 8 of a number"
        in stopped.stderr
    )
    passed = kcli(*read, "--skip-message-on-error")
    assert (passed.code, passed.stdout) == (0, "7\tseven\nnull\tno key\n")


# What fails, and how it ends


def test_every_record_that_fails_is_told_of_and_the_others_arrive(kcli: Kcli, topic: str) -> None:
    """Too large for a request, and too large for the topic: each is named by its line."""
    assert kcli("configs", "alter", "--topic", topic, "--add-config", "max.message.bytes=2000").code == 0
    lines = "first\n" + "x" * 1_500_000 + "\nsecond\n" + "y" * 5_000 + "\nlast"
    result = kcli("console-producer", topic, stdin=lines)
    assert result.code == 1
    told = result.stderr.splitlines()
    assert told[0].startswith(f"kcli console-producer: line 2: topic {topic}: The message is 1500")
    assert told[1].startswith("kcli console-producer: line 4: ")
    assert told[2:] == [f"kcli console-producer: topic {topic}: 2 of 5 records were not delivered"]
    assert kcli("console-consumer", topic, "--exit-at-end").stdout == "first\nsecond\nlast\n"


def test_a_line_that_is_no_record_ends_it_after_those_before(kcli: Kcli, topic: str) -> None:
    lines = '{"value":"a"}\n{"value":"b"}\nc\n{"value":"d"}\n'
    result = kcli("console-producer", topic, "-i", "json", stdin=lines)
    assert (result.code, result.stderr.startswith("kcli console-producer: line 3: not JSON: ")) == (1, True)
    result = kcli("console-producer", topic, "-i", "json", "--property", "ignore.error=true", stdin=lines)
    assert result.code == 1
    assert result.stderr.splitlines()[1:] == [
        f"kcli console-producer: topic {topic}: 1 of 4 records were not delivered"
    ]
    assert kcli("console-consumer", topic, "--exit-at-end").stdout == "a\nb\na\nb\nd\n"


def test_records_one_by_one(kcli: Kcli, topic: str) -> None:
    assert kcli("console-producer", topic, "--sync", "--request-required-acks", "1", stdin="a\nb\nc") == (0, "", "")
    assert kcli("console-consumer", topic, "--exit-at-end").stdout == "a\nb\nc\n"


def consuming(broker: BrokerProcess, *arguments: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "KCLI_BOOTSTRAP_SERVER": broker.bootstrap_server}
    command = [sys.executable, "-m", "kcli", "console-consumer", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_member_whose_reader_is_slow(
    kcli: Kcli, broker: BrokerProcess, topic: str, number: signal.Signals, code: int
) -> None:
    """The pipe is full, and what did not fit is not committed: the next member of the group reads it."""
    lines = [f"{number:0100d}" for number in range(20_000)]
    kcli("console-producer", topic, stdin="\n".join(lines))
    with consuming(broker, "--topic", topic, "--group", topic, "--from-beginning") as consumer:
        assert consumer.stdout is not None
        head = consumer.stdout.readline()
        consumer.send_signal(number)
        assert consumer.wait(60) == code
        read = (head + consumer.stdout.read()).decode().splitlines()
    assert f"Group: {topic}" not in kcli("groups", "describe", "--group", topic, "--members").stdout
    rest = kcli("console-consumer", topic, "--group", topic, "--from-beginning", "--exit-at-end").stdout.splitlines()
    whole = {line for line in read if len(line) == 100}
    assert whole | set(rest) == set(lines), "nothing is lost between them"


def test_a_reader_that_goes_ends_it_quietly(kcli: Kcli, broker: BrokerProcess, topic: str) -> None:
    """Also when there is nothing more to write, so that nobody would ever notice by writing."""
    kcli("console-producer", topic, stdin="one\n")
    with consuming(broker, "--topic", topic, "--from-beginning") as consumer:
        assert consumer.stdout is not None
        assert consumer.stderr is not None
        assert consumer.stdout.readline() == b"one\n"
        consumer.stdout.close()
        assert consumer.stderr.read() == b"Processed a total of 1 messages\n"
        assert consumer.wait(60) == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_producer_after_what_it_has_read(
    kcli: Kcli, broker: BrokerProcess, topic: str, number: signal.Signals, code: int
) -> None:
    environment = {**os.environ, "KCLI_BOOTSTRAP_SERVER": broker.bootstrap_server}
    command = [sys.executable, "-m", "kcli", "console-producer", "--topic", topic, "--timeout", "60000"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as producer:
        assert producer.stdin is not None
        assert producer.stderr is not None
        producer.stdin.write(b"one\ntwo\n")
        producer.stdin.flush()
        while _unread(producer.stdin.fileno()):
            assert producer.poll() is None
        producer.send_signal(number)
        assert (producer.wait(60), producer.stderr.read()) == (code, b"")
    assert kcli("console-consumer", topic, "--exit-at-end").stdout == "one\ntwo\n"


def _unread(pipe: int) -> int:
    """How many bytes of a pipe nobody has taken yet."""
    (count,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
    return int(count)


def test_nobody_there(offline: Kcli) -> None:
    for command in (["console-consumer", "--topic", "t"], ["console-consumer", "--include", "t"]):
        result = offline(*command, "--bootstrap-server", "127.0.0.1:1")
        assert (result.code, result.stdout) == (3, "")
        assert "cannot connect to 127.0.0.1:1" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topic", "t", "--include", "t"], "--topic and --include cannot be combined"),
        (["--include", "("], "--include '(': invalid regular expression (missing )"),
        (["--include", "t", "--partition", "0"], "--partition needs a topic: "),
        (["--topic", "t", "--partition", "0", "--group", "g"], "--partition and --group cannot be combined"),
        (["--topic", "t", "--group", "g", "--consumer-property", "group.id=h"], "--group g contradicts group.id=h: "),
        (
            ["--topic", "t", "--from-beginning", "--consumer-property", "auto.offset.reset=latest"],
            "--from-beginning contradicts auto.offset.reset=latest",
        ),
        (["--topic", "t", "--from-beginning", "--from", "now"], "--from cannot be combined with --from-beginning"),
        (["--topic", "t", "--from", "soon"], "--from 'soon': not a time"),
        (["--topic", "t", "-f", "%q"], "-f: unknown token %q"),
        (["--topic", "t", "-f", "%s", "-o", "json"], "-f and -o cannot be combined"),
        (["--topic", "t", "--filter", "x"], "--filter 'x': not FIELD"),
        (
            ["--topic", "t", "--formatter", "com.example.Own"],
            "--formatter com.example.Own: Java classes cannot run here. Supported: ",
        ),
    ],
)
def test_command_lines_that_make_no_sense(offline: Kcli, arguments: list[str], message: str) -> None:
    result = offline("console-consumer", *arguments)
    assert (result.code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"kcli console-consumer: {message}")
