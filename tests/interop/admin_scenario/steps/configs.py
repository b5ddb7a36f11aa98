"""Configurations of topics, brokers and loggers: described, replaced, and changed one by one."""

from __future__ import annotations

from aiokafka.admin.config_resource import ConfigResource as AiokafkaResource
from aiokafka.admin.config_resource import ConfigResourceType as AiokafkaType
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from confluent_kafka.cimpl import NewTopic
from kafka.admin import ConfigResource as PythonResource
from kafka.admin import ConfigResourceType as PythonType

from kcore.protocol import apis
from tests.interop.admin_scenario.step import FILE, aiokafka, confluent, java, kafka_python, tool, wire

TOPIC = ["TOPIC", "tuned"]
BROKER = ["BROKER", "1"]
CLUSTER = ["BROKER", ""]
LOGGERS = ["BROKER_LOGGER", "1"]
TOPICS = ("--entity-type", "topics", "--entity-name", "tuned")
BROKERS = ("--entity-type", "brokers", "--entity-name", "1")
DEFAULT_BROKER = ("--entity-type", "brokers", "--entity-default")
LOGGER = ("--entity-type", "broker-loggers", "--entity-name", "1")
METRICS = ("--entity-type", "client-metrics", "--entity-name", "watched")
GROUP = ("--entity-type", "groups", "--entity-name", "tuned-group")
# What brokers can have in common; paths, listeners and KRaft's own keys cannot.
BROKER_KEYS = (
    *("log.retention.ms", "log.retention.hours", "log.segment.bytes", "log.cleaner.threads", "num.io.threads"),
    *("message.max.bytes", "min.insync.replicas", "compression.type", "auto.create.topics.enable", "num.partitions"),
    *("log.cleanup.policy", "max.connections", "background.threads", "broker.id", "node.id", "log.roll.ms"),
    *("offsets.topic.num.partitions", "group.initial.rebalance.delay.ms", "log.flush.interval.messages"),
    *(
        "log.message.timestamp.type",
        "unclean.leader.election.enable",
        "producer.id.expiration.ms",
        "num.network.threads",
    ),
    *(
        "ssl.keystore.password",
        "sasl.jaas.config",
        "max.connections.per.ip.overrides",
        "leader.replication.throttled.rate",
    ),
)


def altered(*operations: list[str]) -> list[object]:
    """An IncrementalAlterConfigs of the topic."""
    return [[*TOPIC, list(operations)]]


def set_on(topic: str, *changes: tuple[AlterConfigOpType, str, str]) -> list[ConfigResource]:
    entries = [ConfigEntry(name, value, incremental_operation=operation) for operation, name, value in changes]
    return [ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)]


