"""Creating, listing, describing and deleting topics, and asking for what is not there."""

from __future__ import annotations

from aiokafka.admin import NewTopic as AiokafkaNewTopic
from confluent_kafka import TopicCollection
from confluent_kafka.cimpl import NewTopic
from kafka.admin import NewTopic as PythonNewTopic

from kcore.protocol import apis
from tests.interop.admin_scenario.step import IdOf, aiokafka, confluent, java, kafka_python, tool, wire

UNKNOWN_ID = "kIcRKZLVR0mGQgPoLSbJ3g"


def create(name: str, **fields: object) -> dict[str, object]:
    """A topic of a CreateTopics request."""
    return {"name": name, "num_partitions": 1, "replication_factor": 1, **fields}


STEPS = (
    # Creating
    confluent("create a topic", lambda admin: admin.create_topics([NewTopic("plain", 3, 1)])),
    confluent("create a topic that exists", lambda admin: admin.create_topics([NewTopic("plain", 3, 1)])),
    confluent(
        "create with configurations",
        lambda admin: admin.create_topics(
            [NewTopic("configured", 1, 1, config={"retention.ms": "3600000", "cleanup.policy": "compact,delete"})]
        ),
    ),
    confluent(
        "create with assignments",
        lambda admin: admin.create_topics([NewTopic("assigned", replica_assignment=[[1], [1]])]),
    ),
    confluent(
        "create some and fail others",
        lambda admin: admin.create_topics(
            [
                NewTopic("partly", 1, 1),
                NewTopic("partly with too many replicas", 1, 1),
                NewTopic("partly-replicated", 1, 3),
                NewTopic("partly-configured", 1, 1, config={"retention.ms": "soon"}),
            ]
        ),
    ),
    confluent(
        "create, validate only",
        lambda admin: admin.create_topics([NewTopic("validated", 2, 1)], validate_only=True),
    ),
    kafka_python(
        "create a topic",
        lambda admin: admin.create_topics([PythonNewTopic(name="python", num_partitions=2, replication_factor=1)]),
    ),
    kafka_python(
        "create a topic that exists",
        lambda admin: admin.create_topics([PythonNewTopic(name="python", num_partitions=2, replication_factor=1)]),
    ),
    kafka_python(
        "create without raising errors",
        lambda admin: admin.create_topics(
            [
                PythonNewTopic(name="python", num_partitions=1, replication_factor=1),
                PythonNewTopic(name="python-replicated", num_partitions=1, replication_factor=2),
            ],
            raise_errors=False,
        ),
    ),
    aiokafka("create a topic", lambda admin: admin.create_topics([AiokafkaNewTopic("aio", 2, 1)])),
    aiokafka("create a topic that exists", lambda admin: admin.create_topics([AiokafkaNewTopic("aio", 2, 1)])),
    aiokafka(
        "create with a configuration",
        lambda admin: admin.create_topics(
            [AiokafkaNewTopic("aio-configured", 1, 1, topic_configs={"max.message.bytes": "2000"})]
        ),
    ),
    java("create with the broker's defaults", "createTopics", topics=[{"name": "defaults"}]),
    java(
        "create and show configurations",
        "createTopics",
        topics=[{"name": "shown", "partitions": 1, "configs": {"segment.bytes": "1048576"}}],
        showConfigs=True,
    ),
    java(
        "create, validate only",
        "createTopics",
        topics=[{"name": "validated", "partitions": 7}, {"name": "plain", "partitions": 1}],
        validateOnly=True,
    ),
    java("create too many replicas", "createTopics", topics=[{"name": "replicated", "partitions": 1, "replicas": 3}]),
    java("create no replicas", "createTopics", topics=[{"name": "unreplicated", "partitions": 1, "replicas": 0}]),
    java("create no partitions", "createTopics", topics=[{"name": "partitionless", "partitions": 0}]),
    java("create minus two partitions", "createTopics", topics=[{"name": "negative", "partitions": -2}]),
    java(
        "create under names that are not allowed",
        "createTopics",
        topics=[{"name": name} for name in ("", ".", "..", "a/b", "ünïcode", "n" * 250)],
    ),
    java("create under a name that collides", "createTopics", topics=[{"name": "with.dot"}, {"name": "with_dot"}]),
    java("delete a name that collided", "deleteTopics", names=["with_dot"]),
    java("create under a name that collides later", "createTopics", topics=[{"name": "with_dot"}]),
    java(
        "create with assignments that cannot be",
        "createTopics",
        topics=[
            {"name": "unknown-broker", "assignments": {"0": [7]}},
            {"name": "twice-a-broker", "assignments": {"0": [1, 1]}},
            {"name": "gap", "assignments": {"0": [1], "2": [1]}},
            {"name": "no-replicas", "assignments": {"0": []}},
            {"name": "uneven", "assignments": {"0": [1], "1": []}},
            {"name": "negative-broker", "assignments": {"0": [-1]}},
        ],
    ),
    java(
        "create with configurations that cannot be",
        "createTopics",
        topics=[
            {"name": "unknown-key", "configs": {"no.such.key": "1"}},
            {"name": "no-number", "configs": {"retention.ms": "soon"}},
            {"name": "too-small", "configs": {"segment.bytes": "13"}},
            {"name": "no-policy", "configs": {"cleanup.policy": "shred"}},
            {"name": "no-codec", "configs": {"compression.type": "rar"}},
            {"name": "no-boolean", "configs": {"preallocate": "maybe"}},
            {"name": "no-value", "configs": {"retention.ms": None}},
            {"name": "no-ratio", "configs": {"min.cleanable.dirty.ratio": "1.5"}},
            {"name": "no-timestamp-type", "configs": {"message.timestamp.type": "Never"}},
            {"name": "no-replicas-in-sync", "configs": {"min.insync.replicas": "0"}},
        ],
    ),
    wire(
        "create a name twice in a request",
        apis.CREATE_TOPICS,
        7,
        topics=[create("twice"), create("twice"), create("once-beside-twice")],
    ),
    wire(
        "create with assignments and numbers",
        apis.CREATE_TOPICS,
        7,
        topics=[
            create(
                "both", num_partitions=2, replication_factor=1, assignments=[{"partition_index": 0, "broker_ids": [1]}]
            ),
            create("only-replicas", num_partitions=-1, replication_factor=2),
            create(
                "right-both",
                num_partitions=-1,
                replication_factor=-1,
                assignments=[{"partition_index": 0, "broker_ids": [1]}],
            ),
            create(
                "twice-a-partition",
                num_partitions=-1,
                replication_factor=-1,
                assignments=[{"partition_index": 0, "broker_ids": [1]}, {"partition_index": 0, "broker_ids": [1]}],
            ),
        ],
    ),
    wire(
        "create with a configuration twice",
        apis.CREATE_TOPICS,
        7,
        topics=[
            create(
                "same-config", configs=[{"name": "retention.ms", "value": "1"}, {"name": "retention.ms", "value": "2"}]
            )
        ],
    ),
    wire("create nothing", apis.CREATE_TOPICS, 7, topics=[]),
    wire("create by the lowest version", apis.CREATE_TOPICS, 2, topics=[create("lowest-version"), create("plain")]),
    wire(
        "create more partitions than a request may",
        apis.CREATE_TOPICS,
        7,
        topics=[create("enormous", num_partitions=10_001)],
    ),
    tool("create", "kafka-topics", "--create", "--topic", "tool", "--partitions", "2", "--replication-factor", "1"),
    tool("create once more", "kafka-topics", "--create", "--topic", "tool"),
    tool("create if it does not exist", "kafka-topics", "--create", "--topic", "tool", "--if-not-exists"),
    tool(
        "create with a warning",
        "kafka-topics",
        "--create",
        "--topic",
        "tool.with_both",
        "--config",
        "retention.ms=1000",
    ),
    tool("create with an unknown configuration", "kafka-topics", "--create", "--topic", "odd", "--config", "a.b=1"),
    tool("create assigned", "kafka-topics", "--create", "--topic", "tool-assigned", "--replica-assignment", "1,1"),
    # Listing and describing
    java("list topics", "listTopics"),
    kafka_python("list topics", lambda admin: sorted(admin.list_topics())),
    aiokafka("list topics", lambda admin: list_sorted(admin)),
    confluent("list topics", lambda admin: sorted(admin.list_topics(timeout=30).topics)),
    tool("list", "kafka-topics", "--list"),
    tool("list by pattern", "kafka-topics", "--list", "--topic", "tool.*"),
    java("describe topics", "describeTopics", names=["plain", "assigned", "defaults", "unknown"], operations=True),
    java("describe topics by pages", "describeTopics", names=["plain", "assigned", "tool", "unknown"], pageSize=2),
    java("describe by id", "describeTopics", ids=[IdOf("plain"), UNKNOWN_ID]),
    java("describe invalid names", "describeTopics", names=["", "a b"]),
    confluent(
        "describe topics",
        lambda admin: admin.describe_topics(TopicCollection(["plain", "unknown"]), include_authorized_operations=True),
    ),
    kafka_python("describe topics", lambda admin: admin.describe_topics(["plain", "unknown"])),
    kafka_python("describe topics by pages", lambda admin: admin.describe_topic_partitions(["plain", "tool"], 2)),
    aiokafka("describe topics", lambda admin: admin.describe_topics(["plain"])),
    tool("describe", "kafka-topics", "--describe", "--topic", "plain"),
    tool("describe one with configurations", "kafka-topics", "--describe", "--topic", "configured"),
    tool("describe an unknown one", "kafka-topics", "--describe", "--topic", "unknown"),
    tool("describe those with overrides", "kafka-topics", "--describe", "--topics-with-overrides"),
    tool("describe the least replicated", "kafka-topics", "--describe", "--under-min-isr-partitions"),
    tool("describe an id that no topic has", "kafka-topics", "--describe", "--topic-id", UNKNOWN_ID),
    tool("describe if it exists", "kafka-topics", "--describe", "--topic", "unknown", "--if-exists"),
    tool("alter nothing", "kafka-topics", "--alter", "--topic", "plain"),
    tool("alter if it exists", "kafka-topics", "--alter", "--topic", "unknown", "--partitions", "2", "--if-exists"),
    tool("create under a name that is not allowed", "kafka-topics", "--create", "--topic", "a b"),
    tool("create with too many replicas", "kafka-topics", "--create", "--topic", "many", "--replication-factor", "2"),
    tool("create with too few partitions", "kafka-topics", "--create", "--topic", "few", "--partitions", "0"),
    tool("create assigned to no broker", "kafka-topics", "--create", "--topic", "far", "--replica-assignment", "7"),
    tool("describe the unavailable", "kafka-topics", "--describe", "--unavailable-partitions"),
    tool("describe the under-replicated", "kafka-topics", "--describe", "--under-replicated-partitions"),
    tool(
        "describe those at their least ISR", "kafka-topics", "--describe", "--at-min-isr-partitions", "--topic", "plain"
    ),
    wire(
        "metadata of unknown topics",
        apis.METADATA,
        12,
        topics=[{"name": "unknown"}, {"name": "plain"}, {"name": "a/b"}],
        allow_auto_topic_creation=False,
    ),
    wire(
        "metadata by id",
        apis.METADATA,
        12,
        topics=[{"name": None, "topic_id": IdOf("plain")}, {"name": None, "topic_id": bytes(range(16))}],
        allow_auto_topic_creation=False,
    ),
    wire(
        "metadata with operations",
        apis.METADATA,
        9,
        topics=[{"name": "plain"}],
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    ),
    wire("metadata of no topics", apis.METADATA, 12, topics=[]),
    # Deleting
    java("delete topics", "deleteTopics", names=["assigned", "unknown", "shown"]),
    java("delete by id", "deleteTopics", ids=[IdOf("defaults"), UNKNOWN_ID]),
    java("delete by an id that is gone", "deleteTopics", ids=[IdOf("defaults")]),
    confluent("delete a topic twice", lambda admin: {**admin.delete_topics(["partly"]), **admin.delete_topics(["no"])}),
    kafka_python("delete a topic", lambda admin: admin.delete_topics(["python"])),
    kafka_python("delete a topic again", lambda admin: admin.delete_topics(["python"])),
    kafka_python("delete without raising errors", lambda admin: admin.delete_topics(["python"], raise_errors=False)),
    aiokafka("delete topics", lambda admin: admin.delete_topics(["aio-configured", "unknown"])),
    wire(
        "delete a name and its id",
        apis.DELETE_TOPICS,
        6,
        topics=[{"name": "lowest-version"}, {"name": None, "topic_id": IdOf("lowest-version")}],
        timeout_ms=10_000,
    ),
    wire(
        "delete an id twice",
        apis.DELETE_TOPICS,
        6,
        topics=[{"name": None, "topic_id": IdOf("plain")}, {"name": None, "topic_id": IdOf("plain")}],
        timeout_ms=10_000,
    ),
    wire("delete a name twice", apis.DELETE_TOPICS, 5, topic_names=["unknown", "unknown"], timeout_ms=10_000),
    wire(
        "delete with name and id",
        apis.DELETE_TOPICS,
        6,
        topics=[{"name": "with.dot", "topic_id": IdOf("with.dot")}, {"name": None}],
        timeout_ms=10_000,
    ),
    tool("delete", "kafka-topics", "--delete", "--topic", "tool-assigned"),
    tool("delete an unknown one", "kafka-topics", "--delete", "--topic", "unknown"),
    tool("delete if it exists", "kafka-topics", "--delete", "--topic", "unknown", "--if-exists"),
    java("list what is left", "listTopics", internal=True),
)


async def list_sorted(admin: object) -> list[str]:
    return sorted(await admin.list_topics())  # type: ignore[attr-defined]
