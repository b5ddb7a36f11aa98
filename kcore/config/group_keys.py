"""Consumer groups and the topic of their offsets (GroupCoordinatorConfig of Kafka 3.9)."""

from __future__ import annotations

from kcore.config.definition import HIGH, INT, INT_MAX, LONG, SHORT, ConfigKey, at_least

KEYS = (
    ConfigKey(
        "group.min.session.timeout.ms", INT, 6000, "The shortest session time-out that a group's member may ask for."
    ),
    ConfigKey(
        "group.max.session.timeout.ms",
        INT,
        1_800_000,
        "The longest session time-out that a group's member may ask for.",
    ),
    ConfigKey(
        "group.initial.rebalance.delay.ms",
        INT,
        3000,
        "How long the first rebalance of an empty group waits for more members. 0 with the embedded metadata store.",
    ),
    ConfigKey("group.max.size", INT, INT_MAX, "The most members of a group.", at_least(1)),
    ConfigKey(
        "offset.metadata.max.bytes", INT, 4096, "The longest text that may be committed with an offset.", None, HIGH
    ),
    ConfigKey(
        "offsets.load.buffer.size",
        INT,
        5_242_880,
        "How many bytes are read at a time when committed offsets are loaded.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "offsets.topic.replication.factor",
        SHORT,
        3,
        "The replicas of the topic of committed offsets. 1 with the embedded metadata store.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "offsets.topic.num.partitions",
        INT,
        50,
        "The partitions of the topic of committed offsets; not to be changed later.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "offsets.topic.segment.bytes",
        INT,
        104_857_600,
        "The segment size of the topic of committed offsets.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "offsets.topic.compression.codec", INT, 0, "The codec number of the topic of committed offsets.", None, HIGH
    ),
    ConfigKey(
        "offsets.retention.minutes", INT, 10_080, "How long the offsets of an empty group are kept.", at_least(1), HIGH
    ),
    ConfigKey(
        "offsets.retention.check.interval.ms",
        LONG,
        600_000,
        "How often groups that have neither members nor offsets are forgotten.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "offsets.commit.timeout.ms", INT, 5000, "How long a commit may wait for its replicas.", at_least(1), HIGH
    ),
    ConfigKey(
        "offsets.commit.required.acks",
        SHORT,
        -1,
        "The acknowledgements that a commit waits for; -1 means all.",
        None,
        HIGH,
    ),
)
