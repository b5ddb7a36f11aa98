"""The topics that a pipeline's file names, compared with those of a running broker: before Spark starts anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcore.client.admin.admin import Admin
from kcore.client.admin.topics import NewTopic
from kcore.testing.embedded_broker import EmbeddedBroker
from kspark.pipeline.definition import read_pipeline
from kspark.pipeline.findings import Findings
from kspark.pipeline.topics import check_topics

FILE = """
[sources.a]
format = "kcli"
options = {{ "kafka.bootstrap.servers" = "{servers}", {wanted} }}
[sources.elsewhere]
format = "kafka"
options = {{ "kafka.bootstrap.servers" = "{servers}", subscribe = "nothing" }}
[sinks.b]
from = "a"
format = "kcli"
options = {{ "kafka.bootstrap.servers" = "{servers}", topic = "{target}" }}
"""
CREATE = "Create it with: kcli topics create --topic"


def findings(broker: EmbeddedBroker, directory: Path, wanted: str, target: str = "flights") -> Findings:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("flights", 2, 1)])
    path = directory / "pipeline.toml"
    path.write_text(FILE.format(servers=broker.bootstrap_servers, wanted=wanted, target=target))
    found = Findings()
    check_topics(read_pipeline(str(path)), found)
    return found


@pytest.mark.parametrize(
    ("wanted", "mistakes"),
    [
        ('subscribe = "flights"', []),
        ("assign = '{\"flights\": [0, 1]}'", []),
        ('subscribePattern = "fl.*"', []),
        (
            'subscribe = "flights, flihgts, xyz"',
            [
                f"subscribe: topic flihgts does not exist at SERVERS; did you mean 'flights'? {CREATE} flihgts",
                f"subscribe: topic xyz does not exist at SERVERS. {CREATE} xyz",
            ],
        ),
        ("assign = '{\"flights\": [1, 2]}'", ["assign: topic flights has no partition 2; it has 0 to 1"]),
        (
            "assign = '{\"flihgts\": [0]}'",
            [f"assign: topic flihgts does not exist at SERVERS; did you mean 'flights'? {CREATE} flihgts"],
        ),
    ],
)
def test_topics_of_a_source(tmp_path: Path, wanted: str, mistakes: list[str]) -> None:
    with EmbeddedBroker() as broker:
        found = findings(broker, tmp_path, wanted)
        servers = broker.bootstrap_servers
    assert found.mistakes == [f"sources.a.options.{line.replace('SERVERS', servers)}" for line in mistakes]
    assert not found.warnings
    assert not found.unreachable


def test_a_pattern_without_a_topic_is_a_warning(tmp_path: Path) -> None:
    with EmbeddedBroker() as broker:
        found = findings(broker, tmp_path, 'subscribePattern = "x.*"')
    assert not found.mistakes
    (warning,) = found.warnings
    assert warning.startswith("sources.a.options.subscribePattern: x.* matches no topic at ")


@pytest.mark.parametrize("creates", ["true", "false"])
def test_a_missing_topic_of_a_sink_is_a_mistake_where_nothing_creates_it(tmp_path: Path, creates: str) -> None:
    with EmbeddedBroker({"auto.create.topics.enable": creates}) as broker:
        found = findings(broker, tmp_path, 'subscribe = "flights"', "outs")
    lines, others = (found.warnings, found.mistakes) if creates == "true" else (found.mistakes, found.warnings)
    (line,) = lines
    assert line.startswith("sinks.b.options.topic: topic outs does not exist at ")
    assert not others
