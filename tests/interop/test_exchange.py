"""Clients that no one here wrote, unmodified, all at once against one broker, each reading what the others wrote.

Every record comes back exactly once, in order and whole: by offset, by timestamp, and as a group whose successors go
on at the commit. Then the same after a clean restart and after kill -9.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.broker_process import BrokerProcess
from tests.interop.exchange import CI_RECORDS, SMALL_RECORDS, Exchange, records_wanted
from tests.interop.java_tools import SMALL_VERSIONS, VERSIONS, VERSIONS_BY_SIZE
from tests.interop.scenarios import CLIENTS

pytestmark = pytest.mark.needs("java", "mvn")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("exchange") / "data") as broker:
        yield broker
        assert broker.stop() == 0
        assert "Traceback" not in broker.log()


@pytest.fixture(scope="module")
def exchange(broker: BrokerProcess, pool: ProcessPoolExecutor, small_suites: frozenset[str]) -> Exchange:
    """With everything written."""
    is_small = "interop" in small_suites
    records = records_wanted(SMALL_RECORDS if is_small else CI_RECORDS)
    exchange = Exchange(broker.bootstrap_server, pool, records, SMALL_VERSIONS if is_small else VERSIONS)
    exchange.create_topics()
    exchange.write_all()
    return exchange


@pytest.mark.parametrize("client", CLIENTS)
def test_by_offset(exchange: Exchange, client: str) -> None:
    assert exchange.read_by_offset(client) > 0


@pytest.mark.full_size
@pytest.mark.parametrize("client", CLIENTS)
def test_by_timestamp(exchange: Exchange, client: str) -> None:
    assert exchange.read_by_timestamp(client) > 0


@pytest.mark.full_size
@pytest.mark.parametrize("client", CLIENTS)
def test_as_a_group(exchange: Exchange, client: str) -> None:
    assert exchange.read_as_group(client) > 0


def test_as_one_group_of_different_clients(exchange: Exchange) -> None:
    assert exchange.read_as_mixed_group() > 0


@pytest.mark.parametrize("version", VERSIONS_BY_SIZE)
def test_kafkas_own_tools(exchange: Exchange, version: str) -> None:
    assert exchange.read_with_java(version) > 0


@pytest.mark.parametrize("kill", [False, True], ids=["clean", "kill -9"])
def test_the_same_records_are_there_after_a_restart(broker: BrokerProcess, exchange: Exchange, kill: bool) -> None:
    broker.restart(kill=kill)
    assert exchange.read_by_offset("confluent-kafka") > 0
    assert exchange.read_by_timestamp("confluent-kafka") > 0
