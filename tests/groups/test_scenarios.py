"""Groups of real clients, here and before Apache Kafka 3.9: the same outcomes, step by step.

The invariants are checked by the player after each step, before either broker. What may differ, and why, is in
`differences.toml`; what is listed there and no longer differs fails too.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.apache_kafka import ApacheKafka
from tests.broker_process import BrokerProcess
from tests.groups.comparison import Results, found_differences, listed, unlisted
from tests.groups.member_process import programs
from tests.groups.player import PROPERTIES, play
from tests.groups.scenario import Scenario
from tests.groups.scenarios import SCENARIOS

pytestmark = pytest.mark.needs("java", "mvn", "setpriv")

EXPECTED = listed()
# A scenario mostly waits for sessions to end.
SCENARIOS_AT_ONCE = 3


class Played(NamedTuple):
    ours: Future[Results]
    kafka: Future[Results]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Played]]:
    """Every scenario, as it goes before both brokers; a failure is that of the tests that ask for it."""
    directory = tmp_path_factory.mktemp("groups")
    for name in ("classes", "ours", "kafka"):
        (directory / name).mkdir()
    commands = programs(directory / "classes")
    with (
        ApacheKafka("3.9", directory / "kafka-data", PROPERTIES) as kafka,
        BrokerProcess(directory / "data", PROPERTIES) as broker,
        ThreadPoolExecutor(SCENARIOS_AT_ONCE) as players,
    ):

        def submit(scenario: Scenario, port: int, scratch: Path) -> Future[Results]:
            return players.submit(play, scenario, port, scratch, commands)

        found = {
            scenario.name: Played(
                submit(scenario, broker.port, directory / "ours"), submit(scenario, kafka.port, directory / "kafka")
            )
            for scenario in SCENARIOS
        }
        yield found
        players.shutdown(cancel_futures=True)
        assert broker.stop() == 0
        assert "Traceback" not in broker.log()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_scenario(scenario: Scenario, played: dict[str, Played]) -> None:
    both = played[scenario.name]
    left = unlisted(scenario.name, both.ours.result(), both.kafka.result(), EXPECTED)
    assert not left, "\n".join(left)


def test_every_listed_difference_is_still_there(played: dict[str, Played]) -> None:
    differing = [
        (step, one)
        for name, both in played.items()
        for step, ones in found_differences(name, both.ours.result(), both.kafka.result()).items()
        for one in ones
    ]
    gone = [entry for entry in EXPECTED if not any(entry.covers(step, one) for step, one in differing)]
    assert not gone, [f"no longer differs, or is no step: {entry.step} at {entry.where!r}" for entry in gone]
