"""Bounds on connections as they are configured: in properties, at run time, for a listener, as quotas of addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kcore import errors
from kcore.config.broker import BrokerConfig
from kcore.config.definition import ConfigException
from kcore.config.dynamic_validation import validate_broker_overrides
from kcore.metadata.image import BROKER_RESOURCE
from kcore.protocol import apis
from kcore.server.broker import Broker
from tests.raw_client import RawClient

SET, DELETE = 0, 1

Start = Callable[..., Broker]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Broker] = []

    def start_one(**properties: str) -> Broker:
        settings = {
            "listeners": "INTERNAL://127.0.0.1:0,EXTERNAL://127.0.0.1:0",
            "listener.security.protocol.map": "INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT",
            "inter.broker.listener.name": "INTERNAL",
            "log.dirs": str(tmp_path / "data"),
            "num.io.threads": "2",
            **{name.replace("_", "."): value for name, value in properties.items()},
        }
        started.append(Broker(BrokerConfig(settings)))
        started[-1].startup()
        return started[-1]

    yield start_one
    for broker in started:
        broker.shutdown()


class Connections:
    """Connections to the listeners of a broker, by name."""

    def __init__(self, broker: Broker) -> None:
        self.ports = {listener.name: listener.port for listener in broker.bound_listeners}
        self.opened: list[RawClient] = []

    def __enter__(self) -> Connections:
        return self

    def __exit__(self, *unused: object) -> None:
        for connection in self.opened:
            connection.socket.close()

    def open(self, listener: str) -> RawClient:
        self.opened.append(RawClient(self.ports[listener]))
        return self.opened[-1]


def is_served(client: RawClient) -> bool:
    return client.request(apis.API_VERSIONS, 0, {}).error_code == errors.NONE


def is_kept_waiting(client: RawClient) -> bool:
    """Asks once; the answer is still to be read when it comes."""
    client.send(apis.API_VERSIONS, 0, {})
    client.socket.settimeout(0.05)
    try:
        client.receive_frame()
    except TimeoutError:
        client.socket.settimeout(60)
        return True
    return False


def configure(client: RawClient, broker_id: str, **values: str | None) -> None:
    rows = [
        {
            "name": name.replace("_", "."),
            "config_operation": DELETE if value is None else SET,
            "value": value,
        }
        for name, value in values.items()
    ]
    resource = {"resource_type": BROKER_RESOURCE, "resource_name": broker_id, "configs": rows}
    answer = client.request(apis.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource]})
    assert answer.responses[0].error_code == errors.NONE, answer


def test_the_bound_of_a_listener_in_properties_and_at_run_time(start: Start) -> None:
    broker = start(listener_name_external_max_connections="1")
    with Connections(broker) as connections:
        admin = connections.open("INTERNAL")
        assert is_served(connections.open("EXTERNAL"))
        second = connections.open("EXTERNAL")
        assert is_kept_waiting(second)
        configure(admin, "1", listener_name_external_max_connections="2")
        assert second.receive(apis.API_VERSIONS, 0).error_code == errors.NONE
        assert is_kept_waiting(connections.open("EXTERNAL"))
        assert is_served(connections.open("INTERNAL"))


def test_the_bound_of_the_broker_does_not_hold_up_brokers(start: Start) -> None:
    broker = start()
    with Connections(broker) as connections:
        admin = connections.open("INTERNAL")
        client = connections.open("EXTERNAL")
        assert is_served(client)
        configure(admin, "", max_connections="2")
        assert is_kept_waiting(connections.open("EXTERNAL"))
        assert is_served(connections.open("INTERNAL"))
        assert client.is_closed_by_broker()
        configure(admin, "", max_connections=None)
        assert is_served(connections.open("EXTERNAL"))


def test_the_bounds_of_addresses(start: Start) -> None:
    broker = start(max_connections_per_ip="1", max_connections_per_ip_overrides="127.0.0.1:2")
    with Connections(broker) as connections:
        admin = connections.open("INTERNAL")
        assert is_served(admin)
        assert is_served(connections.open("EXTERNAL"))
        assert connections.open("EXTERNAL").is_closed_by_broker()
        configure(admin, "", max_connections_per_ip_overrides="127.0.0.1:3,localhost:3")
        assert is_served(connections.open("EXTERNAL"))
        assert connections.open("EXTERNAL").is_closed_by_broker()


def alter_address(client: RawClient, name: str | None, rate: float | None) -> None:
    operation = {"key": "connection_creation_rate", "value": rate or 0.0, "remove": rate is None}
    entry = {"entity": [{"entity_type": "ip", "entity_name": name}], "ops": [operation]}
    answer = client.request(apis.ALTER_CLIENT_QUOTAS, 1, {"entries": [entry], "validate_only": False})
    assert answer.entries[0].error_code == errors.NONE, answer


@pytest.mark.parametrize("name", ["127.0.0.1", None], ids=["an address", "by default"])
def test_the_rate_of_an_address(start: Start, name: str | None) -> None:
    broker = start(quota_window_num="2")
    with Connections(broker) as connections:
        admin = connections.open("INTERNAL")
        alter_address(admin, name, 1.0)
        assert is_served(connections.open("EXTERNAL"))
        hasty = connections.open("EXTERNAL")
        assert is_kept_waiting(hasty)
        assert hasty.is_closed_by_broker()
        alter_address(admin, name, None)
        assert all(is_served(connections.open("EXTERNAL")) for _ in range(5))


def test_the_rate_of_a_listener(start: Start) -> None:
    broker = start(quota_window_num="2", listener_name_external_max_connection_creation_rate="1")
    with Connections(broker) as connections:
        assert is_served(connections.open("EXTERNAL"))
        late = connections.open("EXTERNAL")
        assert is_kept_waiting(late)
        assert is_served(connections.open("INTERNAL"))
        assert late.receive(apis.API_VERSIONS, 0).error_code == errors.NONE


def test_a_bound_that_makes_no_sense_is_named() -> None:
    name = "listener.name.plaintext.max.connections"
    assert not [warning for warning in BrokerConfig({name: "5"}).warnings if name in warning]
    with pytest.raises(ConfigException, match=r"max\.connections"):
        BrokerConfig({name: "many"})


@pytest.mark.parametrize("bound", ["max.connections", "max.connection.creation.rate"])
def test_a_listener_cannot_be_closed_for_everybody(bound: str) -> None:
    name = f"listener.name.plaintext.{bound}"
    with pytest.raises(ConfigException, match=f"Invalid {bound} 0"):
        validate_broker_overrides(BrokerConfig({}), {name: "0"}, per_broker=True)
    validate_broker_overrides(BrokerConfig({}), {name: "1"}, per_broker=True)
