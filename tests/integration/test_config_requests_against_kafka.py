"""AlterConfigs, IncrementalAlterConfigs and DescribeConfigs to our broker and to Apache Kafka 3.9: equal answers, codes
and words, and equal configurations with sources and synonyms afterwards.

Where Kafka wraps one exception in another, the words of the inner one are compared, and the order of names in a set,
which is that of a hash table, is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.apache_kafka import NODE_ID, ApacheKafka
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient

pytestmark = pytest.mark.needs("java", "mvn", "setpriv")

SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SOURCE_OF_TOPIC, OF_BROKER, OF_CLUSTER = 1, 2, 3
ME = str(NODE_ID)
# Kafka's broker hears of a committed change a little after the client does.
DESCRIBE_ATTEMPTS = 2_000

# GROUP is of Kafka 4: test_group_configs_against_kafka.py.
# What a resource is asked to do: (resource type, name, [(configuration, operation, value)]).
Resource = tuple[int, str, list[tuple[str, int, str | None]]]


# What bounds a change at run time, and has another default since Kafka 4.
DEFAULTS_OF_39 = {"num.recovery.threads.per.data.dir": "1"}
IGNORING_UNKNOWN = {"kcli.config.unknown.keys": "warn"}


@pytest.fixture(scope="module")
def apache_kafka_39(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """Not the one that all tests share: configurations of the whole cluster are changed here."""
    with ApacheKafka("3.9", tmp_path_factory.mktemp("kafka") / "data") as kafka:
        yield kafka


@pytest.fixture(scope="module")
def clients(apache_kafka_39: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RawClient]]:
    """A connection to Kafka and one to us, with the same topic on both sides."""
    data: Path = tmp_path_factory.mktemp("ours") / "data"
    with (
        BrokerProcess(data, {"broker.id": ME, "no.such.property": "1", **IGNORING_UNKNOWN, **DEFAULTS_OF_39}) as ours,
        RawClient(apache_kafka_39.port) as kafka_client,
        RawClient(ours.port) as our_client,
    ):
        for client in (kafka_client, our_client):
            client.create_topic("cfg-a")
        yield [kafka_client, our_client]


@pytest.fixture(autouse=True)
def nothing_is_left(clients: list[RawClient]) -> Iterator[None]:
    """Every test begins and ends with defaults only."""
    yield
    for client in clients:
        for kind, name in ((TOPIC, "cfg-a"), (BROKER, ""), (BROKER, ME), (CLIENT_METRICS, "cfg-m")):
            assert replace(client, [(kind, name, [])])[0][2] == 0


def incremental(client: RawClient, resources: Sequence[Resource], validate_only: bool = False) -> list[Any]:
    rows = [
        {
            "resource_type": kind,
            "resource_name": name,
            "configs": [{"name": key, "config_operation": op, "value": value} for key, op, value in configs],
        }
        for kind, name, configs in resources
    ]
    fields = {"resources": rows, "validate_only": validate_only}
    return outcome(client.request(apis.INCREMENTAL_ALTER_CONFIGS, 1, fields))


def replace(client: RawClient, resources: Sequence[Resource], validate_only: bool = False) -> list[Any]:
    rows = [
        {
            "resource_type": kind,
            "resource_name": name,
            "configs": [{"name": key, "value": value} for key, _, value in configs],
        }
        for kind, name, configs in resources
    ]
    return outcome(client.request(apis.ALTER_CONFIGS, 2, {"resources": rows, "validate_only": validate_only}))


def outcome(response: Message) -> list[Any]:
    """Resource, code and words of every answer."""
    return sorted(
        (row.resource_type, row.resource_name, row.error_code, plain(row.error_message)) for row in response.responses
    )


def plain(words: str | None) -> str | None:
    """A message without what Java and Scala add to it."""
    if words is None:
        return None
    wrapped = re.fullmatch(
        r"Invalid value \S+ConfigException: (.*) for configuration Invalid dynamic configuration", words
    )
    words = wrapped[1] if wrapped else words
    names = re.search(r"(?:Hash)?Set\(([^)]*)\)", words)
    if names is not None:
        words = words.replace(names[0], f"Set({', '.join(sorted(names[1].split(', ')))})")
    return words


def describe(client: RawClient, kind: int, name: str, keys: list[str] | None) -> Any:
    fields = {
        "resources": [{"resource_type": kind, "resource_name": name, "configuration_keys": keys}],
        "include_synonyms": True,
        "include_documentation": False,
    }
    (row,) = client.request(apis.DESCRIBE_CONFIGS, 4, fields).results
    configs = {
        config.name: (
            config.value,
            config.read_only,
            config.config_source,
            config.is_sensitive,
            config.config_type,
            [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms],
        )
        for config in row.configs
    }
    return row.error_code, row.error_message or "", configs


def described_alike(clients: list[RawClient], kind: int, name: str, keys: list[str]) -> Any:
    """What both answer, once Kafka's broker has heard of everything."""
    kafka, us = clients
    ours = describe(us, kind, name, keys)
    for _ in range(DESCRIBE_ATTEMPTS):
        if describe(kafka, kind, name, keys) == ours:
            break
    assert describe(kafka, kind, name, keys) == ours
    return ours


