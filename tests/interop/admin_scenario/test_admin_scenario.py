"""Every step of the administration scenario, against our broker and against Apache Kafka 3.9: the same results.

What may differ, and why, is in `differences.toml`; what is listed there and no longer differs fails too.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.apache_kafka import CLUSTER_ID, NODE_ID, ApacheKafka
from tests.broker_process import BrokerProcess
from tests.interop.admin_scenario.clients import JavaProgram
from tests.interop.admin_scenario.differences import Expected, differences, expected, unexpected
from tests.interop.admin_scenario.run import run
from tests.interop.admin_scenario.scenario import STEPS
from tests.interop.admin_scenario.step import Step

pytestmark = [
    pytest.mark.needs("java", "mvn", "setpriv"),
    pytest.mark.full_size,
    # AlterConfigs is asked for on purpose.
    pytest.mark.filterwarnings("ignore:alter_configs has been deprecated"),
]

EXPECTED = expected()
# What both brokers are started with; the rest are the defaults of each.
PROPERTIES = {"offsets.topic.num.partitions": "4", "group.initial.rebalance.delay.ms": "0"}


class Results(NamedTuple):
    ours: dict[str, Any]
    kafka: dict[str, Any]


@pytest.fixture(scope="session")
def java(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaProgram]:
    jars = subprocess.run([checkout / "bin/kafka-jars", "3.9"], stdout=subprocess.PIPE, text=True, check=True)
    program = JavaProgram(jars.stdout.strip(), tmp_path_factory.mktemp("classes"))
    yield program
    program.close()


@pytest.fixture(scope="session")
def results(java: JavaProgram, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Both runs. The Kafka is one of its own: what others do to a shared one would be seen here."""
    directory = tmp_path_factory.mktemp("scenario")
    file = directory / "file"
    data = directory / "ours"
    data.mkdir()
    # As it is after a start, so that both clusters are called the same.
    (data / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER_ID}\nnode.id={NODE_ID}\n")
    with BrokerProcess(data, {"node.id": str(NODE_ID), **PROPERTIES}) as broker:
        ours = run(STEPS, broker.port, data, java, file, follows_later=False)
        assert broker.stop() == 0, broker.log()
    with ApacheKafka("3.9", directory / "kafka", PROPERTIES) as kafka:
        theirs = run(STEPS, kafka.port, kafka.directory, java, file, follows_later=True)
    return Results(ours, theirs)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_step(step: Step, results: Results) -> None:
    found = differences(results.ours[step.name], results.kafka[step.name])
    left = unexpected(step.name, found, EXPECTED)
    assert not left, "\n".join(map(str, left))


@pytest.mark.parametrize("entry", EXPECTED, ids=lambda entry: entry.step)
def test_difference_is_still_there(entry: Expected, results: Results) -> None:
    for step in STEPS:
        found = differences(results.ours[step.name], results.kafka[step.name])
        if any(entry.covers(step.name, difference) for difference in found):
            return
    pytest.fail(f"no longer differs, or is no step: {entry.step} at {entry.where!r}; take it out of differences.toml")
