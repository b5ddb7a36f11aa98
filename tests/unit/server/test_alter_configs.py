"""AlterConfigs, IncrementalAlterConfigs and the loggers of a broker. What Apache Kafka answers to the same requests
stands in tests/integration/test_config_requests_against_kafka.py."""

from __future__ import annotations

from typing import Any

import pytest

from kcore.logger import LOGGERS, get_logger
from kcore.protocol import apis
from kcore.server.broker import Broker
from tests.raw_client import RawClient

SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC, BROKER, LOGGER = 2, 4, 8
UNKNOWN_TOPIC_OR_PARTITION, INVALID_CONFIG, INVALID_REQUEST = 3, 40, 42


def alter(client: RawClient, version: int, *resources: tuple[int, str, list[tuple[str, int, str | None]]], **more: Any):  # type: ignore[no-untyped-def]
    rows = [
        {
            "resource_type": kind,
            "resource_name": name,
            "configs": [{"name": key, "config_operation": op, "value": value} for key, op, value in configs],
        }
        for kind, name, configs in resources
    ]
    response = client.request(
        apis.INCREMENTAL_ALTER_CONFIGS, version, {"resources": rows, "validate_only": False, **more}
    )
    return [row.error_code for row in response.responses]


def values(client: RawClient, kind: int, name: str, *keys: str) -> dict[str, str | None]:
    fields = {"resources": [{"resource_type": kind, "resource_name": name, "configuration_keys": list(keys)}]}
    (row,) = client.request(apis.DESCRIBE_CONFIGS, 1, {"include_synonyms": True, **fields}).results
    assert row.error_code == 0, row
    return {config.name: config.value for config in row.configs}


@pytest.mark.parametrize("version", [0, 1])
def test_lists_grow_and_shrink_item_by_item(client: RawClient, version: int) -> None:
    topic = f"list-{version}"
    client.create_topic(topic)
    for operation, value, expected in (
        (APPEND, "compact", "delete,compact"),
        (APPEND, "compact,delete", "delete,compact"),
        (SUBTRACT, "delete", "compact"),
        (SET, "delete", "delete"),
        (DELETE, None, "delete"),
    ):
        assert alter(client, version, (TOPIC, topic, [("cleanup.policy", operation, value)])) == [0]
        assert values(client, TOPIC, topic, "cleanup.policy") == {"cleanup.policy": expected}


def test_thousands_of_digits_fail_their_own_resource_only(client: RawClient) -> None:
    """Python refuses to convert them."""
    digits = "9" * 5000
    client.create_topic("digits")
    assert alter(
        client,
        1,
        (TOPIC, "digits", [("retention.ms", SET, digits)]),
        (BROKER, digits, [("log.retention.ms", SET, "1")]),
        (LOGGER, digits, [("kcore", SET, "INFO")]),
    ) == [INVALID_CONFIG, INVALID_REQUEST, INVALID_REQUEST]
    resources = [{"resource_type": kind, "resource_name": digits} for kind in (BROKER, LOGGER)]
    rows = client.request(apis.DESCRIBE_CONFIGS, 4, {"resources": resources}).results
    assert [row.error_code for row in rows] == [INVALID_REQUEST, INVALID_REQUEST]
    topics = [
        {"name": name, "num_partitions": 1, "replication_factor": 1, "configs": [{"name": key, "value": value}]}
        for name, key, value in (
            ("too-many", "retention.ms", digits),
            ("zeros", "segment.bytes", "0" * 5000 + "8192"),
        )
    ]
    created = client.request(apis.CREATE_TOPICS, 5, {"topics": topics, "timeout_ms": 5000}).topics
    assert {topic.name: topic.error_code for topic in created} == {"too-many": INVALID_CONFIG, "zeros": 0}
    assert values(client, TOPIC, "zeros", "segment.bytes") == {"segment.bytes": "8192"}


def test_what_is_only_validated_changes_nothing(broker: Broker, client: RawClient) -> None:
    client.create_topic("validated", segment_bytes="4096")
    change = (TOPIC, "validated", [("segment.bytes", SET, "8192")])
    assert alter(client, 1, change, validate_only=True) == [0]
    assert values(client, TOPIC, "validated", "segment.bytes") == {"segment.bytes": "4096"}
    assert alter(client, 1, (TOPIC, "validated", [("segment.bytes", SET, "8")]), validate_only=True) == [INVALID_CONFIG]
    assert alter(client, 1, (BROKER, "", [("num.io.threads", SET, "4")]), validate_only=True) == [0]
    assert broker.config.number("num.io.threads") == 2


