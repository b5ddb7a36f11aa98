"""Records: where they begin and end, by offset and by time, deleting them, the producers of them, and their files.

Java asks again for a topic or a broker that is not there until its time is over: those questions are put as bytes.
"""

from __future__ import annotations

from aiokafka.admin import RecordsToDelete
from aiokafka.structs import TopicPartition as AiokafkaTopicPartition
from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec
from confluent_kafka.cimpl import NewTopic
from kafka.record import MemoryRecordsBuilder
from kafka.structs import TopicPartition as PythonTopicPartition

from kcore.protocol import apis
from tests.interop.admin_scenario.step import FILE, Step, aiokafka, confluent, java, kafka_python, tool, wire

# The times of the records: the largest is not the last.
FIRST = 1_700_000_000_000
TIMES = [FIRST, FIRST + 1000, FIRST + 9000, FIRST + 3000, FIRST + 4000]
DELETE_TWO = '{"partitions": [{"topic": "records", "partition": 1, "offset": 2}], "version": 1}'
DELETE_BEYOND = '{"partitions": [{"topic": "records", "partition": 1, "offset": 99}], "version": 1}'
DELETE_NOTHING = '{"partitions": [], "version": 1}'


def batch(producer_id: int = -1, sequence: int = 0) -> bytes:
    """A record for each of the times, with its number as key and value."""
    producer = (-1, -1, -1) if producer_id < 0 else (producer_id, 0, sequence)
    builder = MemoryRecordsBuilder(2, 0, 1 << 20, 0, False, *producer)
    for number, timestamp in enumerate(TIMES):
        builder.append(timestamp, b"%d" % number, b"%d" % number)
    builder.close()
    return bytes(builder.buffer())


def produce(about: str, topic: str, partition: int, producer_id: int = -1, sequence: int = 0) -> Step:
    """Writes a batch."""
    data = [{"index": partition, "records": batch(producer_id, sequence)}]
    return wire(
        about, apis.PRODUCE, 9, acks=-1, timeout_ms=10_000, topic_data=[{"name": topic, "partition_data": data}]
    )


def list_offsets(*timestamps: int) -> list[dict[str, object]]:
    """The topics of a ListOffsets request: these timestamps, of partition 0 each."""
    return [
        {"name": "records", "partitions": [{"partition_index": 0, "timestamp": timestamp, "current_leader_epoch": -1}]}
        for timestamp in timestamps
    ]


