"""A broker in this process, on a free port, and a raw connection to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kcore.config.broker import BrokerConfig
from kcore.server.broker import Broker
from tests.broker_process import KEEPING
from tests.raw_client import RawClient


@pytest.fixture(scope="module", params=["native", "handlers"])
def fast_path(request: pytest.FixtureRequest) -> bool:
    """Every test of a broker runs with the fast path on and forced off."""
    return bool(request.param == "native")


@pytest.fixture(scope="module")
def broker(fast_path: bool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A started broker with default settings, which keeps records of any age."""
    directory: Path = tmp_path_factory.mktemp("broker")
    broker = Broker(
        BrokerConfig(
            {
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "log.dirs": str(directory),
                "num.network.threads": "2",
                "num.io.threads": "2",
                "kcli.fast.path.enable": str(fast_path).lower(),
                **KEEPING,
            }
        )
    )
    broker.startup()
    yield broker
    broker.shutdown()


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    """A fresh connection."""
    with RawClient(broker.bound_listeners[0].port) as connection:
        yield connection
