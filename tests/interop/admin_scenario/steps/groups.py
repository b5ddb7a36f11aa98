"""Consumer groups and their offsets, as administrators see and change them."""

from __future__ import annotations

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as PythonTopicPartition

from kcore.protocol import apis
from tests.interop.admin_scenario.step import aiokafka, confluent, java, kafka_python, tool, wire

STEPS = (
    java("list no groups", "listGroups"),
    java("alter offsets of a group", "alterGroupOffsets", group="made", partitions={"records-0": 5, "records-1": 6}),
    java(
        "alter offsets of no partition", "alterGroupOffsets", group="made", partitions={"unknown-0": 5, "records-9": 1}
    ),
    java("list groups", "listGroups"),
    java("list offsets of a group", "listGroupOffsets", group="made"),
    java("list offsets of no group", "listGroupOffsets", group="unknown"),
    java("describe groups", "describeGroups", groups=["made", "unknown"]),
    confluent("list groups", lambda admin: admin.list_consumer_groups()),
    confluent("describe groups", lambda admin: admin.describe_consumer_groups(["made"])),
    confluent(
        "list offsets of a group",
        lambda admin: admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("made")]),
    ),
    confluent(
        "alter offsets of a group",
        lambda admin: admin.alter_consumer_group_offsets(
            [ConsumerGroupTopicPartitions("made", [TopicPartition("records", 0, 7)])]
        ),
    ),
    kafka_python("list groups", lambda admin: admin.list_groups()),
    kafka_python("describe groups", lambda admin: admin.describe_groups(["made"])),
    kafka_python("list offsets of a group", lambda admin: admin.list_group_offsets({"made": None})),
    kafka_python(
        "alter offsets of a group",
        lambda admin: admin.alter_group_offsets(
            "made", {PythonTopicPartition("records", 1): OffsetAndMetadata(2, "moved", -1)}
        ),
    ),
    aiokafka("list groups", lambda admin: admin.list_consumer_groups()),
    aiokafka("list offsets of a group", lambda admin: admin.list_consumer_group_offsets("made")),
    aiokafka("describe groups", lambda admin: admin.describe_consumer_groups(["made"])),
    tool("list", "kafka-consumer-groups", "--list"),
    tool("describe", "kafka-consumer-groups", "--describe", "--group", "made"),
    tool("describe an unknown group", "kafka-consumer-groups", "--describe", "--group", "unknown"),
    tool("describe the state", "kafka-consumer-groups", "--describe", "--group", "made", "--state"),
    tool(
        "reset offsets",
        "kafka-consumer-groups",
        *("--group", "made", "--topic", "records:1", "--reset-offsets", "--to-earliest", "--execute"),
    ),
    wire(
        "commit an offset of an unknown member",
        apis.OFFSET_COMMIT,
        8,
        group_id="made",
        generation_id_or_member_epoch=3,
        member_id="nobody",
        topics=[{"name": "records", "partitions": [{"partition_index": 0, "committed_offset": 1}]}],
    ),
    wire(
        "commit an offset to an unknown group",
        apis.OFFSET_COMMIT,
        8,
        group_id="unknown",
        generation_id_or_member_epoch=3,
        member_id="nobody",
        topics=[{"name": "records", "partitions": [{"partition_index": 0, "committed_offset": 1}]}],
    ),
    wire("heartbeat of an unknown member", apis.HEARTBEAT, 4, group_id="made", generation_id=1, member_id="nobody"),
    wire("leave of an unknown member", apis.LEAVE_GROUP, 4, group_id="made", members=[{"member_id": "nobody"}]),
    wire("coordinator of a group without a name", apis.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=["made", ""]),
    wire("coordinator of an unknown kind", apis.FIND_COORDINATOR, 4, key_type=9, coordinator_keys=["made"]),
    java("delete offsets of a group", "deleteGroupOffsets", group="made", partitions=["records-0", "unknown-0"]),
    java("delete offsets of no group", "deleteGroupOffsets", group="unknown", partitions=["records-0"]),
    java("delete groups", "deleteGroups", groups=["made", "unknown"]),
    tool("delete", "kafka-consumer-groups", "--delete", "--group", "made"),
    java("list groups that are left", "listGroups"),
)
