"""Groups of real clients, here and before Apache Kafka 3.9: the same outcomes, and the invariants after each step.

Even seeds go through the scenarios of every client and assignor in turn, odd ones play random ones of up to fifty
members (tests/groups). A case is a step before one broker. The ledger has how much longer than a session it took until
a group was stable again after a death, before either broker, and how many scenarios were played more than once: where
both went otherwise, more plays show whether each may go either way.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from tests.apache_kafka import ApacheKafka
from tests.broker_process import BrokerProcess
from tests.groups.comparison import PLAYS, Results, listed, unlisted
from tests.groups.member_process import programs
from tests.groups.player import PROPERTIES, play
from tests.groups.random_scenario import random_scenario
from tests.groups.scenario import Scenario
from tests.groups.scenarios import ALL

PACKAGES = ("kcore/coordinator", "kcore/purgatory", "kcore/server", "tests/groups")

# Milliseconds beyond the session, by broker.
beyond_session_ms: dict[str, list[float]] = {"ours": [], "kafka": []}
played_again: list[str] = []


def run(seed: int) -> int:
    scenario = ALL[seed // 2 % len(ALL)] if seed % 2 == 0 else random_scenario(seed)
    ours: list[Results] = []
    kafka: list[Results] = []
    while True:
        for results, played in zip((ours, kafka), play_both(scenario), strict=True):
            results.append(played)
        left = unlisted(scenario.name, ours, kafka, listed())
        if not left or len(ours) == PLAYS:
            break
        played_again.append(scenario.name)
    assert not left, "\n".join(left)
    return len(ours) * (len(ours[0]) + len(kafka[0]))


def play_both(scenario: Scenario) -> tuple[Results, Results]:
    with tempfile.TemporaryDirectory(prefix="kcli-groups-") as name:
        directory = Path(name)
        for one in ("classes", "ours", "kafka"):
            (directory / one).mkdir()
        commands = programs(directory / "classes")
        with BrokerProcess(directory / "data", PROPERTIES) as broker:
            ours = play(scenario, broker.port, directory / "ours", commands)
            assert broker.stop() == 0
            assert "Traceback" not in broker.log()
        with ApacheKafka("3.9", directory / "kafka-data", PROPERTIES) as broker:
            kafka = play(scenario, broker.port, directory / "kafka", commands)
    keep("ours", ours)
    keep("kafka", kafka)
    return ours, kafka


def keep(broker: str, results: Results) -> None:
    for result in results.values():
        if result.stable_after_ms is not None:
            beyond_session_ms[broker].append(result.stable_after_ms - result.session_ms)


def figures() -> dict[str, object]:
    found: dict[str, object] = {"played again": sorted(played_again)}
    played_again.clear()
    for broker, measured in beyond_session_ms.items():
        if measured:
            found[f"stable after a death, ms beyond the session, {broker}"] = {
                "deaths": len(measured),
                "median": round(statistics.median(measured)),
                "worst": round(max(measured)),
            }
        measured.clear()
    return found
