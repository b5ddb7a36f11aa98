"""AlterClientQuotas and DescribeClientQuotas: what Apache Kafka 3.9 answers, entity by entity and word by word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kcore import errors
from kcore.protocol import apis
from kcore.server.broker import Broker
from tests.raw_client import RawClient

Parts = list[tuple[str, str | None]]
Operations = list[tuple[str, float | None]]
INVALID = errors.InvalidRequestError.code
ANN: Parts = [("user", "ann")]
ADDRESS: Parts = [("ip", "10.1.2.3")]


def entry(parts: Parts, operations: Operations) -> dict[str, Any]:
    return {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in parts],
        "ops": [
            {"key": key, "value": 0.0 if value is None else value, "remove": value is None} for key, value in operations
        ],
    }


def alter(client: RawClient, *entries: dict[str, Any], version: int = 1, validate_only: bool = False) -> Any:
    fields = {"entries": list(entries), "validate_only": validate_only}
    answer = client.request(apis.ALTER_CLIENT_QUOTAS, version, fields)
    return [(result.error_code, result.error_message) for result in answer.entries]


def describe(client: RawClient, *components: tuple[str, int, str | None], strict: bool = False) -> Any:
    fields = {
        "components": [{"entity_type": kind, "match_type": how, "match": match} for kind, how, match in components],
        "strict": strict,
    }
    return client.request(apis.DESCRIBE_CLIENT_QUOTAS, 1, fields)


def described(client: RawClient, *components: tuple[str, int, str | None], strict: bool = False) -> Any:
    answer = describe(client, *components, strict=strict)
    assert answer.error_code == errors.NONE
    return {
        tuple((part.entity_type, part.entity_name) for part in entry.entity): {
            value.key: value.value for value in entry.values
        }
        for entry in answer.entries
    }


@pytest.fixture(autouse=True)
def no_quotas_left(broker: Broker) -> Iterator[None]:
    yield
    store = broker.controller._store
    for entity in list(store.image.client_quotas):
        store.set_client_quotas(broker.controller.epoch, entity, {})


@pytest.mark.parametrize(
    ("parts", "operations", "message"),
    [
        (ANN, [("producer_byte_rate", 0.0)], "Quota producer_byte_rate must be greater than 0"),
        (ANN, [("producer_byte_rate", -1.0)], "Quota producer_byte_rate must be greater than 0"),
        (ANN, [("producer_byte_rate", 1.5)], "producer_byte_rate cannot be a fractional value."),
        (ANN, [("producer_byte_rate", 1e19)], "Proposed value for producer_byte_rate is too large for a LONG."),
        (ANN, [("connection_creation_rate", 2.0)], "Invalid configuration key connection_creation_rate"),
        (ANN, [("speed", 2.0)], "Invalid configuration key speed"),
        (ADDRESS, [("connection_creation_rate", 1.5)], "connection_creation_rate cannot be a fractional value."),
        (
            ADDRESS,
            [("connection_creation_rate", 3e9)],
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
        (ADDRESS, [("producer_byte_rate", 12.0)], "Invalid configuration key producer_byte_rate"),
        (
            [("ip", "no such host")],
            [("connection_creation_rate", 2.0)],
            "no such host is not a valid IP or resolvable host.",
        ),
        (
            [*ADDRESS, *ANN],
            [("connection_creation_rate", 2.0)],
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        ([], [("producer_byte_rate", 1.0)], "Invalid empty client quota entity"),
        ([("user", "")], [("producer_byte_rate", 1.0)], "Empty user not supported"),
        ([("team", "a")], [("producer_byte_rate", 1.0)], "Unhandled client quota entity type: team"),
        (
            ANN,
            [("producer_byte_rate", 1.0), ("producer_byte_rate", 2.0)],
            "Ignoring duplicate entity ClientQuotaEntity(entries={user=ann})",
        ),
    ],
)
def test_refused_alterations(client: RawClient, parts: Parts, operations: Operations, message: str) -> None:
    assert alter(client, entry(parts, operations)) == [(INVALID, message)]
    assert described(client) == {}


def test_nothing_of_an_entity_is_set_when_one_key_is_wrong(client: RawClient) -> None:
    both = entry(ANN, [("producer_byte_rate", 7.0), ("speed", 2.0)])
    other = entry([("client-id", "app")], [("consumer_byte_rate", 9.0)])
    assert alter(client, both, other) == [(INVALID, "Invalid configuration key speed"), (errors.NONE, None)]
    assert described(client) == {(("client-id", "app"),): {"consumer_byte_rate": 9.0}}


@pytest.mark.parametrize("version", [0, 1])
def test_quotas_are_set_changed_and_removed(client: RawClient, version: int) -> None:
    pair: Parts = [("client-id", None), ("user", "ann")]
    alter(client, entry(pair, [("request_percentage", 12.5), ("producer_byte_rate", 100.0)]), version=version)
    assert described(client) == {tuple(pair): {"request_percentage": 12.5, "producer_byte_rate": 100.0}}
    alter(client, entry(pair, [("producer_byte_rate", 50.0), ("request_percentage", None)]), version=version)
    assert described(client) == {tuple(pair): {"producer_byte_rate": 50.0}}
    # What is not there, or is no quota at all, can be removed all the same.
    assert alter(client, entry(pair, [("producer_byte_rate", None), ("speed", None)])) == [(errors.NONE, None)]
    assert described(client) == {}


def test_validating_changes_nothing(client: RawClient) -> None:
    assert alter(client, entry(ANN, [("producer_byte_rate", 1.0)]), validate_only=True) == [(errors.NONE, None)]
    assert described(client) == {}


def test_an_entity_that_stands_twice_is_answered_once(client: RawClient) -> None:
    first, second = entry(ANN, [("producer_byte_rate", 1.0)]), entry(ANN, [("producer_byte_rate", 2.0)])
    assert alter(client, first, second) == [
        (INVALID, "Ignoring duplicate entity ClientQuotaEntity(entries={user=ann})")
    ]
    assert described(client) == {(("user", "ann"),): {"producer_byte_rate": 1.0}}


def test_filters(client: RawClient) -> None:
    entities: list[Parts] = [
        [("user", "ann")],
        [("user", None)],
        [("client-id", None), ("user", "ann")],
        [("client-id", "app")],
    ]
    alter(client, *(entry(parts, [("producer_byte_rate", 1.0)]) for parts in entities))
    alter(client, entry([("ip", None)], [("connection_creation_rate", 5.0)]))
    user, default_user, pair, app = (tuple(parts) for parts in entities)
    assert set(described(client)) == {user, default_user, pair, app, (("ip", None),)}
    assert set(described(client, strict=True)) == set()
    assert set(described(client, ("user", 0, "ann"))) == {user, pair}
    assert set(described(client, ("user", 0, "ann"), strict=True)) == {user}
    assert set(described(client, ("user", 1, None))) == {default_user}
    assert set(described(client, ("user", 2, None))) == {user, default_user, pair}
    assert set(described(client, ("user", 2, None), ("client-id", 1, None), strict=True)) == {pair}
    assert set(described(client, ("ip", 2, None))) == {(("ip", None),)}


@pytest.mark.parametrize(
    ("components", "code", "message"),
    [
        ([("user", 0, None)], INVALID, "Request specified MATCH_TYPE_EXACT, but set match string to null."),
        ([("user", 1, "x")], INVALID, "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."),
        ([("user", 2, "x")], INVALID, "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."),
        ([("user", 7, None)], INVALID, "Unknown match type 7"),
        ([("", 0, "x")], INVALID, "Invalid empty entity type."),
        ([("team", 0, "x")], errors.UnsupportedVersionError.code, "Unsupported entity type team"),
        (
            [("user", 0, "a"), ("user", 0, "b")],
            INVALID,
            "Entity type user cannot appear more than once in the filter.",
        ),
        (
            [("user", 0, "a"), ("ip", 0, "b")],
            INVALID,
            "Invalid entity filter component combination. IP filter component should not be used with user or "
            "clientId filter component.",
        ),
    ],
)
def test_refused_filters(client: RawClient, components: Any, code: int, message: str) -> None:
    answer = describe(client, *components)
    assert (answer.error_code, answer.error_message, answer.entries) == (code, message, None)
