"""BrokerConfig: types, profiles, refusals and warnings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kcore.config.broker import BrokerConfig
from kcore.config.broker_keys import BROKER_KEYS
from kcore.config.definition import ConfigException
from kcore.config.properties import parse_properties
from tests.unit.config import stock_files


def test_values_are_typed() -> None:
    config = BrokerConfig(
        {
            "log.segment.bytes": " 2048 ",
            "auto.create.topics.enable": "FALSE",
            "log.cleaner.min.cleanable.ratio": "0.25",
            "log.cleanup.policy": "compact, delete",
            "broker.rack": "r1",
        }
    )
    assert config["log.segment.bytes"] == 2048
    assert config["auto.create.topics.enable"] is False
    assert config["log.cleaner.min.cleanable.ratio"] == 0.25
    assert config["log.cleanup.policy"] == ("compact", "delete")
    assert config["broker.rack"] == "r1"
    assert config["num.partitions"] == 1


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("log.segment.bytes", "lots", "Not a number of type INT"),
        ("log.segment.bytes", "2147483648", "Not a number of type INT"),
        ("log.segment.bytes", "1_000", "Not a number of type INT"),
        ("log.segment.bytes", "13", "Value must be at least 14"),
        ("log.retention.bytes", "9223372036854775808", "Not a number of type LONG"),
        ("offsets.topic.replication.factor", "40000", "Not a number of type SHORT"),
        ("auto.create.topics.enable", "yes", "Expected value to be either true or false"),
        ("log.cleaner.min.cleanable.ratio", "1.5", "Value must be no more than 1"),
        ("log.cleaner.min.cleanable.ratio", "half", "Not a number of type DOUBLE"),
        ("log.cleanup.policy", "shred", "String must be one of: compact, delete"),
        ("log.message.timestamp.type", "Sometime", "String must be one of: CreateTime, LogAppendTime"),
        ("compression.gzip.level", "0", "between 1 and 9 or equal to -1"),
        ("metadata.store", "etcd", "String must be one of: embedded, zookeeper"),
    ],
)
def test_an_impossible_value_is_refused_by_name_and_value(name: str, text: str, complaint: str) -> None:
    with pytest.raises(ConfigException) as refusal:
        BrokerConfig({name: text})
    assert f"Invalid value {text} for configuration {name}" in str(refusal.value)
    assert complaint in str(refusal.value)


@pytest.mark.parametrize(
    ("properties", "complaint"),
    [
        ({"log.retention.ms": "0"}, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
        ({"log.retention.hours": "0"}, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
        ({"log.roll.ms": "0"}, "log.roll.ms must be greater than or equal to 1"),
        ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms must be greater than or equal to 0"),
        ({"log.cleaner.dedupe.buffer.size": "1048576"}, "must be at least 1MB per cleaner thread"),
        ({"replica.fetch.wait.max.ms": "30001"}, "replica.socket.timeout.ms should always be at least"),
        ({"replica.lag.time.max.ms": "499"}, "replica.fetch.wait.max.ms should always be less than or equal to"),
        ({"offsets.topic.compression.codec": "5"}, "Unknown compression type id: 5"),
        ({"offsets.commit.required.acks": "2"}, "less or equal to offsets.topic.replication.factor"),
        ({"max.connections.per.ip": "0"}, "only if max.connections.per.ip.overrides property is set"),
        ({"num.network.threads": "257"}, "num.network.threads must be at most 256"),
        ({"max.connections.per.ip.overrides": "127.0.0.1:few"}, 'For input string: "few"'),
        ({"max.connections.per.ip.overrides": "127.0.0.1:2147483648"}, 'For input string: "2147483648"'),
        ({"max.connections.per.ip.overrides": f"127.0.0.1:{'9' * 5000}"}, "For input string"),
        ({"log.cleanup.policy": "delete,shred"}, "Invalid value shred for configuration log.cleanup.policy"),
    ],
)
def test_rules_over_values_are_kafkas(properties: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigException) as refusal:
        BrokerConfig(properties)
    assert complaint in str(refusal.value)


def test_unknown_names_are_errors_with_a_suggestion() -> None:
    with pytest.raises(ConfigException) as refusal:
        BrokerConfig({"no.such.thing": "1", "num.partitons": "3", "num.partitions": "3"})
    assert [part.names for part in refusal.value.parts] == [("no.such.thing",), ("num.partitons",)]
    assert "kcli.config.unknown.keys=warn" in str(refusal.value.parts[0])
    assert str(refusal.value.parts[1]) == "unknown configuration num.partitons; did you mean num.partitions?"


def test_unknown_names_are_warned_of_once_each_where_that_is_configured() -> None:
    config = BrokerConfig({"num.partitons": "3", "num.partitions": "3", "kcli.config.unknown.keys": "warn"})
    assert config.warnings == ["unknown configuration num.partitons is ignored. Did you mean num.partitions?"]


def test_every_error_is_reported_at_once_with_the_names_at_fault() -> None:
    with pytest.raises(ConfigException) as refusal:
        BrokerConfig({"num.partitions": "many", "log.segment.bytes": "13", "num.partitons": "3"})
    assert [part.names for part in refusal.value.parts] == [
        ("num.partitions",),
        ("log.segment.bytes",),
        ("num.partitons",),
    ]
    assert str(refusal.value).splitlines() == [str(part) for part in refusal.value.parts]


BROKER_NAMES = json.loads((Path(__file__).parents[2] / "vectors" / "config" / "broker-names.json").read_text())


@pytest.mark.parametrize("release", sorted(BROKER_NAMES))
def test_no_broker_configuration_of_a_release_of_kafka_is_unknown(release: str) -> None:
    from kcore.config.foreign_names import remark

    undefined = [name for name in BROKER_NAMES[release] if name not in BROKER_KEYS]
    assert {name: remark(name) for name in undefined} == {
        name: f"{name} has no effect in this version" for name in undefined
    }


@pytest.mark.parametrize(
    "name",
    [
        "super.users",
        "allow.everyone.if.no.acl.found",
        "metrics.jmx.include",
        "config.providers.file.class",
        "rsm.config.storage.root",
        "confluent.support.metrics.enable",
        "listener.name.internal.ssl.keystore.location",
        "listener.name.internal.plain.sasl.jaas.config",
    ],
)
def test_names_that_plugins_and_listeners_have_are_warned_of_once(name: str) -> None:
    (warning,) = BrokerConfig({name: "x"}).warnings
    assert warning.startswith(f"{name} has no effect")


@pytest.mark.parametrize(
    "name", ["listener.name.internal.ssl.keystore.locaton", "listener.name.internal", "ssl.colour"]
)
def test_names_with_a_known_prefix_are_unknown_without_a_known_rest(name: str) -> None:
    with pytest.raises(ConfigException, match=f"unknown configuration {name};"):
        BrokerConfig({name: "x"})


@pytest.mark.parametrize(
    ("properties", "names"),
    [
        ({"log.retention.hours": "0"}, {"log.retention.hours"}),
        ({"broker.id": "1", "node.id": "2"}, {"broker.id", "node.id"}),
        ({"listeners": "PLAINTEXT"}, {"listeners"}),
        ({"listeners": "SSL://:9092"}, {"listeners"}),
        ({"advertised.listeners": "OTHER://h:1"}, {"advertised.listeners"}),
        ({"inter.broker.listener.name": "OTHER"}, {"inter.broker.listener.name"}),
        ({"log.dirs": "/a,/a"}, {"log.dirs"}),
        ({"max.connections.per.ip.overrides": "h:few"}, {"max.connections.per.ip.overrides"}),
        ({"listener.name.plaintext.max.connections": "x"}, {"listener.name.plaintext.max.connections"}),
        ({"authorizer.class.name": "A"}, {"authorizer.class.name"}),
    ],
)
def test_an_error_names_the_properties_at_fault(properties: dict[str, str], names: set[str]) -> None:
    with pytest.raises(ConfigException) as refusal:
        BrokerConfig(properties)
    assert names == set(refusal.value.names) & set(properties)


def test_one_broker_needs_no_configuration() -> None:
    config = BrokerConfig({})
    assert config.warnings == []
    assert config["offsets.topic.replication.factor"] == 1
    assert config["transaction.state.log.replication.factor"] == 1
    assert config["transaction.state.log.min.isr"] == 1
    assert config["group.initial.rebalance.delay.ms"] == 0
    assert [str(endpoint) for endpoint in config.listeners.endpoints] == ["PLAINTEXT://:9092"]


@pytest.mark.parametrize(
    ("name", "value", "warning"),
    [
        ("offsets.topic.replication.factor", "3", "__consumer_offsets cannot be created, and consumer groups need it"),
        ("transaction.state.log.replication.factor", "3", "__transaction_state cannot be created"),
        ("default.replication.factor", "2", "topics without a replication factor of their own cannot be created"),
        ("log.cleanup.policy", "compact", "logs are not compacted in this version"),
        ("log.cleanup.policy", "delete,compact", "logs are not compacted in this version"),
    ],
)
def test_what_one_broker_does_not_have_is_a_warning(name: str, value: str, warning: str) -> None:
    (found,) = BrokerConfig({name: value}).warnings
    assert found.startswith(name)
    assert warning in found


def test_what_the_properties_say_beats_the_profile() -> None:
    config = BrokerConfig({"group.initial.rebalance.delay.ms": "250", "offsets.topic.replication.factor": "2"})
    assert config["group.initial.rebalance.delay.ms"] == 250
    assert config["offsets.topic.replication.factor"] == 2


@pytest.mark.parametrize(
    ("text", "broker_id"), [(stock_files.ZOOKEEPER, 0), (stock_files.KRAFT_3_9, 1), (stock_files.KRAFT_4, 1)]
)
def test_kafkas_stock_files_are_taken_unmodified(text: str, broker_id: int) -> None:
    config = BrokerConfig(parse_properties(text))
    assert config.broker_id == broker_id
    assert [(endpoint.name, endpoint.port) for endpoint in config.listeners.endpoints] == [("PLAINTEXT", 9092)]
    assert config["socket.send.buffer.bytes"] == -1
    assert config["socket.receive.buffer.bytes"] == -1
    assert sum("socket." in warning for warning in config.warnings) == 1
    assert len(set(config.warnings)) == len(config.warnings)


def test_zookeeper_connect_alone_is_warned_of_once() -> None:
    config = BrokerConfig({"zookeeper.connect": "localhost:2181"})
    assert len(config.warnings) == 1
    assert config.warnings[0].startswith("zookeeper.connect")


def test_what_has_no_effect_is_warned_of_where_it_is_changed() -> None:
    assert BrokerConfig({"metrics.num.samples": "2"}).warnings == []
    (warning,) = BrokerConfig({"metrics.num.samples": "3"}).warnings
    assert warning == "metrics.num.samples has no effect in this version"


def test_ids_that_are_made_and_ids_that_are_given_do_not_meet() -> None:
    with pytest.raises(ConfigException, match=r"not greater than reserved\.broker\.max\.id"):
        BrokerConfig({"broker.id": "1001"})
    assert BrokerConfig({"broker.id": "1001", "reserved.broker.max.id": "2000"}).broker_id == 1001
    assert BrokerConfig({"broker.id": "1001", "broker.id.generation.enable": "false"}).broker_id == 1001
    assert BrokerConfig({"node.id": "1001"}).broker_id == 1001


def test_other_socket_buffers_are_honoured() -> None:
    config = BrokerConfig({"socket.send.buffer.bytes": "65536", "socket.receive.buffer.bytes": "-1"})
    assert config["socket.send.buffer.bytes"] == 65536
    assert config["socket.receive.buffer.bytes"] == -1
    assert config.warnings == []


@pytest.mark.parametrize(
    ("properties", "directories", "metadata"),
    [
        ({}, ("/tmp/kafka-logs",), "/tmp/kafka-logs"),
        ({"log.dir": "/a"}, ("/a",), "/a"),
        ({"log.dir": "/a", "log.dirs": "/b, /c"}, ("/b", "/c"), "/b"),
        ({"log.dirs": "/b", "metadata.log.dir": "/m"}, ("/b",), "/m"),
    ],
)
def test_directories(properties: dict[str, str], directories: tuple[str, ...], metadata: str) -> None:
    config = BrokerConfig(properties)
    assert config.log_directories == directories
    assert config.metadata_directory == metadata


@pytest.mark.parametrize(
    "properties",
    [
        {"log.dirs": "/a,/a"},
        {"log.dir": ""},
        {"broker.id": "1", "node.id": "2"},
        {"broker.id": "-2"},
        {"queued.max.request.bytes": "104857599"},
        {"queued.max.request.bytes": "1000", "socket.request.max.bytes": "1001"},
        {"process.roles": "controller"},
        {"process.roles": "broker,observer"},
        {"metadata.store": "zookeeper"},
        {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"},
    ],
)
def test_what_cannot_work_is_refused(properties: dict[str, str]) -> None:
    with pytest.raises(ConfigException):
        BrokerConfig(properties)