def topic(*operations: tuple[str, int, str | None], name: str = "cfg-a") -> list[Resource]:
    return [(TOPIC, name, list(operations))]


def broker(*operations: tuple[str, int, str | None], name: str = ME) -> list[Resource]:
    return [(BROKER, name, list(operations))]


def cluster(*operations: tuple[str, int, str | None]) -> list[Resource]:
    return broker(*operations, name="")


REQUESTS: dict[str, list[Resource]] = {
    "unknown-topic": topic(("retention.ms", SET, "1"), name="cfg-none"),
    "bad-topic-name": topic(("retention.ms", SET, "1"), name="a/b"),
    "no-topic-name": topic(("retention.ms", SET, "1"), name=""),
    "unknown-name": topic(("retention.hours", SET, "1")),
    "null": topic(("retention.ms", SET, None), ("segment.ms", APPEND, None)),
    "no-number": topic(("retention.ms", SET, "x")),
    "too-small": topic(("retention.ms", SET, "-2")),
    "too-large": topic(("segment.bytes", SET, "99999999999")),
    "name-twice": topic(("retention.ms", SET, "5"), ("retention.ms", DELETE, None)),
    "append-to-a-number": topic(("retention.ms", APPEND, "5")),
    "subtract-from-a-number": topic(("retention.ms", SUBTRACT, "5")),
    "append-to-an-unknown": topic(("no.such", APPEND, "x")),
    "append": topic(("cleanup.policy", APPEND, "compact")),
    "append-what-is-there": topic(("cleanup.policy", APPEND, "compact,delete")),
    "append-what-cannot-be": topic(("cleanup.policy", APPEND, "shred")),
    "subtract": topic(("cleanup.policy", SUBTRACT, "delete")),
    "delete-what-is-not-set": topic(("segment.ms", DELETE, None)),
    "delete-an-unknown": topic(("no.such", DELETE, None)),
    "delete-with-a-value": topic(("segment.ms", DELETE, "5")),
    "nothing": topic(),
    "one-good-one-bad": [*topic(("retention.ms", SET, "777")), *topic(("retention.ms", SET, "1"), name="cfg-none")],
    "resource-twice": [*topic(("retention.ms", SET, "1")), *topic(("retention.ms", SET, "2"))],
    "lags-contradict": topic(("min.compaction.lag.ms", SET, "10"), ("max.compaction.lag.ms", SET, "5")),
    "remote-storage": topic(("remote.storage.enable", SET, "true")),
    "format-version": topic(("message.format.version", SET, "9.9")),
    "throttled-replicas": topic(("leader.replication.throttled.replicas", SET, "0:1,1-2")),
    "gzip-level": topic(("compression.gzip.level", SET, "0")),
    "lz4-level": topic(("compression.lz4.level", SET, "18")),
    "in-sync-replicas": topic(("min.insync.replicas", SET, "0")),
    "ratio": topic(("min.cleanable.dirty.ratio", SET, "1.5")),
    "no-double": topic(("min.cleanable.dirty.ratio", SET, "half")),
    "no-boolean": topic(("preallocate", SET, "yes")),
    "no-codec": topic(("compression.type", SET, "brotli")),
    "small-segment": topic(("segment.bytes", SET, "13")),
    "negative-size": topic(("max.message.bytes", SET, "-1")),
    "empty-list": topic(("cleanup.policy", SET, "")),
    "spaces": topic(("retention.bytes", SET, " 5000 ")),
    "no-broker-id": broker(("log.retention.ms", SET, "1"), name="x"),
    "another-broker": broker(("log.retention.ms", SET, "1"), name="99"),
    "read-only": broker(("log.dirs", SET, "/x"), ("log.roll.hours", SET, "5")),
    "read-only-for-all": cluster(("log.dirs", SET, "/x"), ("broker.id", SET, "3")),
    "delete-read-only": cluster(("log.dirs", DELETE, None)),
    "per-broker-for-all": cluster(("listeners", SET, "PLAINTEXT://:1")),
    "security-without-listener": broker(("ssl.keystore.location", SET, "/x")),
    "security-for-all": cluster(("listener.name.plaintext.ssl.key.password", SET, "s")),
    "broker-no-number": broker(("log.retention.ms", SET, "x")),
    "broker-null": cluster(("log.retention.ms", SET, None)),
    "no-retention": cluster(("log.retention.ms", SET, "0")),
    "no-roll": cluster(("log.roll.ms", SET, "0")),
    "too-many-threads": cluster(("num.io.threads", SET, "100")),
    "too-few-threads": cluster(("num.io.threads", SET, "1")),
    "no-threads": cluster(("num.io.threads", SET, "0")),
    "network-threads": broker(("num.network.threads", SET, "50")),
    "background-threads": broker(("background.threads", SET, "1")),
    "recovery-threads": broker(("num.recovery.threads.per.data.dir", SET, "9")),
    "cleaner-threads": cluster(("log.cleaner.threads", SET, "9")),
    "cleaner-memory": cluster(("log.cleaner.dedupe.buffer.size", SET, "100")),
    "cleaner-buffer": cluster(("log.cleaner.io.buffer.size", SET, "-1")),
    "append-to-a-boolean": cluster(("unclean.leader.election.enable", APPEND, "true")),
    "subtract-from-a-boolean": cluster(("unclean.leader.election.enable", SUBTRACT, "true")),
    "broker-name-twice": cluster(("num.io.threads", SET, "9"), ("num.io.threads", SET, "10")),
    "no-connections": cluster(("max.connections.per.ip", SET, "0")),
    "no-such-host": cluster(("max.connections.per.ip.overrides", SET, "no such host:1")),
    "no-connection-rate": cluster(("max.connection.creation.rate", SET, "0")),
    "negative-connections": cluster(("max.connections", SET, "-1")),
    "local-retention": cluster(("log.local.retention.ms", SET, "-3")),
    "long-local-retention": cluster(("log.local.retention.ms", SET, "99999999999999")),
    "throttled-rate": broker(("leader.replication.throttled.rate", SET, "-1")),
    "unknown-broker-name": broker(("no.such.name", SET, "1")),
    "metrics-interval": [(CLIENT_METRICS, "cfg-m", [("interval.ms", SET, "1")])],
    "metrics-name": [(CLIENT_METRICS, "cfg-m", [("x", SET, "1")])],
    "metrics-match": [(CLIENT_METRICS, "cfg-m", [("match", SET, "client_shoe_size=4")])],
    "metrics-unnamed": [(CLIENT_METRICS, "", [("interval.ms", SET, "1000")])],
    "unknown-type": [(77, "m", [("interval.ms", SET, "1")])],
    "logger-unknown": [(LOGGER, ME, [("no.such.Logger", SET, "DEBUG")])],
    "logger-append": [(LOGGER, ME, [("root", APPEND, "DEBUG")])],
    "logger-root-deleted": [(LOGGER, ME, [("root", DELETE, None)])],
    "logger-level": [(LOGGER, ME, [("root", SET, "LOUD")])],
    "logger-no-broker": [(LOGGER, "", [("root", SET, "DEBUG")])],
    "logger-twice": [(LOGGER, ME, [("root", SET, "INFO"), ("root", SET, "DEBUG")])],
}


