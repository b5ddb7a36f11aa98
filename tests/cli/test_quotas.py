"""`kcli quotas`: who is meant, in all the ways that kafka-configs has, what is printed, and how it ends."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Kcli

RATE = ("--add-config", "producer_byte_rate=1048576")


def test_quotas_are_set_printed_and_removed(kcli: Kcli) -> None:
    ann = ("--entity-type", "users", "--entity-name", "ann")
    pair = (*ann, "--entity-type", "clients", "--entity-default")
    assert kcli("quotas", "alter", *ann, "--add-config", "producer_byte_rate=1024,request_percentage=12.5") == (
        0,
        "Completed updating config for user-principal 'ann'.\n",
        "",
    )
    assert kcli("quotas", "alter", *pair, "--add-config", "consumer_byte_rate=2048").code == 0
    assert kcli("quotas", "describe", *ann).stdout == (
        "Quota configs for user-principal 'ann' are producer_byte_rate=1024.0, request_percentage=12.5\n"
    )
    assert kcli("quotas", "describe", *pair).stdout == (
        "Quota configs for user-principal 'ann', the default client-id are consumer_byte_rate=2048.0\n"
    )
    assert kcli("quotas", "alter", *ann, "--delete-config", "request_percentage", *RATE).code == 0
    assert json.loads(kcli("quotas", "describe", *ann, "-o", "json").stdout) == [
        {"user": "ann", "client_id": None, "ip": None, "quotas": {"producer_byte_rate": 1048576.0}}
    ]
    for entity in (ann, pair):
        kcli("quotas", "alter", *entity, "--delete-config", "producer_byte_rate,consumer_byte_rate")
    assert kcli("quotas", "describe", "--entity-type", "users", "-o", "jsonl").stdout == ""


def test_the_short_options_and_addresses(kcli: Kcli) -> None:
    assert kcli("quotas", "alter", "--client", "app", *RATE).code == 0
    assert kcli("quotas", "alter", "--ip-defaults", "--add-config", "connection_creation_rate=5").code == 0
    rows = [json.loads(line) for line in kcli("quotas", "describe", "-o", "jsonl").stdout.splitlines()]
    assert rows == [
        {"user": None, "client_id": None, "ip": "<default>", "quotas": {"connection_creation_rate": 5.0}},
        {"user": None, "client_id": "app", "ip": None, "quotas": {"producer_byte_rate": 1048576.0}},
    ]
    assert kcli("quotas", "describe", "--entity-type", "ips").stdout == (
        "Quota configs for the default ip are connection_creation_rate=5.0\n"
    )
    assert kcli("quotas", "alter", "--client", "app", "--delete-config", "producer_byte_rate").code == 0
    assert kcli("quotas", "alter", "--ip-defaults", "--delete-config", "connection_creation_rate").code == 0


def test_quotas_by_the_command_lines_of_kafka_configs(kcli: Kcli) -> None:
    """Kafka's documentation sets quotas with the tool that configures topics."""
    pair = ("--entity-type", "users", "--entity-name", "user1", "--entity-type=clients", "--entity-name", "clientA")
    rates = "producer_byte_rate=1024,consumer_byte_rate=2048,request_percentage=200"
    shown = "user-principal 'user1', client-id 'clientA'"
    assert kcli("configs", "--alter", "--add-config", rates, *pair) == (
        0,
        f"Completed updating config for {shown}.\n",
        "",
    )
    assert kcli("configs", "--describe", *pair).stdout == (
        f"Quota configs for {shown} are "
        "consumer_byte_rate=2048.0, producer_byte_rate=1024.0, request_percentage=200.0\n"
    )
    names = "producer_byte_rate,consumer_byte_rate,request_percentage"
    assert kcli("configs", "alter", "--user", "user1", "--client=clientA", "--delete-config", names).code == 0
    assert kcli("configs", "--describe", *pair).stdout == ""


def test_what_the_broker_refuses(kcli: Kcli) -> None:
    result = kcli("quotas", "alter", "--user", "ann", "--add-config", "speed=1")
    assert (result.code, result.stdout) == (1, "")
    assert "Invalid configuration key speed" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("alter", *RATE), "no entity given: pass --user"),
        (("alter", "--entity-type", "users", *RATE), "pass --entity-name or --entity-default"),
        (("alter", "--user", "ann"), "nothing to change"),
        (("alter", "--user", "ann", "--add-config", "producer_byte_rate"), "expected NAME=NUMBER"),
        (
            ("alter", "--user", "ann", *RATE, "--delete-config", "producer_byte_rate"),
            "is in both --add-config and --delete-config",
        ),
        (("describe", "--user", "ann", "--ip", "10.0.0.1"), "cannot be combined"),
        (("describe", "--user", "ann", "--user-defaults"), "users: given twice"),
        (("describe", "--entity-name", "ann"), "more names than types"),
        (("describe", "--entity-type", "topics"), "'topics' is not one of"),
    ],
)
def test_usage(kcli: Kcli, arguments: tuple[str, ...], complaint: str) -> None:
    result = kcli("quotas", *arguments)
    assert (result.code, result.stdout) == (2, "")
    assert complaint in result.stderr
