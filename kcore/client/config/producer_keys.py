"""Configurations that only a producer has, or has with another default (ProducerConfig of Kafka 4)."""

from __future__ import annotations

from kcore.config.definition import BOOLEAN, CLASS, HIGH, INT, INT_MAX, LIST, LONG, LOW, STRING, ConfigKey, unused
from kcore.config.validators import BUFFER_SIZE, NON_EMPTY_STRING, at_least, between, level_between, one_of

KEYS = (
    ConfigKey("acks", STRING, "all", one_of("all", "-1", "0", "1"), importance=LOW),
    ConfigKey("batch.size", INT, 16_384, at_least(0)),
    ConfigKey("bootstrap.servers", LIST, (), importance=HIGH),
    ConfigKey("buffer.memory", LONG, 33_554_432, at_least(0), importance=HIGH),
    ConfigKey("client.id", STRING, ""),
    ConfigKey("compression.gzip.level", INT, -1, level_between(1, 9, -1)),
    ConfigKey("compression.lz4.level", INT, 9, between(1, 17)),
    ConfigKey("compression.type", STRING, "none", one_of("none", "gzip", "snappy", "lz4", "zstd"), importance=HIGH),
    ConfigKey("compression.zstd.level", INT, 3, between(-131_072, 22)),
    ConfigKey("connections.max.idle.ms", LONG, 540_000),
    ConfigKey("delivery.timeout.ms", INT, 120_000, at_least(0)),
    ConfigKey("enable.idempotence", BOOLEAN, True, importance=LOW),
    unused("enable.metrics.push", BOOLEAN, True, importance=LOW),
    ConfigKey("interceptor.classes", LIST, (), importance=LOW),
    ConfigKey("key.serializer", CLASS, None, importance=HIGH),
    ConfigKey("linger.ms", LONG, 0, at_least(0)),
    ConfigKey("max.block.ms", LONG, 60_000, at_least(0)),
    ConfigKey("max.in.flight.requests.per.connection", INT, 5, at_least(1), importance=LOW),
    ConfigKey("max.request.size", INT, 1_048_576, at_least(0)),
    ConfigKey("metadata.max.idle.ms", LONG, 300_000, at_least(5000), importance=LOW),
    ConfigKey("partitioner.adaptive.partitioning.enable", BOOLEAN, True, importance=LOW),
    ConfigKey("partitioner.availability.timeout.ms", LONG, 0, at_least(0), importance=LOW),
    ConfigKey("partitioner.class", CLASS, None),
    ConfigKey("partitioner.ignore.keys", BOOLEAN, False),
    ConfigKey("receive.buffer.bytes", INT, -1, BUFFER_SIZE),
    ConfigKey("retries", INT, INT_MAX, between(0, INT_MAX), importance=HIGH),
    ConfigKey("transaction.timeout.ms", INT, 60_000, importance=LOW),
    unused("transaction.two.phase.commit.enable", BOOLEAN, False, importance=LOW),
    ConfigKey("transactional.id", STRING, None, NON_EMPTY_STRING, importance=LOW),
    ConfigKey("value.serializer", CLASS, None, importance=HIGH),
)