@pytest.mark.parametrize("validate_only", [True, False], ids=["validated", "done"])
@pytest.mark.parametrize("name", REQUESTS)
def test_an_incremental_change_is_answered_as_kafka_does(
    clients: list[RawClient], name: str, validate_only: bool
) -> None:
    kafka, ours = (incremental(client, REQUESTS[name], validate_only) for client in clients)
    assert ours == kafka


@pytest.mark.parametrize(
    "resources",
    [
        topic(("retention.ms", SET, "5000")),
        topic(("retention.ms", SET, "5000"), ("retention.ms", SET, "5001")),
        topic(("retention.ms", SET, None)),
        topic(("retention.ms", SET, "x")),
        topic(("retention.ms", SET, "5"), name="cfg-none"),
        topic(("retention.ms", SET, "5"), name=""),
        broker(("log.retention.ms", SET, "5000000")),
        broker(("log.retention.ms", SET, "x")),
        broker(("log.dirs", SET, "x")),
        broker(("log.retention.ms", SET, "5"), name="x"),
        broker(("log.retention.ms", SET, "5"), name="99"),
        cluster(("log.retention.ms", SET, "6000000")),
        [(LOGGER, ME, [("root", SET, "DEBUG")])],
        [(CLIENT_METRICS, "cfg-m", [("interval.ms", SET, "1000")])],
        [(0, "m", [("interval.ms", SET, "1000")])],
    ],
)
def test_a_replacement_is_answered_as_kafka_does(clients: list[RawClient], resources: list[Resource]) -> None:
    for validate_only in (True, False):
        kafka, ours = (replace(client, resources, validate_only) for client in clients)
        assert ours == kafka


