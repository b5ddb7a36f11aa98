"""Configurations that only a consumer has, or has with another default (ConsumerConfig of Kafka 4)."""

from __future__ import annotations

from kcore.client.config.auto_offset_reset import AUTO_OFFSET_RESET
from kcore.config.definition import BOOLEAN, CLASS, HIGH, INT, LIST, LONG, LOW, STRING, ConfigKey, unused
from kcore.config.validators import BUFFER_SIZE, NON_EMPTY_STRING, at_least, one_of, one_of_any_case

KEYS = (
    ConfigKey("allow.auto.create.topics", BOOLEAN, True),
    ConfigKey("auto.commit.interval.ms", INT, 5000, at_least(0), importance=LOW),
    ConfigKey("auto.offset.reset", STRING, "latest", AUTO_OFFSET_RESET),
    ConfigKey("bootstrap.servers", LIST, (), importance=HIGH),
    ConfigKey("check.crcs", BOOLEAN, True, importance=LOW),
    ConfigKey("client.id", STRING, "", importance=LOW),
    ConfigKey("client.rack", STRING, "", importance=LOW),
    ConfigKey("connections.max.idle.ms", LONG, 540_000),
    ConfigKey("default.api.timeout.ms", INT, 60_000, at_least(0)),
    ConfigKey("enable.auto.commit", BOOLEAN, True),
    unused("enable.metrics.push", BOOLEAN, True, importance=LOW),
    ConfigKey("exclude.internal.topics", BOOLEAN, True),
    ConfigKey("fetch.max.bytes", INT, 52_428_800, at_least(0)),
    ConfigKey("fetch.max.wait.ms", INT, 500, at_least(0), importance=LOW),
    ConfigKey("fetch.min.bytes", INT, 1, at_least(0), importance=HIGH),
    ConfigKey("group.id", STRING, None, importance=HIGH),
    ConfigKey("group.instance.id", STRING, None, NON_EMPTY_STRING),
    ConfigKey("group.protocol", STRING, "classic", one_of_any_case("CONSUMER", "CLASSIC"), importance=HIGH),
    ConfigKey("group.remote.assignor", STRING, None),
    ConfigKey("heartbeat.interval.ms", INT, 3000, importance=HIGH),
    ConfigKey("interceptor.classes", LIST, (), importance=LOW),
    unused("internal.throw.on.fetch.stable.offset.unsupported", BOOLEAN, False, importance=LOW, is_internal=True),
    ConfigKey("isolation.level", STRING, "read_uncommitted", one_of("read_committed", "read_uncommitted")),
    ConfigKey("kcli.fetch.buffer.bytes", LONG, 67_108_864, at_least(0)),
    ConfigKey("kcli.fetch.decompressed.max.bytes", LONG, 268_435_456, at_least(1024), importance=LOW),
    ConfigKey("key.deserializer", CLASS, None, importance=HIGH),
    ConfigKey("max.partition.fetch.bytes", INT, 1_048_576, at_least(0), importance=HIGH),
    ConfigKey("max.poll.interval.ms", INT, 300_000, at_least(1)),
    ConfigKey("max.poll.records", INT, 500, at_least(1)),
    ConfigKey(
        "partition.assignment.strategy",
        LIST,
        (
            "org.apache.kafka.clients.consumer.RangeAssignor",
            "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        ),
    ),
    ConfigKey("receive.buffer.bytes", INT, -1, BUFFER_SIZE),
    ConfigKey("session.timeout.ms", INT, 45_000, importance=HIGH),
    unused("share.acknowledgement.mode", STRING, "implicit", one_of("implicit", "explicit")),
    unused("share.acquire.mode", STRING, "batch_optimized", one_of("batch_optimized", "record_limit")),
    ConfigKey("value.deserializer", CLASS, None, importance=HIGH),
)
