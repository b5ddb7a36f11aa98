"""Apache Kafka's own command-line programs of one version, run by bin/kafka-run."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from tests.apache_kafka import QUICK_START
from tests.interop.series import Received, Series

ROOT = Path(__file__).resolve().parent.parent.parent
VERSIONS = ("3.9", "4")
SMALL_VERSIONS = ("4",)
# As parameters of a test.
VERSIONS_BY_SIZE = (pytest.param("3.9", marks=pytest.mark.full_size), "4")
TIMEOUT_S = 240
# Between what the console consumer prints of a record; no record has it.
SEPARATOR = "|"
DUMPED_RECORD = re.compile(r"^\| offset: (\d+) .* payload: (.*)$", re.MULTILINE)
# Apache Kafka 4 has other names for the same options, and says so on stdout when the old ones are used.
OPTIONS = {
    "3.9": {
        "reader": "--property",
        "formatter": "--property",
        "producer": "--producer-property",
        "perf-producer": "--producer-props",
        "perf-records": "--messages",
    },
    "4": {
        "reader": "--reader-property",
        "formatter": "--formatter-property",
        "producer": "--command-property",
        "perf-producer": "--command-property",
        "perf-records": "--num-records",
    },
}
# They run for long enough to be worth Java's second compiler, and say how fast they were.
MEASURING = ("ProducerPerformance", "ConsumerPerformance")
CONSOLE_PRODUCER_PROPERTIES = ("parse.key=true", "parse.headers=true", "null.marker=<none>")


class JavaTools:
    def __init__(self, version: str, server: str = "") -> None:
        self.version = version
        self.server = server
        self.options = OPTIONS[version]

    def run(self, program: str, *arguments: str, stdin: bytes = b"") -> str:
        """What it wrote to stdout; anything but exit code 0 is a failure."""
        done = subprocess.run(
            [ROOT / "bin" / "kafka-run", self.version, program, *arguments],
            input=stdin,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
            env={**({} if program in MEASURING else {"KAFKA_HEAP_OPTS": " ".join(QUICK_START)}), **os.environ},
        )
        errors = done.stderr.decode(errors="replace")
        assert done.returncode == 0, f"{program} {self.version} ended with {done.returncode}:\n{errors[-4000:]}"
        return done.stdout.decode()

    # Producers

    def produce_lines(self, topic: str, series: Series, *producer_properties: str) -> int:
        """ConsoleProducer, with keys and headers; timestamps are those of its clock."""
        text = b"".join(self._line(series, number) for number in range(series.count))
        self.run(
            "ConsoleProducer",
            *("--bootstrap-server", self.server, "--topic", topic),
            *_each(self.options["reader"], CONSOLE_PRODUCER_PROPERTIES),
            *_each(self.options["producer"], producer_properties),
            stdin=text,
        )
        return series.count

    @staticmethod
    def _line(series: Series, number: int) -> bytes:
        headers = b",".join(b"%b:%b" % (name.encode(), value) for name, value in series.headers(number))
        return b"%b\t%b\t%b\n" % (headers or b"<none>", series.key(number) or b"<none>", series.value(number))

    def produce_numbers(self, topic: str, count: int, *producer_properties: str, throughput: int = -1) -> float:
        """ProducerPerformance; the values are the numbers from 0 on. Its average of records a second."""
        report = self.run(
            "ProducerPerformance",
            *("--topic", topic, "--num-records", str(count), "--throughput", str(throughput), "--payload-monotonic"),
            *(self.options["perf-producer"], f"bootstrap.servers={self.server}", *producer_properties),
        )
        last = report.strip().splitlines()[-1]
        found = re.match(r"(\d+) records sent, ([0-9.]+) records/sec", last)
        assert found is not None, report
        assert int(found[1]) == count, last
        return float(found[2])

    # Consumers

    def consume(self, topic: str, count: int, *arguments: str) -> list[Received]:
        """ConsoleConsumer: so many records."""
        shown = ("timestamp", "partition", "offset", "headers", "key", "value")
        output = self.run(
            "ConsoleConsumer",
            *("--bootstrap-server", self.server, "--topic", topic, "--max-messages", str(count)),
            *("--timeout-ms", str(TIMEOUT_S * 500)),
            *_each(self.options["formatter"], [f"print.{name}=true" for name in shown]),
            *_each(self.options["formatter"], [f"key.separator={SEPARATOR}", "null.literal=<none>"]),
            *arguments,
        )
        return [_received(line) for line in output.splitlines()]

    def count_records(self, topic: str, count: int, group: str) -> int:
        """ConsumerPerformance: how many it says that it read."""
        report = self.run(
            "ConsumerPerformance",
            *("--bootstrap-server", self.server, "--topic", topic),
            *(self.options["perf-records"], str(count)),
            *("--group", group, "--hide-header", "--timeout", str(TIMEOUT_S * 500)),
        )
        fields = report.strip().splitlines()[-1].split(", ")
        return int(fields[4])

    # Files

    def dump(self, files: Iterable[Path], *arguments: str) -> str:
        return self.run("DumpLogSegments", "--files", ",".join(map(str, files)), *arguments)

    def dumped_records(self, files: Iterable[Path]) -> list[tuple[int, bytes]]:
        """Offset and value of every record that its dump tool prints; values are lines of text."""
        text = self.dump(files, "--print-data-log")
        return [(int(offset), payload.encode()) for offset, payload in DUMPED_RECORD.findall(text)]


def _each(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def _received(line: str) -> Received:
    """A line of the console consumer: CreateTime:1 Partition:0 Offset:7 name:value,name:value key value, separated."""
    timestamp, partition, offset, headers, key, value = line.split(SEPARATOR)
    pairs = [] if headers == "NO_HEADERS" else [pair.split(":", 1) for pair in headers.split(",")]
    return Received(
        int(partition.removeprefix("Partition:")),
        int(offset.removeprefix("Offset:")),
        int(timestamp.partition(":")[2]),
        None if key == "<none>" else key.encode(),
        None if value == "<none>" else value.encode(),
        [(name, text.encode()) for name, text in pairs],
    )
