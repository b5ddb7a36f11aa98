"""Listeners: parsing, controller listeners, advertised addresses."""

from __future__ import annotations

import pytest

from kcore.config.broker import BrokerConfig
from kcore.config.definition import ConfigException


def opened(**settings: str) -> list[str]:
    properties = {name.replace("_", "."): text for name, text in settings.items()}
    return [str(endpoint) for endpoint in BrokerConfig(properties).listeners.endpoints]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PLAINTEXT://:9092", ["PLAINTEXT://:9092"]),
        ("plaintext://localhost:0", ["PLAINTEXT://localhost:0"]),
        ("PLAINTEXT://[::1]:9092", ["PLAINTEXT://[::1]:9092"]),
        ("PLAINTEXT://0.0.0.0:9092", ["PLAINTEXT://0.0.0.0:9092"]),
    ],
)
def test_a_listener_is_read(text: str, expected: list[str]) -> None:
    assert opened(listeners=text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "PLAINTEXT:9092",
        "PLAINTEXT://localhost",
        "PLAINTEXT://localhost:port",
        "PLAINTEXT://localhost:65536",
        "PLAINTEXT://localhost:-1",
        "://localhost:9092",
        "PLAINTEXT://::1:9092",
        "INTERNAL://localhost:9092",
        "",
        "PLAINTEXT://a:1,PLAINTEXT://b:2",
    ],
)
def test_a_wrong_listener_is_refused(text: str) -> None:
    with pytest.raises(ConfigException, match="listener"):
        opened(listeners=text)


def test_named_listeners_speak_what_the_map_says() -> None:
    names = opened(
        listeners="INTERNAL://:9092,EXTERNAL://:9094",
        **{"listener.security.protocol.map": "INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT"},
    )
    assert names == ["INTERNAL://:9092", "EXTERNAL://:9094"]


def test_a_port_is_shared_by_ipv4_and_ipv6_only() -> None:
    protocol_map = {"listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT"}
    assert len(opened(listeners="A://127.0.0.1:9092,B://[::1]:9092", **protocol_map)) == 2
    assert len(opened(listeners="A://127.0.0.1:0,B://127.0.0.1:0", **protocol_map)) == 2
    with pytest.raises(ConfigException, match="different port"):
        opened(listeners="A://127.0.0.1:9092,B://127.0.0.2:9092", **protocol_map)


def test_listeners_of_the_controller_are_not_opened() -> None:
    assert opened(listeners="PLAINTEXT://:9092,CONTROLLER://:9093", **{"controller.listener.names": "CONTROLLER"}) == [
        "PLAINTEXT://:9092"
    ]
    with pytest.raises(ConfigException, match="Add one for clients"):
        opened(listeners="CONTROLLER://:9093", **{"controller.listener.names": "CONTROLLER"})


def test_protocols_that_do_not_exist_yet_are_refused_by_name() -> None:
    with pytest.raises(ConfigException, match="listener SSL: security protocol SSL is not supported"):
        opened(listeners="SSL://:9093")


def test_advertised_addresses_belong_to_listeners() -> None:
    config = BrokerConfig({"advertised.listeners": "PLAINTEXT://broker.example:19092"})
    assert {name: str(endpoint) for name, endpoint in config.listeners.advertised.items()} == {
        "PLAINTEXT": "PLAINTEXT://broker.example:19092"
    }
    assert BrokerConfig({}).listeners.advertised == {}


@pytest.mark.parametrize("text", ["PLAINTEXT://0.0.0.0:9092", "SSL://host:9092", "PLAINTEXT://a:1,PLAINTEXT://b:1"])
def test_an_address_that_no_client_could_use_is_refused(text: str) -> None:
    with pytest.raises(ConfigException, match=r"advertised\.listeners"):
        BrokerConfig({"advertised.listeners": text})


def test_the_listener_among_brokers() -> None:
    assert BrokerConfig({}).listeners.inter_broker_name == "PLAINTEXT"
    named = {
        "listeners": "A://:1,B://:2",
        "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
        "inter.broker.listener.name": "b",
    }
    assert BrokerConfig(named).listeners.inter_broker_name == "B"
    with pytest.raises(ConfigException, match="is not one of the listeners"):
        BrokerConfig({**named, "inter.broker.listener.name": "C"})
    with pytest.raises(ConfigException, match="Only one of"):
        BrokerConfig({**named, "security.inter.broker.protocol": "PLAINTEXT"})


def test_an_invalid_port_is_named() -> None:
    with pytest.raises(ConfigException, match="port 99999 is not a number from 0 to 65535"):
        BrokerConfig({"listeners": "PLAINTEXT://:99999"})
