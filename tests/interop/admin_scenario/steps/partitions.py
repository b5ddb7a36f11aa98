"""Adding partitions, and what is done to partitions that exist: paging, elections, reassignments."""

from __future__ import annotations

from aiokafka.admin import NewPartitions as AiokafkaNewPartitions
from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.cimpl import NewPartitions, NewTopic
from kafka.structs import TopicPartition as PythonTopicPartition

from kcore.protocol import apis
from tests.interop.admin_scenario.step import FILE, aiokafka, confluent, java, kafka_python, tool, wire

PREFERRED = '{"partitions": [{"topic": "grown", "partition": 0}, {"topic": "grown", "partition": 77}]}'
REASSIGNMENT = '{"version": 1, "partitions": [{"topic": "grown", "partition": 0, "replicas": [1]}]}'

STEPS = (
    confluent("create topics to grow", lambda admin: admin.create_topics([NewTopic("grown", 1, 1)])),
    # Adding
    confluent("add partitions", lambda admin: admin.create_partitions([NewPartitions("grown", 3)])),
    confluent(
        "add partitions, validate only",
        lambda admin: admin.create_partitions([NewPartitions("grown", 9)], validate_only=True),
    ),
    confluent("add no partitions", lambda admin: admin.create_partitions([NewPartitions("grown", 3)])),
    confluent("take partitions away", lambda admin: admin.create_partitions([NewPartitions("grown", 2)])),
    confluent("add partitions to no topic", lambda admin: admin.create_partitions([NewPartitions("unknown", 2)])),
    confluent(
        "add assigned partitions", lambda admin: admin.create_partitions([NewPartitions("grown", 5, [[1], [1]])])
    ),
    kafka_python("add partitions", lambda admin: admin.create_partitions({"grown": 6})),
    kafka_python("add no partitions", lambda admin: admin.create_partitions({"grown": 6})),
    aiokafka("add partitions", lambda admin: admin.create_partitions({"grown": AiokafkaNewPartitions(7)})),
    aiokafka("take partitions away", lambda admin: admin.create_partitions({"grown": AiokafkaNewPartitions(1)})),
    java(
        "add partitions that cannot be",
        "createPartitions",
        topics={
            "grown": {"total": 9, "assignments": [[1]]},
            "plain": {"total": 5, "assignments": [[1], [7]]},
            "tool": {"total": 3, "assignments": [[1, 1]]},
            "aio": {"total": 3, "assignments": [[]]},
            "configured": {"total": 0},
            "right-both": {"total": 2, "assignments": [[1], [1]]},
            "a/b": {"total": 2},
        },
    ),
    java(
        "add more partitions than a request may",
        "createPartitions",
        topics={"grown": {"total": 20_000}},
        validateOnly=True,
    ),
    wire(
        "add partitions to a topic twice",
        apis.CREATE_PARTITIONS,
        3,
        topics=[{"name": "grown", "count": 8}, {"name": "grown", "count": 9}, {"name": "plain", "count": 4}],
        timeout_ms=10_000,
    ),
    wire("add partitions to nothing", apis.CREATE_PARTITIONS, 3, topics=[], timeout_ms=10_000),
    tool("alter partitions", "kafka-topics", "--alter", "--topic", "grown", "--partitions", "8"),
    tool("alter to fewer partitions", "kafka-topics", "--alter", "--topic", "grown", "--partitions", "2"),
    tool("alter partitions of no topic", "kafka-topics", "--alter", "--topic", "unknown", "--partitions", "2"),
    tool("describe what has grown", "kafka-topics", "--describe", "--topic", "grown"),
    # Paging
    wire(
        "first page of partitions",
        apis.DESCRIBE_TOPIC_PARTITIONS,
        0,
        topics=[{"name": name} for name in ("plain", "grown", "unknown", "a/b")],
        response_partition_limit=5,
    ),
    wire(
        "next page of partitions",
        apis.DESCRIBE_TOPIC_PARTITIONS,
        0,
        topics=[{"name": name} for name in ("plain", "grown", "unknown")],
        response_partition_limit=5,
        cursor={"topic_name": "grown", "partition_index": 5},
    ),
    wire(
        "a page from the middle of a topic that is gone",
        apis.DESCRIBE_TOPIC_PARTITIONS,
        0,
        topics=[{"name": name} for name in ("grown", "plain")],
        response_partition_limit=2,
        cursor={"topic_name": "h", "partition_index": 3},
    ),
    wire(
        "all topics by pages",
        apis.DESCRIBE_TOPIC_PARTITIONS,
        0,
        topics=[],
        response_partition_limit=4,
        cursor={"topic_name": "grown", "partition_index": 7},
    ),
    wire(
        "a page from partition -1",
        apis.DESCRIBE_TOPIC_PARTITIONS,
        0,
        topics=[{"name": "plain"}],
        response_partition_limit=4,
        cursor={"topic_name": "plain", "partition_index": -1},
    ),
    wire(
        "a page of no partitions",
        apis.DESCRIBE_TOPIC_PARTITIONS,
        0,
        topics=[{"name": "plain"}],
        response_partition_limit=0,
    ),
    # Elections
    java("elect preferred leaders", "electLeaders", type="PREFERRED", partitions=["plain-0", "plain-9", "unknown-0"]),
    java("elect unclean leaders", "electLeaders", type="UNCLEAN", partitions=["plain-0"]),
    java("elect leaders of everything", "electLeaders", type="PREFERRED"),
    confluent(
        "elect preferred leaders",
        lambda admin: admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition("plain", 0)]),
    ),
    kafka_python("elect preferred leaders", lambda admin: admin.elect_leaders(0, {"plain": [0, 1]})),
    tool(
        "elect preferred leaders",
        "kafka-leader-election",
        *("--election-type", "preferred", "--path-to-json-file", FILE),
        file=PREFERRED,
    ),
    # Reassignments
    java("list reassignments", "listPartitionReassignments"),
    kafka_python("list reassignments", lambda admin: admin.list_partition_reassignments()),
    wire(
        "list reassignments of some",
        apis.LIST_PARTITION_REASSIGNMENTS,
        0,
        timeout_ms=10_000,
        topics=[{"name": "plain", "partition_indexes": [0, 9]}, {"name": "unknown", "partition_indexes": [0]}],
    ),
    java(
        "reassign",
        "alterPartitionReassignments",
        partitions={
            "plain-0": [1],
            "plain-1": [7],
            "plain-2": None,
            "unknown-0": [1],
            "grown-1": [],
            "grown-2": [1, 1],
        },
    ),
    kafka_python(
        "reassign to where it is",
        lambda admin: admin.alter_partition_reassignments({PythonTopicPartition("plain", 0): [1]}),
    ),
    tool("list reassignments", "kafka-reassign-partitions", "--list"),
    tool(
        "execute a reassignment",
        "kafka-reassign-partitions",
        *("--execute", "--reassignment-json-file", FILE),
        file=REASSIGNMENT,
    ),
    tool(
        "verify a reassignment",
        "kafka-reassign-partitions",
        *("--verify", "--reassignment-json-file", FILE),
        file=REASSIGNMENT,
    ),
)
