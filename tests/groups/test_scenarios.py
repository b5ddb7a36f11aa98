"""Groups of real clients, here and before Apache Kafka 3.9: the same outcomes, step by step.

The invariants are checked by the player after each step, before either broker.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apache_kafka import ApacheKafka
from tests.broker_process import BrokerProcess
from tests.groups.member_process import PROGRAMS
from tests.groups.player import Player
from tests.groups.scenario import Scenario
from tests.groups.scenarios import SCENARIOS
from tests.interop.admin_scenario.differences import differences

pytestmark = pytest.mark.needs("java", "mvn", "setpriv")

PROPERTIES = {
    "offsets.topic.num.partitions": "4",
    "group.min.session.timeout.ms": "500",
    "group.initial.rebalance.delay.ms": "300",
}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("ours") / "data", PROPERTIES) as broker:
        yield broker
        assert broker.stop() == 0
        assert "Traceback" not in broker.log()


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    with ApacheKafka("3.9", tmp_path_factory.mktemp("kafka") / "data", PROPERTIES) as kafka:
        yield kafka


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_scenario(scenario: Scenario, ours: BrokerProcess, kafka: ApacheKafka, tmp_path: Path) -> None:
    here = Player(scenario, ours.port, tmp_path, PROGRAMS).play()
    there = Player(scenario, kafka.port, tmp_path, PROGRAMS).play()
    found = {step: differences(here[step].seen, there[step].seen) for step in here}
    left = [f"{step}: {one}" for step, ones in found.items() for one in ones]
    assert not left, "\n".join(left)
