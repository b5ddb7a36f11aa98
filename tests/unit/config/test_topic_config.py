"""TopicConfig: overrides over the broker's defaults over Kafka's."""

from __future__ import annotations

import re

import pytest

from kcore.config.broker import BrokerConfig
from kcore.config.definition import LONG_MAX, ConfigException
from kcore.config.topic import TopicConfig

HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("broker", "name", "expected"),
    [
        ({"log.retention.hours": "2"}, "retention.ms", 2 * HOUR_MS),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, "retention.ms", 180_000),
        ({"log.retention.minutes": "3", "log.retention.ms": "500"}, "retention.ms", 500),
        ({"log.retention.hours": "-1"}, "retention.ms", -1),
        ({"log.roll.hours": "1"}, "segment.ms", HOUR_MS),
        ({"log.roll.hours": "1", "log.roll.ms": "7"}, "segment.ms", 7),
        ({"log.roll.jitter.hours": "1"}, "segment.jitter.ms", HOUR_MS),
        ({"log.flush.scheduler.interval.ms": "9"}, "flush.ms", 9),
        ({"log.flush.scheduler.interval.ms": "9", "log.flush.interval.ms": "8"}, "flush.ms", 8),
        ({"message.max.bytes": "999"}, "max.message.bytes", 999),
        ({"log.cleanup.policy": "compact"}, "cleanup.policy", ("compact",)),
        ({"log.segment.bytes": "4096"}, "segment.bytes", 4096),
        ({}, "retention.ms", 168 * HOUR_MS),
    ],
)
def test_the_brokers_configuration_gives_the_default(broker: dict[str, str], name: str, expected: object) -> None:
    assert TopicConfig(BrokerConfig(broker))[name] == expected


def test_an_override_beats_the_broker() -> None:
    config = TopicConfig(BrokerConfig({"log.retention.ms": "500"}), {"retention.ms": "600"})
    assert config["retention.ms"] == 600


def test_the_older_timestamp_bound_counts_where_the_newer_ones_are_not_set() -> None:
    config = TopicConfig(
        BrokerConfig({}),
        {"message.timestamp.difference.max.ms": "100", "message.timestamp.after.max.ms": "5"},
    )
    assert config["message.timestamp.before.max.ms"] == 100
    assert config["message.timestamp.after.max.ms"] == 5


@pytest.mark.parametrize(
    ("broker", "after_ms"),
    [
        ({}, HOUR_MS),
        ({"log.message.timestamp.difference.max.ms": "100"}, 100),
        (
            {"log.message.timestamp.difference.max.ms": "100", "log.message.timestamp.after.max.ms": str(HOUR_MS)},
            HOUR_MS,
        ),
        ({"log.message.timestamp.after.max.ms": str(LONG_MAX)}, LONG_MAX),
    ],
)
def test_how_far_a_timestamp_may_be_ahead(broker: dict[str, str], after_ms: int) -> None:
    assert TopicConfig(BrokerConfig(broker))["message.timestamp.after.max.ms"] == after_ms


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        ({"retention.hours": "1"}, "Unknown topic config name: retention.hours"),
        ({"retention.ms": None}, "Null value not supported for topic configs: retention.ms"),
        ({"retention.ms": "-2"}, "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
        ({"segment.bytes": "x"}, "Invalid value x for configuration segment.bytes: Not a number of type INT"),
        ({"leader.replication.throttled.replicas": "1-2"}, "must be the literal '*'"),
    ],
)
def test_wrong_overrides_are_refused_in_kafkas_words(overrides: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigException, match=re.escape(complaint)):
        TopicConfig(BrokerConfig({}), overrides)


def test_throttled_replicas() -> None:
    for text, expected in (("*", ("*",)), ("0:1,1:2", ("0:1", "1:2")), ("", ())):
        config = TopicConfig(BrokerConfig({}), {"leader.replication.throttled.replicas": text})
        assert config["leader.replication.throttled.replicas"] == expected
