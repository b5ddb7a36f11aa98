"""Makes the files in this directory anew, with Apache Kafka itself: `.venv/bin/python -m tests.vectors.kafka.make`.

Each directory is a log directory as Apache Kafka leaves it after SIGTERM, with only the topics of `tests/interchange/
contents.py`; `answers.json` is what Apache Kafka answered of them before (`tests/interchange/observation.py`), and the
rows that librdkafka read from it.

    2.8/   written by 2.8 with ZooKeeper in the formats of 0.9 and 0.10, then opened, served and closed by 3.9
    3.9/   written and served by 3.9 in KRaft mode
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from tests.apache_kafka import ApacheKafka, ZooKeeperKafka
from tests.interchange import contents
from tests.interchange.observation import Observation, is_served, observe

HERE = Path(__file__).resolve().parent
PROPERTIES = {
    "log.cleaner.backoff.ms": "100",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
BESIDE_TOPICS = (".kafka_cleanshutdown", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint")
OLD_TOPICS = ("v0", "v1", "v1-append-time", "upgraded")
TOPICS = ("codecs", "transactions", "open-transaction", "compacted")


def main() -> None:
    """Replaces both directories."""
    with tempfile.TemporaryDirectory() as directory:
        with ZooKeeperKafka("2.8", Path(directory) / "2.8", PROPERTIES) as kafka:
            write_old(kafka.bootstrap_server)
            kafka.stop()
            # The same ZooKeeper and the same log directory: an upgrade, as clusters went through it.
            kafka.version = "3.9"
            kafka.start()
            keep(kafka, "2.8", OLD_TOPICS)
        with ApacheKafka("3.9", Path(directory) / "3.9", PROPERTIES) as kafka:
            undecided = write_new(kafka.bootstrap_server)
            keep(kafka, "3.9", TOPICS)
            del undecided


def write_old(server: str) -> None:
    """The formats that only 2.8 still writes."""
    contents.old_format(server, "v0", "0.9.0")
    contents.old_format(server, "v1", "0.10.2")
    contents.old_format(server, "v1-append-time", "0.10.2", {"message.timestamp.type": "LogAppendTime"})
    contents.upgraded(server, "upgraded")


def write_new(server: str) -> Producer:
    """Record batches of every kind of producer; the one with the open transaction is for the caller to hold on to."""
    contents.every_codec(server, "codecs")
    contents.transactions(server, "transactions", ends_open=False)
    undecided = contents.transactions(server, "open-transaction", ends_open=True)
    contents.compacted(server, "compacted")
    return undecided


def keep(kafka: ApacheKafka, name: str, topics: Iterable[str]) -> None:
    """Asks, stops the broker, and puts its files here."""
    answers = {}
    for topic in topics:
        contents.wait_until(lambda topic=topic: is_served(kafka.port, topic), f"{topic} is not served")
        answers[topic] = {
            **observe(kafka.port, topic),
            "rows": [text_row(row) for row in contents.read_rows(kafka.bootstrap_server, topic)],
            "committed_rows": len(contents.read_rows(kafka.bootstrap_server, topic, "read_committed")),
        }
    kafka.stop()
    target = HERE / name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for file in BESIDE_TOPICS:
        shutil.copy(kafka.directory / file, target / file)
    for topic in answers:
        shutil.copytree(
            kafka.directory / f"{topic}-0", target / f"{topic}-0", ignore=shutil.ignore_patterns("*.deleted")
        )
    (target / "answers.json").write_text(as_text(answers))


def text_row(row: tuple[Any, ...]) -> list[Any]:
    """A record as JSON has it; the bytes are ASCII."""
    offset, timestamp, key, value = row
    return [offset, timestamp, None if key is None else key.decode(), None if value is None else value.decode()]


def as_text(answers: dict[str, Observation]) -> str:
    """JSON with a line for each question, and questions of one kind without the names of their fields."""
    lines = []
    for topic, answer in answers.items():
        fields = []
        for name, value in answer.items():
            if isinstance(value, list) and value:
                rows = [list(row.values()) if isinstance(row, dict) else row for row in value]
                names = json.dumps(list(value[0])) if isinstance(value[0], dict) else "null"
                text = ",\n".join("   " + json.dumps(row, separators=(",", ":")) for row in rows)
                fields.append(f'  {json.dumps(name)}: {{"fields": {names}, "rows": [\n{text}]}}')
            else:
                fields.append(f"  {json.dumps(name)}: {json.dumps(value)}")
        lines.append(f" {json.dumps(topic)}: {{\n" + ",\n".join(fields) + "\n }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read_answers(name: str) -> dict[str, Observation]:
    """`answers.json` of a directory, as `observe` gives it."""
    answers: dict[str, Observation] = json.loads((HERE / name / "answers.json").read_text())
    for answer in answers.values():
        for field, value in answer.items():
            if isinstance(value, dict) and "rows" in value:
                names = value["fields"]
                answer[field] = [dict(zip(names, row, strict=True)) if names else row for row in value["rows"]]
    return answers


if __name__ == "__main__":
    main()