def test_resources_fail_one_by_one(client: RawClient) -> None:
    client.create_topic("one-by-one")
    assert alter(
        client,
        1,
        (TOPIC, "one-by-one", [("retention.ms", SET, "5")]),
        (TOPIC, "one-by-none", [("retention.ms", SET, "5")]),
        (BROKER, "x", [("log.retention.ms", SET, "5")]),
    ) == [0, UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST]
    assert values(client, TOPIC, "one-by-one", "retention.ms") == {"retention.ms": "5"}


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_replacement_leaves_nothing_that_it_does_not_name(client: RawClient, version: int) -> None:
    topic = f"replaced-{version}"
    client.create_topic(topic, segment_bytes="4096")
    row = {"resource_type": TOPIC, "resource_name": topic, "configs": [{"name": "retention.ms", "value": "77"}]}
    response = client.request(apis.ALTER_CONFIGS, version, {"resources": [row], "validate_only": False})
    assert [result.error_code for result in response.responses] == [0]
    assert values(client, TOPIC, topic, "segment.bytes", "retention.ms") == {
        "segment.bytes": "1073741824",
        "retention.ms": "77",
    }


def test_a_brokers_own_value_beats_that_of_all(broker: Broker, client: RawClient) -> None:
    me = str(broker.broker_id)
    assert alter(client, 1, (BROKER, "", [("message.max.bytes", SET, "2000000")])) == [0]
    assert broker.config.number("message.max.bytes") == 2_000_000
    assert alter(client, 1, (BROKER, me, [("message.max.bytes", SET, "3000000")])) == [0]
    assert broker.config.number("message.max.bytes") == 3_000_000
    assert values(client, BROKER, "") == {"message.max.bytes": "2000000"}
    assert alter(client, 1, (BROKER, me, [("message.max.bytes", DELETE, None)])) == [0]
    assert alter(client, 1, (BROKER, "", [("message.max.bytes", DELETE, None)])) == [0]
    assert broker.config.number("message.max.bytes") == 1_048_588


def test_a_loggers_level_decides_what_it_writes(
    broker: Broker, client: RawClient, capfd: pytest.CaptureFixture[str]
) -> None:
    me = str(broker.broker_id)
    log, below = get_logger("test.configs"), get_logger("test.configs.below")
    log.info("seen at first")
    assert alter(client, 1, (LOGGER, me, [("test.configs", SET, "ERROR")])) == [0]
    log.info("not seen")
    below.warn("not seen below")
    assert alter(client, 1, (LOGGER, me, [("test.configs.below", SET, "debug")])) == [0]
    below.debug("seen below")
    assert values(client, LOGGER, me, "test.configs", "test.configs.below", "root") == {
        "test.configs": "ERROR",
        "test.configs.below": "DEBUG",
        "root": "INFO",
    }
    assert alter(client, 1, (LOGGER, me, [("test.configs", DELETE, None)])) == [0]
    log.info("seen again")
    assert alter(client, 1, (LOGGER, me, [("test.configs.below", DELETE, None)])) == [0]
    written = capfd.readouterr().err
    assert "seen at first" in written
    assert "not seen" not in written
    assert "seen below" in written
    assert "seen again" in written


def test_all_levels_of_a_request_are_set_or_none(broker: Broker, client: RawClient) -> None:
    me = str(broker.broker_id)
    get_logger("test.all")
    changes = [("test.all", SET, "ERROR"), ("test.none", SET, "ERROR")]
    assert alter(client, 1, (LOGGER, me, changes)) == [INVALID_CONFIG]
    assert LOGGERS.by_name["test.all"].own_level is None
    assert alter(client, 1, (LOGGER, me, [("root", SET, "WARN")]), validate_only=True) == [0]
    assert values(client, LOGGER, me, "root") == {"root": "INFO"}


def test_an_unknown_operation_is_refused(client: RawClient) -> None:
    client.create_topic("operation")
    assert alter(client, 1, (TOPIC, "operation", [("retention.ms", 7, "5")])) == [INVALID_REQUEST]


def test_documentation_says_what_is_not_used(broker: Broker, client: RawClient) -> None:
    resource = {"resource_type": BROKER, "resource_name": str(broker.broker_id), "configuration_keys": None}
    fields = {"resources": [resource], "include_synonyms": False, "include_documentation": True}
    (row,) = client.request(apis.DESCRIBE_CONFIGS, 4, fields).results
    texts = {config.name: config.documentation for config in row.configs}
    assert texts["ssl.keystore.location"].endswith("Not used here.")
    assert "Not used" not in texts["log.retention.ms"]
    assert all(text for text in texts.values())
