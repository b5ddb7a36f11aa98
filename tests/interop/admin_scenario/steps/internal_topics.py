"""Kafka's own topics, as administrators see them, and what they refuse; topics that are made by being asked for."""

from __future__ import annotations

from kcore.protocol import apis
from tests.interop.admin_scenario.step import java, tool, wire
from tests.interop.admin_scenario.steps.records import produce

OFFSETS = "__consumer_offsets"
CHANGED = ("cleanup.policy", "compression.type", "segment.bytes", "retention.ms", "min.insync.replicas")
DELETE_OFFSETS = '{"partitions": [{"topic": "__consumer_offsets", "partition": 0, "offset": 0}], "version": 1}'

STEPS = (
    java("list internal topics", "listTopics", internal=True),
    java("describe an internal topic", "describeTopics", names=[OFFSETS]),
    java("describe an internal topic's configuration", "describeConfigs", resources=[["TOPIC", OFFSETS]], only=CHANGED),
    java("create a topic of Kafka's own", "createTopics", topics=[{"name": OFFSETS, "partitions": 1}]),
    java(
        "add partitions to an internal topic, validate only",
        "createPartitions",
        topics={OFFSETS: {"total": 9}},
        validateOnly=True,
    ),
    java("delete records of an internal topic", "deleteRecords", partitions={f"{OFFSETS}-0": 0}),
    tool("delete of an internal topic", "kafka-delete-records", "--offset-json-file", "<file>", file=DELETE_OFFSETS),
    produce("produce to an internal topic", OFFSETS, 0),
    tool("list without internal topics", "kafka-topics", "--list", "--exclude-internal"),
    tool("describe an internal topic", "kafka-topics", "--describe", "--topic", OFFSETS),
    tool("of internal topics too", "kafka-get-offsets", "--topic", "__.*"),
    tool("without internal topics", "kafka-get-offsets", "--topic", "__.*", "--exclude-internal-topics"),
    tool(
        "describe what is internal", "kafka-configs", "--describe", "--entity-type", "topics", "--entity-name", OFFSETS
    ),
    # Made by being asked for. Kafka makes the topic later than it answers.
    wire("metadata makes a topic", apis.METADATA, 9, topics=[{"name": "asked-for"}], allow_auto_topic_creation=True),
    java("describe the topic that was made", "describeTopics", names=["asked-for"]),
    wire(
        "metadata makes no topic of such a name",
        apis.METADATA,
        9,
        topics=[{"name": "asked for"}],
        allow_auto_topic_creation=True,
    ),
)
