"""Groups of real clients, here and before Apache Kafka 3.9: the same outcomes, step by step.

The invariants are checked by the player after each step, before either broker. What may differ, and why, is in
`differences.toml`; what is listed there and no longer differs fails too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, TypeAlias

import pytest

from tests.apache_kafka import ApacheKafka
from tests.broker_process import BrokerProcess
from tests.groups.comparison import PLAYS, Results, found_differences, listed, unlisted
from tests.groups.member_process import programs
from tests.groups.player import PROPERTIES, play
from tests.groups.scenario import Scenario
from tests.groups.scenarios import SCENARIOS

pytestmark = pytest.mark.needs("java", "mvn", "setpriv")

EXPECTED = listed()
# A scenario mostly waits for sessions to end.
SCENARIOS_AT_ONCE = 3
SMALL_SCENARIOS = SCENARIOS[:1]
Play: TypeAlias = Callable[[Scenario], Results]


class Played(NamedTuple):
    ours: Future[Results]
    kafka: Future[Results]


class Theatre:
    """Plays scenarios before both brokers, some at once; a failure is that of the test that asks for the results."""

    def __init__(
        self, players: ThreadPoolExecutor, scenarios: Sequence[Scenario], play_ours: Play, play_kafka: Play
    ) -> None:
        self._players = players
        self._play_ours = play_ours
        self._play_kafka = play_kafka
        self.plays = {scenario.name: [self._play(scenario)] for scenario in scenarios}

    def _play(self, scenario: Scenario) -> Played:
        submit = self._players.submit
        return Played(submit(self._play_ours, scenario), submit(self._play_kafka, scenario))

    def play_again(self, scenario: Scenario) -> None:
        plays = self.plays[scenario.name]
        plays.append(self._play(scenario._replace(name=f"{scenario.name}, again {len(plays)}")))

    def results(self, scenario: Scenario) -> tuple[list[Results], list[Results]]:
        plays = self.plays[scenario.name]
        return [play.ours.result() for play in plays], [play.kafka.result() for play in plays]


@pytest.fixture(scope="module")
def theatre(tmp_path_factory: pytest.TempPathFactory, small_suites: frozenset[str]) -> Iterator[Theatre]:
    directory = tmp_path_factory.mktemp("groups")
    for name in ("classes", "ours", "kafka"):
        (directory / name).mkdir()
    commands = programs(directory / "classes")
    with (
        ApacheKafka("3.9", directory / "kafka-data", PROPERTIES) as kafka,
        BrokerProcess(directory / "data", PROPERTIES) as broker,
        ThreadPoolExecutor(SCENARIOS_AT_ONCE) as players,
    ):
        yield Theatre(
            players,
            SMALL_SCENARIOS if "interop" in small_suites else SCENARIOS,
            lambda scenario: play(scenario, broker.port, directory / "ours", commands),
            lambda scenario: play(scenario, kafka.port, directory / "kafka", commands),
        )
        players.shutdown(cancel_futures=True)
        assert broker.stop() == 0
        assert "Traceback" not in broker.log()


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(scenario, marks=[] if scenario in SMALL_SCENARIOS else [pytest.mark.full_size])
        for scenario in SCENARIOS
    ],
    ids=lambda scenario: scenario.name,
)
def test_scenario(scenario: Scenario, theatre: Theatre) -> None:
    while left := unlisted(scenario.name, *theatre.results(scenario), EXPECTED):
        assert len(theatre.plays[scenario.name]) < PLAYS, "\n".join(left)
        theatre.play_again(scenario)


@pytest.mark.full_size
def test_every_listed_difference_is_still_there(theatre: Theatre) -> None:
    differing = [
        (step, one)
        for scenario in SCENARIOS
        for step, ones in found_differences(scenario.name, *theatre.results(scenario)).items()
        for one in ones
    ]
    gone = [entry for entry in EXPECTED if not any(entry.covers(step, one) for step, one in differing)]
    assert not gone, [f"no longer differs, or is no step: {entry.step} at {entry.where!r}" for entry in gone]