STEPS = (
    confluent(
        "create topics for records",
        lambda admin: admin.create_topics(
            [
                NewTopic("records", 2, 1, config={"retention.ms": "-1"}),
                NewTopic("compacted", 1, 1, config={"cleanup.policy": "compact", "retention.ms": "-1"}),
                NewTopic("empty", 1, 1),
            ]
        ),
    ),
    produce("produce", "records", 0),
    produce("produce to another partition", "records", 1),
    produce("produce idempotently", "records", 1, producer_id=4000),
    produce("produce idempotently once more", "records", 1, producer_id=4000),
    produce("produce out of order", "records", 1, producer_id=4000, sequence=99),
    produce("produce to a compacted topic", "compacted", 0),
    produce("produce to a partition that is not there", "records", 7),
    produce("produce to a topic that is not there", "unknown", 0),
    # Offsets
    *(
        java(f"list offsets: {spec}", "listOffsets", partitions=dict.fromkeys(("records-0", "empty-0"), spec))
        for spec in ("earliest", "latest", "max timestamp", "earliest local", "latest tiered")
    ),
    *(
        java(f"list offsets by time: {about}", "listOffsets", partitions={"records-0": timestamp, "empty-0": timestamp})
        for about, timestamp in (
            ("before all", FIRST - 1),
            ("between two", FIRST + 1001),
            ("behind the largest", FIRST + 9001),
        )
    ),
    wire(
        "list offsets of no partition",
        apis.LIST_OFFSETS,
        7,
        replica_id=-1,
        topics=[
            {"name": "records", "partitions": [{"partition_index": 7, "timestamp": -1}]},
            {"name": "unknown", "partitions": [{"partition_index": 0, "timestamp": -1}]},
        ],
    ),
    *(
        wire(
            f"list offsets of timestamp {timestamp}",
            apis.LIST_OFFSETS,
            9,
            replica_id=-1,
            topics=list_offsets(timestamp),
        )
        for timestamp in (-1, -2, -3, -4, -5, -6)
    ),
    wire(
        "list offsets by a version before max timestamp", apis.LIST_OFFSETS, 6, replica_id=-1, topics=list_offsets(-3)
    ),
    wire("list offsets by a version before local logs", apis.LIST_OFFSETS, 7, replica_id=-1, topics=list_offsets(-4)),
    wire(
        "list offsets of another leader epoch",
        apis.LIST_OFFSETS,
        7,
        replica_id=-1,
        topics=[
            {"name": "records", "partitions": [{"partition_index": 0, "timestamp": -1, "current_leader_epoch": 9}]}
        ],
    ),
    confluent(
        "list offsets",
        lambda admin: admin.list_offsets(
            {
                TopicPartition("records", 0): OffsetSpec.latest(),
                TopicPartition("records", 1): OffsetSpec.max_timestamp(),
                TopicPartition("records", 7): OffsetSpec.earliest(),
                TopicPartition("unknown", 0): OffsetSpec.earliest(),
            }
        ),
    ),
    kafka_python(
        "list offsets",
        lambda admin: admin.list_partition_offsets(
            {PythonTopicPartition("records", 0): -1, PythonTopicPartition("empty", 0): -2}
        ),
    ),
    tool("latest", "kafka-get-offsets", "--topic", "records"),
    tool("earliest", "kafka-get-offsets", "--topic", "records", "--time", "earliest"),
    tool("max timestamp", "kafka-get-offsets", "--topic", "records", "--time", "max-timestamp"),
    tool("by time", "kafka-get-offsets", "--topic", "records", "--time", str(FIRST + 2000)),
    tool("of some partitions", "kafka-get-offsets", "--topic-partitions", "records:1,empty:0-1"),
    tool("by pattern", "kafka-get-offsets", "--topic", "(rec|emp).*"),
    tool("of an unknown topic", "kafka-get-offsets", "--topic", "unknown"),
    tool("at no time", "kafka-get-offsets", "--topic", "records", "--time", "teatime"),
    tool("latest tiered", "kafka-get-offsets", "--topic", "records", "--time", "latest-tiered"),
    tool("of no partitions", "kafka-get-offsets", "--topic-partitions", "records:one"),
    tool("earliest local", "kafka-get-offsets", "--topic", "records", "--time", "earliest-local"),
    # Producers
    java("describe producers", "describeProducers", partitions=["records-0", "records-1"]),
    wire(
        "describe producers",
        apis.DESCRIBE_PRODUCERS,
        0,
        topics=[
            {"name": "empty", "partition_indexes": [0, 1]},
            {"name": "unknown", "partition_indexes": [0]},
            {"name": "a/b", "partition_indexes": [0]},
        ],
    ),
    # Deleting
    java("delete records", "deleteRecords", partitions={"records-0": 2}),
    java("delete records again", "deleteRecords", partitions={"records-0": 1}),
    java("delete records beyond the end", "deleteRecords", partitions={"records-0": 99}),
    java("delete records before -2", "deleteRecords", partitions={"records-0": -2}),
    java("delete records of a compacted topic", "deleteRecords", partitions={"compacted-0": 1}),
    wire(
        "delete records",
        apis.DELETE_RECORDS,
        2,
        topics=[
            {"name": "unknown", "partitions": [{"partition_index": 0, "offset": 0}]},
            {
                "name": "records",
                "partitions": [{"partition_index": 7, "offset": 0}, {"partition_index": 0, "offset": 3}],
            },
            {"name": "compacted", "partitions": [{"partition_index": 0, "offset": 3}]},
            {"name": "empty", "partitions": [{"partition_index": 0, "offset": -1}]},
        ],
        timeout_ms=10_000,
    ),
    confluent("delete records", lambda admin: admin.delete_records([TopicPartition("records", 1, 1)])),
    confluent("delete records beyond the end", lambda admin: admin.delete_records([TopicPartition("records", 1, 77)])),
    kafka_python("delete records", lambda admin: admin.delete_records({PythonTopicPartition("records", 1): 3})),
    kafka_python("delete records of no topic", lambda admin: admin.delete_records({PythonTopicPartition("no", 1): 3})),
    aiokafka(
        "delete records",
        lambda admin: admin.delete_records({AiokafkaTopicPartition("records", 1): RecordsToDelete(4)}),
    ),
    aiokafka(
        "delete records beyond the end",
        lambda admin: admin.delete_records({AiokafkaTopicPartition("records", 1): RecordsToDelete(400)}),
    ),
    tool("delete", "kafka-delete-records", "--offset-json-file", FILE, file=DELETE_TWO),
    tool("delete beyond the end", "kafka-delete-records", "--offset-json-file", FILE, file=DELETE_BEYOND),
    tool("delete nothing", "kafka-delete-records", "--offset-json-file", FILE, file=DELETE_NOTHING),
    java("delete all records", "deleteRecords", partitions={"records-0": -1}),
    java(
        "list offsets: earliest, after deleting",
        "listOffsets",
        partitions=dict.fromkeys(("records-0", "records-1"), "earliest"),
    ),
    java("list offsets: max timestamp, after deleting", "listOffsets", partitions={"records-0": "max timestamp"}),
    java("list offsets by time, after deleting", "listOffsets", partitions={"records-0": FIRST, "records-1": FIRST}),
    wire(
        "leader epochs",
        apis.OFFSET_FOR_LEADER_EPOCH,
        4,
        replica_id=-1,
        topics=[
            {
                "topic": topic,
                "partitions": [{"partition": partition, "current_leader_epoch": current, "leader_epoch": epoch}],
            }
            for topic, partition, current, epoch in (
                ("compacted", 0, -1, 0),
                ("empty", 0, 0, 0),
                ("empty", 0, -1, 5),
                ("records", 1, 9, 0),
                ("records", 9, -1, 0),
                ("unknown", 0, -1, 0),
            )
        ],
    ),
    # Files
    java("describe log directories", "describeLogDirs", brokers=[1]),
    kafka_python("describe log directories", lambda admin: admin.describe_log_dirs({"records": [0, 1]})),
    wire(
        "describe log directories of some",
        apis.DESCRIBE_LOG_DIRS,
        3,
        topics=[{"topic": "records", "partitions": [0, 9]}, {"topic": "unknown", "partitions": [0]}],
    ),
    wire("describe log directories of none", apis.DESCRIBE_LOG_DIRS, 4, topics=[]),
    tool("describe", "kafka-log-dirs", "--describe", "--topic-list", "records,compacted"),
    tool("describe one broker", "kafka-log-dirs", "--describe", "--broker-list", "1", "--topic-list", "empty"),
    tool("describe no broker", "kafka-log-dirs", "--describe", "--broker-list", "7"),
    java(
        "move a replica", "alterReplicaLogDirs", replicas=[["records", 0, 1, "/nowhere"], ["unknown", 0, 1, "/nowhere"]]
    ),
)
