"""Our definitions against those of Apache Kafka 3.9.2 (tests/vectors/config): names, types, defaults, importance.

What differs is listed here with its reason, so that nothing else can.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kcore.config.broker import BROKER_KEYS, BrokerConfig
from kcore.config.definition import TYPE_NAMES, display
from kcore.config.topic import TopicConfig
from kcore.config.topic_keys import BROKER_SYNONYMS, TOPIC_KEYS

VECTORS = Path(__file__).parents[2] / "vectors" / "config" / "kafka-3.9.2.json"
KAFKA = json.loads(VECTORS.read_text())

OURS_ALONE = {
    "metadata.store",  # chooses what KRaft and ZooKeeper modes choose in Kafka
    "log.validation.header.only",
    "kcli.fast.path.enable",
    "kcli.log.max.open.segments",
    "kcli.debug.hooks",
    "kcli.debug.hold.ms",
}
OTHER_DEFAULTS = {
    "socket.send.buffer.bytes": "-1",  # left to the kernel's autotuning
    "socket.receive.buffer.bytes": "-1",
}


@pytest.mark.parametrize("name", sorted(set(BROKER_KEYS) - OURS_ALONE))
def test_a_broker_configuration_is_kafkas(name: str) -> None:
    key = BROKER_KEYS[name]
    kafka_type, kafka_default, importance = KAFKA["broker"][name]
    assert TYPE_NAMES[key.type] == kafka_type
    assert display(key.default) == OTHER_DEFAULTS.get(name, kafka_default)
    assert key.importance == importance


def test_every_topic_configuration_of_kafka_is_there_with_its_default() -> None:
    ours = {name: [TYPE_NAMES[key.type], display(key.default), key.importance] for name, key in TOPIC_KEYS.items()}
    assert ours == KAFKA["topic"]


def test_defaults_satisfy_their_own_validators() -> None:
    for key in (*BROKER_KEYS.values(), *TOPIC_KEYS.values()):
        assert key.validate is None or key.validate(key.default) is None, key.name
        assert key.default is None or key.parse(display(key.default)) == key.default, key.name


def test_every_configuration_is_documented() -> None:
    for key in (*BROKER_KEYS.values(), *TOPIC_KEYS.values()):
        assert key.documentation.rstrip().endswith("."), key.name


def test_an_unconfigured_broker_gives_topics_kafkas_defaults() -> None:
    config = TopicConfig(BrokerConfig({}))
    assert {name: display(config[name]) for name in TOPIC_KEYS} == {
        name: default for name, (_, default, _) in KAFKA["topic"].items()
    }


def test_synonyms_join_configurations_of_one_type_and_unit() -> None:
    for topic_name, synonyms in BROKER_SYNONYMS.items():
        for broker_name, factor in synonyms:
            assert broker_name in BROKER_KEYS
            if factor == 1:
                assert BROKER_KEYS[broker_name].type == TOPIC_KEYS[topic_name].type, broker_name
