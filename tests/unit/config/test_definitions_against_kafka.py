"""Our definitions against those of Apache Kafka 3.9.2 (tests/vectors/config): every name with its type, default,
importance, mode and valid values, and the broker configurations behind each topic configuration.

What differs is listed here with its reason, so that nothing else can.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kcore
from kcore.config import metadata_versions
from kcore.config.broker import BrokerConfig
from kcore.config.broker_keys import BROKER_KEYS
from kcore.config.definition import TYPE_NAMES, ConfigException, ConfigKey, display
from kcore.config.documentation import broker_documentation, topic_documentation
from kcore.config.topic import TopicConfig
from kcore.config.topic_keys import BROKER_SYNONYMS, TOPIC_KEYS

VECTORS = Path(__file__).parents[2] / "vectors" / "config" / "kafka-3.9.2.json"
KAFKA = json.loads(VECTORS.read_text())

OURS_ALONE = {
    "metadata.store",  # chooses what KRaft and ZooKeeper modes choose in Kafka
    "log.validation.header.only",
    "kcli.batch.inline.decompressed.bytes",
    "kcli.batch.max.decompressed.bytes",
    "kcli.config.unknown.keys",
    "kcli.fast.path.enable",
    "log.flush.group.commit",
    "kcli.fetch.session.cache.max.partitions",
    "kcli.group.pattern.max.instructions",
    "kcli.group.pattern.max.nesting",
    "kcli.group.pattern.max.steps",
    "kcli.group.pattern.min.refresh.interval.ms",
    "kcli.log.max.open.segments",
    "kcli.debug.hooks",
    "kcli.debug.hold.ms",
    "kcli.request.log",
    "kcli.request.log.queue.size",
    "kcli.request.log.slow.ms",
    "kcli.request.max.elements",
    "metrics.connection.timeout.ms",
    "metrics.host",
    "metrics.max.connections",
    "metrics.max.group.partitions",
    "metrics.max.partitions",
    "metrics.max.topics",
    "metrics.port",
}
OTHER_DEFAULTS = {
    "socket.send.buffer.bytes": "-1",  # left to the kernel's autotuning
    "socket.receive.buffer.bytes": "-1",
    # As in Kafka 4, where the consumer protocol is released.
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "group.consumer.migration.policy": "bidirectional",
}


OTHER_VALID_VALUES = {
    # Kafka leaves every size to the operating system, which takes none that are not positive.
    "socket.send.buffer.bytes": "[1,...] or -1",
    "socket.receive.buffer.bytes": "[1,...] or -1",
    # A sentence in Kafka, for want of a form.
    "remote.log.manager.copier.thread.pool.size": "[1,...] or -1, for remote.log.manager.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size": "[1,...] or -1, for remote.log.manager.thread.pool.size",
    # A list of all versions in Kafka, which takes shorter names too.
    "inter.broker.protocol.version": "the name of a release, such as 3.9 or 3.9-IV0",
    "log.message.format.version": "the name of a release, such as 3.9 or 3.9-IV0",
    "message.format.version": "the name of a release, such as 3.9 or 3.9-IV0",
}


def row(key: ConfigKey) -> list[object]:
    valid = key.validator.valid_values if key.validator is not None else None
    return [TYPE_NAMES[key.type], display(key.default), key.importance, key.mode, valid, key.is_internal]


def expected_row(name: str, row_of_kafka: list[object]) -> list[object]:
    kafka_type, default, importance, mode, valid, is_internal = row_of_kafka
    default, valid = OTHER_DEFAULTS.get(name, default), OTHER_VALID_VALUES.get(name, valid)
    return [kafka_type, default, importance, mode, valid, is_internal]


def test_every_name_of_kafka_is_known_and_nothing_else_but_our_own() -> None:
    assert set(BROKER_KEYS) - OURS_ALONE == set(KAFKA["broker"])
    assert set(TOPIC_KEYS) == set(KAFKA["topic"])


@pytest.mark.parametrize("name", sorted(KAFKA["broker"]))
def test_a_broker_configuration_is_kafkas(name: str) -> None:
    assert row(BROKER_KEYS[name]) == expected_row(name, KAFKA["broker"][name])


@pytest.mark.parametrize("name", sorted(KAFKA["topic"]))
def test_a_topic_configuration_is_kafkas(name: str) -> None:
    assert row(TOPIC_KEYS[name]) == expected_row(name, KAFKA["topic"][name])


def test_the_broker_configurations_behind_a_topics_are_kafkas() -> None:
    assert {name: [synonym for synonym, _ in synonyms] for name, synonyms in BROKER_SYNONYMS.items()} == KAFKA[
        "synonyms"
    ]


def test_the_names_of_versions_are_kafkas() -> None:
    listed = KAFKA["broker"]["inter.broker.protocol.version"][4]
    assert f"[{', '.join(metadata_versions.names())}]" == listed
    key = BROKER_KEYS["inter.broker.protocol.version"]
    for name in ("3.9", "3.9.1", "3.9-IV0", "0.10.2", "0.9.0", "0.8.2.1"):
        assert key.parse(name) == name
    for name in ("9.9", "3", "x", "", "3.9-IV9"):
        with pytest.raises(ConfigException, match="is not a valid version"):
            key.parse(name)


def test_defaults_satisfy_their_own_validators() -> None:
    for key in (*BROKER_KEYS.values(), *TOPIC_KEYS.values()):
        if key.default is not None:
            assert key.parse(display(key.default)) == key.default, key.name
        elif key.validator is not None:
            key.validator.ensure_valid(key.name, None)


def test_every_configuration_is_documented() -> None:
    for name in BROKER_KEYS:
        assert broker_documentation(name).endswith("."), name
    for name in TOPIC_KEYS:
        assert topic_documentation(name).endswith("."), name


def test_an_unconfigured_broker_gives_topics_kafkas_defaults() -> None:
    config = TopicConfig(BrokerConfig({}))
    assert {name: display(config[name]) for name in TOPIC_KEYS} == {
        name: default for name, (_, default, *_) in KAFKA["topic"].items()
    }


def test_synonyms_join_configurations_of_one_type_and_unit() -> None:
    for topic_name, synonyms in BROKER_SYNONYMS.items():
        for broker_name, factor in synonyms:
            assert broker_name in BROKER_KEYS
            if factor == 1:
                assert BROKER_KEYS[broker_name].type == TOPIC_KEYS[topic_name].type, broker_name


def test_what_is_called_used_is_read_somewhere_and_its_topic_configuration_too() -> None:
    sources = [
        path.read_text()
        for pattern in ("**/*.py", "**/*.pyx")
        for path in (Path(kcore.__file__).parent).glob(pattern)
        if not path.name.endswith("_keys.py") and not {"documentation", "client"} & set(path.parts)
    ]
    code = "\n".join(sources)
    behind_topics = {synonym: name for name, synonyms in BROKER_SYNONYMS.items() for synonym, _ in synonyms}
    unread = {key.name for key in BROKER_KEYS.values() if key.is_used and f'"{key.name}"' not in code}
    assert unread <= behind_topics.keys()
    for broker_name, topic_name in behind_topics.items():
        assert BROKER_KEYS[broker_name].is_used == TOPIC_KEYS[topic_name].is_used, broker_name
    by_codec = {f"compression.{codec}.level" for codec in ("gzip", "lz4", "zstd")}
    assert {key.name for key in TOPIC_KEYS.values() if key.is_used and f'"{key.name}"' not in code} == by_codec