STEPS = (
    confluent(
        "create a topic to tune",
        lambda admin: admin.create_topics([NewTopic("tuned", 1, 1, config={"segment.bytes": "1048576"})]),
    ),
    # Topics
    java("describe a topic's configuration", "describeConfigs", resources=[TOPIC], synonyms=True, documentation=True),
    java("describe configurations of nothing", "describeConfigs", resources=[["TOPIC", "unknown"], ["TOPIC", "a/b"]]),
    confluent(
        "describe a topic's configuration",
        lambda admin: admin.describe_configs([ConfigResource(ResourceType.TOPIC, "tuned")]),
    ),
    kafka_python(
        "describe a topic's configuration",
        lambda admin: admin.describe_configs([PythonResource(PythonType.TOPIC, "tuned")], config_filter="all"),
    ),
    aiokafka(
        "describe some of a topic's configuration",
        lambda admin: admin.describe_configs(
            [AiokafkaResource(AiokafkaType.TOPIC, "tuned", {"retention.ms": None, "no.such.key": None})]
        ),
    ),
    tool("describe a topic", "kafka-configs", "--describe", *TOPICS),
    tool("describe all of a topic", "kafka-configs", "--describe", *TOPICS, "--all"),
    tool("describe an unknown topic", "kafka-configs", "--describe", "--entity-type", "topics", "--entity-name", "no"),
    java(
        "change configurations of a topic",
        "incrementalAlterConfigs",
        resources=altered(["SET", "retention.ms", "5000"], ["APPEND", "cleanup.policy", "compact"]),
    ),
    java(
        "change them back",
        "incrementalAlterConfigs",
        resources=altered(["DELETE", "retention.ms"], ["SUBTRACT", "cleanup.policy", "compact"]),
    ),
    java("append what is there", "incrementalAlterConfigs", resources=altered(["APPEND", "cleanup.policy", "delete"])),
    java("subtract everything", "incrementalAlterConfigs", resources=altered(["SUBTRACT", "cleanup.policy", "delete"])),
    java("delete what is not set", "incrementalAlterConfigs", resources=altered(["DELETE", "flush.ms"])),
    *(
        java(f"change what cannot be: {about}", "incrementalAlterConfigs", resources=altered(*operations))
        for about, operations in (
            ("unknown key", [["SET", "no.such.key", "1"]]),
            ("no number", [["SET", "retention.ms", "soon"]]),
            ("out of range", [["SET", "segment.bytes", "1"]]),
            ("no null", [["SET", "retention.ms", None]]),
            ("append to a number", [["APPEND", "retention.ms", "1"]]),
            ("subtract from a number", [["SUBTRACT", "retention.ms", "1"]]),
            ("one of no list", [["APPEND", "cleanup.policy", "shred"]]),
            ("unknown key deleted", [["DELETE", "no.such.key"]]),
            ("local beyond retention", [["SET", "local.retention.ms", "9999999999"]]),
            ("good and bad", [["SET", "flush.ms", "77"], ["SET", "segment.ms", "-1"]]),
        )
    ),
    java(
        "change, validate only",
        "incrementalAlterConfigs",
        resources=altered(["SET", "flush.ms", "99"]),
        validateOnly=True,
    ),
    java(
        "change several resources",
        "incrementalAlterConfigs",
        resources=[
            [*TOPIC, [["SET", "flush.messages", "11"]]],
            ["TOPIC", "unknown", [["SET", "flush.messages", "11"]]],
            ["TOPIC", "", [["SET", "flush.messages", "11"]]],
        ],
    ),
    wire(
        "change a key twice",
        apis.INCREMENTAL_ALTER_CONFIGS,
        1,
        resources=[
            {
                "resource_type": 2,
                "resource_name": "tuned",
                "configs": [
                    {"name": "flush.ms", "config_operation": 0, "value": "1"},
                    {"name": "flush.ms", "config_operation": 0, "value": "2"},
                ],
            }
        ],
    ),
    wire(
        "change by an unknown operation, and an unknown resource",
        apis.INCREMENTAL_ALTER_CONFIGS,
        1,
        resources=[
            {
                "resource_type": resource_type,
                "resource_name": "tuned",
                "configs": [{"name": "flush.ms", "config_operation": operation, "value": "1"}],
            }
            for resource_type, operation in ((2, 9), (77, 0))
        ],
    ),
    wire(
        "describe an unknown kind of resource",
        apis.DESCRIBE_CONFIGS,
        4,
        resources=[{"resource_type": 77, "resource_name": "tuned", "configuration_keys": None}],
    ),
    confluent(
        "change configurations of a topic",
        lambda admin: admin.incremental_alter_configs(
            set_on(
                "tuned",
                (AlterConfigOpType.SET, "max.message.bytes", "2000"),
                (AlterConfigOpType.SET, "segment.ms", "60000"),
            )
        ),
    ),
    confluent(
        "change to what cannot be",
        lambda admin: admin.incremental_alter_configs(set_on("tuned", (AlterConfigOpType.SET, "segment.ms", "never"))),
    ),
    confluent(
        "replace a topic's configuration",
        lambda admin: admin.alter_configs(
            [ConfigResource(ResourceType.TOPIC, "tuned", set_config={"retention.bytes": "1000000"})]
        ),
    ),
    kafka_python(
        "change configurations of a topic",
        lambda admin: admin.alter_configs([PythonResource(PythonType.TOPIC, "tuned", {"preallocate": "true"})]),
    ),
    kafka_python(
        "change to what cannot be",
        lambda admin: admin.alter_configs(
            [PythonResource(PythonType.TOPIC, "tuned", {"preallocate": "perhaps"})], raise_on_unknown=False
        ),
    ),
    kafka_python(
        "reset configurations",
        lambda admin: admin.reset_configs([PythonResource(PythonType.TOPIC, "tuned", {"preallocate": None})]),
    ),
    aiokafka(
        "replace a topic's configuration",
        lambda admin: admin.alter_configs([AiokafkaResource(AiokafkaType.TOPIC, "tuned", {"retention.ms": "60000"})]),
    ),
    java(
        "replace a topic's configuration",
        "alterConfigs",
        resources=[[*TOPIC, {"retention.ms": "7000", "flush.ms": "5"}]],
    ),
    java(
        "replace by what cannot be",
        "alterConfigs",
        resources=[
            [*TOPIC, {"retention.ms": "7000", "no.such.key": "5"}],
            ["TOPIC", "unknown", {"retention.ms": "1"}],
            [*CLUSTER, {"log.segment.bytes": "x"}],
        ],
    ),
    java("replace, validate only", "alterConfigs", resources=[[*TOPIC, {}]], validateOnly=True),
    java(
        "describe what was changed",
        "describeConfigs",
        resources=[TOPIC],
        only=["retention.ms", "flush.ms", "preallocate"],
        synonyms=True,
    ),
    tool(
        "alter a topic",
        "kafka-configs",
        "--alter",
        *TOPICS,
        "--add-config",
        "retention.ms=8000,cleanup.policy=[compact,delete]",
    ),
    tool("describe what was altered", "kafka-configs", "--describe", *TOPICS),
    tool("alter to what cannot be", "kafka-configs", "--alter", *TOPICS, "--add-config", "segment.bytes=one"),
    tool("alter an unknown key", "kafka-configs", "--alter", *TOPICS, "--add-config", "no.such.key=one"),
    tool("delete of a topic", "kafka-configs", "--alter", *TOPICS, "--delete-config", "retention.ms"),
    tool("delete what is not set", "kafka-configs", "--alter", *TOPICS, "--delete-config", "segment.ms"),
    # Brokers
    java(
        "describe a broker", "describeConfigs", resources=[BROKER], only=BROKER_KEYS, synonyms=True, documentation=True
    ),
    java("describe the cluster's brokers", "describeConfigs", resources=[CLUSTER]),
    java("describe no broker", "describeConfigs", resources=[["BROKER", "x"]]),
    wire(
        "describe another broker",
        apis.DESCRIBE_CONFIGS,
        4,
        resources=[{"resource_type": 4, "resource_name": "7", "configuration_keys": ["log.retention.ms"]}],
    ),
    java(
        "change all brokers",
        "incrementalAlterConfigs",
        resources=[[*CLUSTER, [["SET", "log.retention.ms", "999000"], ["SET", "message.max.bytes", "2000000"]]]],
    ),
    java(
        "change one broker",
        "incrementalAlterConfigs",
        resources=[[*BROKER, [["SET", "log.retention.ms", "888000"], ["SET", "log.cleaner.threads", "2"]]]],
    ),
    java("describe what all brokers have", "describeConfigs", resources=[CLUSTER], synonyms=True),
    java(
        "describe what was changed on brokers",
        "describeConfigs",
        resources=[BROKER],
        only=BROKER_KEYS[:6],
        synonyms=True,
    ),
    java(
        "describe what a topic has of it",
        "describeConfigs",
        resources=[["TOPIC", "plain"]],
        only=["retention.ms", "max.message.bytes"],
        synonyms=True,
    ),
    *(
        java(
            f"change a broker to what cannot be: {about}",
            "incrementalAlterConfigs",
            resources=[[*resource, operations]],
        )
        for about, resource, operations in (
            ("read-only", BROKER, [["SET", "broker.id", "2"]]),
            ("read-only for all", CLUSTER, [["SET", "num.partitions", "2"]]),
            ("no number", BROKER, [["SET", "log.cleaner.threads", "two"]]),
            ("out of range", BROKER, [["SET", "log.cleaner.threads", "-1"]]),
            ("too many threads", BROKER, [["SET", "num.io.threads", "999"]]),
            ("unknown", BROKER, [["SET", "no.such.key", "1"]]),
            ("one broker's for all", CLUSTER, [["SET", "listeners", "PLAINTEXT://:1"]]),
            ("no broker", ["BROKER", "x"], [["SET", "log.cleaner.threads", "2"]]),
        )
    ),
    java(
        "delete what a broker does not know",
        "incrementalAlterConfigs",
        resources=[[*BROKER, [["DELETE", "no.such.key"]]]],
    ),
    tool("describe a broker", "kafka-configs", "--describe", *BROKERS),
    tool("describe all brokers", "kafka-configs", "--describe", *DEFAULT_BROKER),
    tool("alter a broker", "kafka-configs", "--alter", *BROKERS, "--add-config", "background.threads=12"),
    tool("alter all brokers", "kafka-configs", "--alter", *DEFAULT_BROKER, "--add-config", "log.roll.ms=900000"),
    tool(
        "alter what is read-only",
        "kafka-configs",
        "--alter",
        *BROKERS,
        "--add-config",
        "auto.create.topics.enable=false",
    ),
    tool(
        "delete of a broker",
        "kafka-configs",
        "--alter",
        *BROKERS,
        "--delete-config",
        "background.threads,log.retention.ms",
    ),
    tool(
        "delete of a broker what is not set", "kafka-configs", "--alter", *BROKERS, "--delete-config", "num.io.threads"
    ),
    java(
        "take brokers' configurations away",
        "incrementalAlterConfigs",
        resources=[
            [*CLUSTER, [["DELETE", name] for name in ("log.retention.ms", "message.max.bytes", "log.roll.ms")]],
            [*BROKER, [["DELETE", name] for name in ("log.retention.ms", "log.cleaner.threads")]],
        ],
    ),
    java("describe what brokers have left", "describeConfigs", resources=[CLUSTER]),
    # Loggers
    java("describe loggers", "describeConfigs", resources=[LOGGERS], only=["root"]),
    java("change a logger", "incrementalAlterConfigs", resources=[[*LOGGERS, [["SET", "no.such.logger", "DEBUG"]]]]),
    java("change a logger to no level", "incrementalAlterConfigs", resources=[[*LOGGERS, [["SET", "root", "LOUD"]]]]),
    tool("describe a logger", "kafka-configs", "--describe", *LOGGER),
    tool("alter a logger", "kafka-configs", "--alter", *LOGGER, "--add-config", "no.such.logger=INFO"),
    # Other kinds of resources
    tool("describe client metrics", "kafka-configs", "--describe", *METRICS),
    tool("alter client metrics", "kafka-configs", "--alter", *METRICS, "--add-config", "interval.ms=1000"),
    tool(
        "alter client metrics to what cannot be", "kafka-configs", "--alter", *METRICS, "--add-config", "interval.ms=1"
    ),
    tool("delete of client metrics", "kafka-configs", "--alter", *METRICS, "--delete-config", "interval.ms"),
    tool("describe a group", "kafka-configs", "--describe", *GROUP),
    tool("alter a group", "kafka-configs", "--alter", *GROUP, "--add-config", "consumer.session.timeout.ms=50000"),
    tool("alter a group's unknown key", "kafka-configs", "--alter", *GROUP, "--add-config", "no.such.key=1"),
    tool("delete of a group", "kafka-configs", "--alter", *GROUP, "--delete-config", "consumer.session.timeout.ms"),
    tool(
        "describe an unknown kind", "kafka-configs", "--describe", "--entity-type", "planets", "--entity-name", "mars"
    ),
    tool(
        "alter from a file",
        "kafka-configs",
        "--alter",
        *TOPICS,
        "--add-config-file",
        FILE,
        file="flush.ms=3\nflush.messages=4\n",
    ),
    tool("describe what the file said", "kafka-configs", "--describe", *TOPICS),
)