RETENTION = ["log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.roll.ms"]


def test_sources_and_synonyms_are_kafkas(clients: list[RawClient]) -> None:
    for client in clients:
        incremental(client, cluster(("log.retention.ms", SET, "6000000"), ("log.cleanup.policy", SET, "compact")))
    described_alike(clients, BROKER, "", RETENTION)
    described_alike(clients, TOPIC, "cfg-a", ["retention.ms", "cleanup.policy"])
    for client in clients:
        incremental(client, broker(("log.retention.ms", SET, "5000000"), ("log.cleanup.policy", APPEND, "compact")))
        incremental(client, topic(("retention.ms", SET, " 4000000 "), ("cleanup.policy", APPEND, "compact")))
    described_alike(clients, BROKER, ME, [*RETENTION, "log.cleanup.policy"])
    _, _, configs = described_alike(clients, TOPIC, "cfg-a", ["retention.ms", "cleanup.policy", "segment.ms"])
    assert [source for _, _, source in configs["retention.ms"][5]] == [SOURCE_OF_TOPIC, OF_BROKER, OF_CLUSTER, 5]


def test_names_that_nobody_defined_are_kept_and_hidden(clients: list[RawClient]) -> None:
    names = ["no.such.name", "leader.replication.throttled.rate", "listener.name.plaintext.ssl.key.password"]
    for client in clients:
        changes = [(name, SET, "100") for name in names]
        assert incremental(client, broker(*changes))[0][2:] == (0, None)
    _, _, configs = described_alike(clients, BROKER, ME, names)
    assert configs["no.such.name"][0] is None
    assert configs["listener.name.plaintext.ssl.key.password"][0] is None


