"""Our definitions against those of Apache Kafka 4.3.1 (tests/vectors/config): every name with its type, default,
importance, mode and valid values, and the broker configurations behind each topic configuration. What Kafka 4 has
removed is compared with Kafka 3.9.2, because a properties file of 3.9 starts unmodified too.

What differs is listed here with its reason, so that nothing else can. docs/configuration.md lists what users notice.
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

VECTORS = Path(__file__).parents[2] / "vectors" / "config"
KAFKA = json.loads((VECTORS / "kafka-4.3.1.json").read_text())
KAFKA_39 = json.loads((VECTORS / "kafka-3.9.2.json").read_text())
# Known here because properties files, topics and clients of 3.9 have them.
REMOVED_IN_4 = {
    table: {name: KAFKA_39[table][name] for name in KAFKA_39[table].keys() - KAFKA[table].keys()} for table in KAFKA
}
EXPECTED = {table: {**KAFKA[table], **REMOVED_IN_4[table]} for table in KAFKA}
# Kafka's own tests set it to have small segments. Here `segment.bytes` may be small.
UNKNOWN_HERE = {"internal.segment.bytes"}

OURS_ALONE = {
    "metadata.store",  # chooses what KRaft and ZooKeeper modes choose in Kafka
    "log.validation.header.only",
    "kcli.batch.inline.decompressed.bytes",
    "kcli.batch.max.decompressed.bytes",
    "kcli.config.unknown.keys",
    "kcli.fast.path.enable",
    "log.flush.group.commit",
    "kcli.fetch.session.cache.max.partitions",
    "kcli.group.pattern.max.match.ms",
    "kcli.group.pattern.max.memory.bytes",
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
    "group.coordinator.rebalance.protocols": "classic,consumer",  # there are no streams groups
    # Required in Kafka 4, which only has KRaft; a broker here starts without any configuration.
    "node.id": "-1",
    "process.roles": "",
}
# Lists that Kafka reads as such since 4; here one text each, because they have a grammar of their own (`listeners.py`,
# `log_dirs.py`).
TEXTS = {
    "listeners",
    "advertised.listeners",
    "controller.listener.names",
    "early.start.listeners",
    "log.dir",
    "log.dirs",
}
# Read-only since 4.
OTHER_MODES = {"advertised.listeners": "per-broker"}

OTHER_VALID_VALUES = {
    # Kafka leaves every size to the operating system, which takes none that are not positive.
    "socket.send.buffer.bytes": "[1,...] or -1",
    "socket.receive.buffer.bytes": "[1,...] or -1",
    # At least 1 MiB since 4: topics of 3.9 have smaller segments, and so do tests that want many of them.
    "log.segment.bytes": "[14,...]",
    "segment.bytes": "[14,...]",
    # -1 stands for no id, which is then chosen.
    "node.id": None,
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
    kafka_type, mode = "STRING" if name in TEXTS else kafka_type, OTHER_MODES.get(name, mode)
    # An empty text: Kafka 4 only refuses an item that a list has twice.
    default, valid = OTHER_DEFAULTS.get(name, default), OTHER_VALID_VALUES.get(name, valid or None)
    return [kafka_type, default, importance, mode, valid, is_internal]


def test_every_name_of_kafka_is_known_and_nothing_else_but_our_own() -> None:
    assert set(BROKER_KEYS) - OURS_ALONE == set(EXPECTED["broker"])
    assert set(TOPIC_KEYS) | UNKNOWN_HERE == set(EXPECTED["topic"])


@pytest.mark.parametrize("name", sorted(EXPECTED["broker"]))
def test_a_broker_configuration_is_kafkas(name: str) -> None:
    assert row(BROKER_KEYS[name]) == expected_row(name, EXPECTED["broker"][name])


@pytest.mark.parametrize("name", sorted(KAFKA["topic"].keys() - UNKNOWN_HERE))
def test_a_topic_configuration_is_kafkas(name: str) -> None:
    assert row(TOPIC_KEYS[name]) == expected_row(name, KAFKA["topic"][name])


@pytest.mark.parametrize("name", sorted(REMOVED_IN_4["topic"]))
def test_a_topic_configuration_that_kafka_4_has_removed_is_internal(name: str) -> None:
    *expected, _ = expected_row(name, REMOVED_IN_4["topic"][name])
    assert row(TOPIC_KEYS[name]) == [*expected, True]


def test_every_listed_difference_is_one() -> None:
    """Where Kafka and we agree again, its entry goes."""
    rows = {**EXPECTED["broker"], **EXPECTED["topic"]}
    assert [name for name, default in OTHER_DEFAULTS.items() if rows[name][1] == default] == []
    assert [name for name in TEXTS if rows[name][0] == "STRING"] == []
    assert [name for name, mode in OTHER_MODES.items() if rows[name][3] == mode] == []
    assert [name for name, valid in OTHER_VALID_VALUES.items() if rows[name][4] == valid] == []


def test_the_broker_configurations_behind_a_topics_are_kafkas() -> None:
    ours = {name: [synonym for synonym, _ in synonyms] for name, synonyms in BROKER_SYNONYMS.items()}
    assert ours == EXPECTED["synonyms"]


def test_the_names_of_versions_are_kafkas() -> None:
    listed = KAFKA_39["broker"]["inter.broker.protocol.version"][4]
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
        name: default for name, (_, default, *_) in EXPECTED["topic"].items() if name not in UNKNOWN_HERE
    }


def test_synonyms_join_configurations_of_one_type_and_unit() -> None:
    for topic_name, synonyms in BROKER_SYNONYMS.items():
        for broker_name, factor in synonyms:
            assert broker_name in BROKER_KEYS
            if factor == 1:
                assert BROKER_KEYS[broker_name].type == TOPIC_KEYS[topic_name].type, broker_name


def test_what_is_called_used_is_read_somewhere_and_its_topic_configuration_too() -> None:
    package = Path(kcore.__file__).parent
    sources = [
        path.read_text()
        for pattern in ("**/*.py", "**/*.pyx")
        for path in package.glob(pattern)
        if not path.name.endswith("_keys.py") and not {"documentation", "client"} & set(path.relative_to(package).parts)
    ]
    code = "\n".join(sources)
    behind_topics = {synonym: name for name, synonyms in BROKER_SYNONYMS.items() for synonym, _ in synonyms}
    unread = {key.name for key in BROKER_KEYS.values() if key.is_used and f'"{key.name}"' not in code}
    assert unread <= behind_topics.keys()
    for broker_name, topic_name in behind_topics.items():
        assert BROKER_KEYS[broker_name].is_used == TOPIC_KEYS[topic_name].is_used, broker_name
    by_codec = {f"compression.{codec}.level" for codec in ("gzip", "lz4", "zstd")}
    assert {key.name for key in TOPIC_KEYS.values() if key.is_used and f'"{key.name}"' not in code} == by_codec
