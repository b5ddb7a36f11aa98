"""Which scenario runs before which broker.

The whole suite runs before the brokers that `KCLI_SCENARIOS` names (one of tests/scenarios/cluster.py, or several with
commas between); the campaign `client_scenarios` does so. Without it there is a selection of a minute: before our broker
what is not marked `campaign`, before Apache Kafka, by the brokers that all tests share, what is marked `everywhere`.
`KCLI_SCENARIO_RESULTS` names a file to which each case's outcome is appended as a line of JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping

import pytest
from _pytest.compat import NOTSET
from _pytest.mark.structures import ParameterSet

from tests.apache_kafka import ApacheKafka
from tests.conftest import APACHE_KAFKA, require
from tests.scenarios.cluster import (
    CONSUMER_PROTOCOL,
    DEFAULT_SESSION_MS,
    KAFKA_39,
    NAMES,
    OURS,
    SERVES,
    Cluster,
    running,
)
from tests.scenarios.scene import Scene
from tests.scenarios.three_brokers import ThreeBrokers

RESULTS = os.environ.get("KCLI_SCENARIO_RESULTS", "")
WHOLE = [name for name in os.environ.get("KCLI_SCENARIOS", "").split(",") if name]
TRIOS = {"three-apache-kafka-3.9": "3.9", "three-apache-kafka-4": "4"}
CI_TRIOS = ("three-apache-kafka-4",)
# The group protocol with who assigns: a strategy of the members, or an assignor of the broker.
CLASSIC = ("classic-range", "classic-roundrobin", "classic-sticky", "classic-cooperative-sticky")
CONSUMER = ("consumer-uniform", "consumer-range")


# Of what differs by flavour, every run has an incremental one of either protocol, where they differ in it.
CI_FLAVOURS = frozenset({"classic-cooperative-sticky", "consumer-uniform"})


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "serves(*capabilities): what of cluster.SERVES the scenario's broker must have")
    config.addinivalue_line("markers", "campaign: too long for the selection of every run")
    config.addinivalue_line("markers", "everywhere: among what every run has Apache Kafka do")
    config.addinivalue_line("markers", "flavours(*names): the group protocols that differ in this scenario")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "trio" in metafunc.fixturenames:
        metafunc.parametrize("trio", [n for n in WHOLE or CI_TRIOS if n in TRIOS], indirect=True, scope="session")
        return
    if "cluster" not in metafunc.fixturenames:
        return
    needs = {need for marker in metafunc.definition.iter_markers("serves") for need in marker.args}
    names = [name for name in WHOLE or NAMES if name in SERVES and needs <= SERVES[name]]
    if "flavour" not in metafunc.fixturenames:
        metafunc.parametrize("cluster", [sized(name) for name in names], indirect=True, scope="session")
        return
    marker = metafunc.definition.get_closest_marker("flavours")
    wanted = marker.args if marker is not None else (*CLASSIC, *CONSUMER)
    pairs = [
        sized(name, flavour)
        for name in names
        for flavour in wanted
        if flavour in CLASSIC or CONSUMER_PROTOCOL in SERVES[name]
    ]
    metafunc.parametrize(("cluster", "flavour"), pairs, indirect=["cluster"], scope="session")


def sized(name: str, *flavour: str) -> ParameterSet:
    """The small size of the suite asks one version of Apache Kafka."""
    return pytest.param(name, *flavour, marks=[pytest.mark.full_size] if name == KAFKA_39 else [])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What no broker here serves, and what is not of the selection, does not exist; a test named by its id does."""
    items[:] = [item for item in items if serves_somewhere(item)]
    if WHOLE or any("::" in argument for argument in config.args):
        return
    items[:] = [item for item in items if is_selected(item)]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A case that passes is told of once, as one that fails, in whatever part of it."""
    if not RESULTS or (report.when != "call" and report.passed):
        return
    line = {"case": report.nodeid, "outcome": report.outcome, "seconds": round(report.duration, 2)}
    if report.failed:
        line["error"] = str(report.longrepr)[-4_000:]
    with open(RESULTS, "a", encoding="utf-8") as results:
        results.write(json.dumps(line) + "\n")


def serves_somewhere(item: pytest.Item) -> bool:
    """pytest makes one test, to be skipped, of an empty list of parameters."""
    call = getattr(item, "callspec", None)
    params = {} if call is None else call.params
    if "scenarios" in item.path.parts and WHOLE and TRIOS.keys() >= set(WHOLE) and "trio" not in params:
        # What asks no broker was played before the single ones.
        return False
    return not any(params.get(name, "") is NOTSET for name in ("cluster", "trio"))


def is_selected(item: pytest.Item) -> bool:
    call = getattr(item, "callspec", None)
    if call is not None and "trio" in call.params:
        return item.get_closest_marker("campaign") is None
    if call is None or "cluster" not in call.params or "scenarios" not in item.path.parts:
        return True
    if call.params["cluster"] == OURS:
        return item.get_closest_marker("campaign") is None and is_usual_flavour(item, call.params)
    return item.get_closest_marker("everywhere") is not None


def is_usual_flavour(item: pytest.Item, params: Mapping[str, object]) -> bool:
    marker = item.get_closest_marker("flavours")
    only_others = marker is not None and CI_FLAVOURS.isdisjoint(marker.args)
    return "flavour" not in params or only_others or params["flavour"] in CI_FLAVOURS


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    name: str = request.param
    if name != OURS:
        require(APACHE_KAFKA)
    if WHOLE or name == OURS:
        with running(name, tmp_path_factory.mktemp(name)) as found:
            yield found
        return
    kafka: ApacheKafka = request.getfixturevalue("apache_kafka_39" if name == KAFKA_39 else "apache_kafka_4")
    yield Cluster(name, kafka, DEFAULT_SESSION_MS)


@pytest.fixture(scope="session")
def trio(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeBrokers]:
    require(APACHE_KAFKA)
    name: str = request.param
    with ThreeBrokers(name, TRIOS[name], tmp_path_factory.mktemp(name)) as found:
        yield found


@pytest.fixture
def scene(cluster: Cluster) -> Iterator[Scene]:
    with Scene(cluster) as found:
        yield found