# Kafka 4.3 sets it for all brokers when it formats a cluster with eligible leader replicas.
SET_BY_KAFKA = {"min.insync.replicas"}
# See OTHER_DEFAULTS and TEXTS of tests/unit/config/test_definitions_against_kafka.py.
OTHERWISE_HERE = {
    *("socket.send.buffer.bytes", "socket.receive.buffer.bytes", "group.coordinator.rebalance.protocols"),
    *("log.dir", "early.start.listeners"),
}


def test_every_default_of_a_topic_is_described_as_kafka_4_does(
    clients: list[RawClient], apache_kafka_4: ApacheKafka
) -> None:
    with RawClient(apache_kafka_4.port) as kafka_4:
        kafka_4.create_topic("cfg-a")
        # Its broker follows its controller a moment later.
        while describe(kafka_4, TOPIC, "cfg-a", [])[0]:
            pass
        _, _, theirs = describe(kafka_4, TOPIC, "cfg-a", [])
    _, _, ours = describe(clients[1], TOPIC, "cfg-a", [])
    assert len(ours) == 33
    assert without(ours, SET_BY_KAFKA) == without(theirs, SET_BY_KAFKA)


def test_what_kafka_4_has_removed_of_a_topic_is_described_where_it_is_set(clients: list[RawClient]) -> None:
    names = ["message.format.version", "message.downconversion.enable", "message.timestamp.difference.max.ms"]
    ours = clients[1]
    assert describe(ours, TOPIC, "cfg-a", names)[2] == {}
    values = dict(zip(names, ("3.0-IV1", "false", "1000"), strict=True))
    assert incremental(ours, topic(*((name, SET, value) for name, value in values.items())))[0][2] == 0
    assert {name: row[0] for name, row in describe(ours, TOPIC, "cfg-a", names)[2].items()} == values


def test_every_configuration_of_a_broker_is_described_as_kafka_4_does(
    clients: list[RawClient], apache_kafka_4: ApacheKafka
) -> None:
    _, _, ours = describe(clients[1], BROKER, ME, None)
    with RawClient(apache_kafka_4.port) as kafka_4:
        _, _, theirs = describe(kafka_4, BROKER, ME, None)
    assert theirs.keys() <= ours.keys()
    in_properties = {name for name, row in theirs.items() if 4 in (row[2], ours[name][2])}
    differing = in_properties | SET_BY_KAFKA | OTHERWISE_HERE
    assert without({name: ours[name] for name in theirs}, differing) == without(theirs, differing)
    # A property that nobody has defined is shown without its value.
    assert (ours["no.such.property"][0], ours["no.such.property"][4]) == (None, 0)


def without(configs: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: row for name, row in configs.items() if name not in names}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (TOPIC, "cfg-none"),
        (TOPIC, "a/b"),
        (TOPIC, ""),
        (BROKER, "x"),
        (BROKER, " 1"),
        (BROKER, "99"),
        (LOGGER, ""),
        (LOGGER, "99"),
        (LOGGER, "x"),
        (CLIENT_METRICS, ""),
        (CLIENT_METRICS, "cfg-m"),
    ],
)
def test_what_cannot_be_described(clients: list[RawClient], kind: int, name: str) -> None:
    kafka, ours = (describe(client, kind, name, None) for client in clients)
    if kind == TOPIC and name == "cfg-none":
        # The words of this code are our own.
        assert ours[0] == kafka[0]
    else:
        assert ours == kafka


@pytest.mark.parametrize("kind", [0, 1, 77])
def test_types_that_cannot_be_described(clients: list[RawClient], kind: int) -> None:
    kafka, ours = (describe(client, kind, "x", None) for client in clients)
    assert ours[0] == kafka[0] == 42
