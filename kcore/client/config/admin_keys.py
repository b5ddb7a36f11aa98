"""Configurations that only an admin client has, or has with another default (AdminClientConfig of Kafka 4)."""

from __future__ import annotations

from kcore.config.definition import BOOLEAN, HIGH, INT, INT_MAX, LIST, LONG, LOW, STRING, ConfigKey, unused
from kcore.config.validators import BUFFER_SIZE, at_least, between

KEYS = (
    unused("bootstrap.controllers", LIST, (), importance=HIGH),
    ConfigKey("bootstrap.servers", LIST, (), importance=HIGH),
    ConfigKey("client.id", STRING, ""),
    ConfigKey("connections.max.idle.ms", LONG, 300_000),
    ConfigKey("default.api.timeout.ms", INT, 60_000, at_least(0)),
    unused("enable.metrics.push", BOOLEAN, False, importance=LOW),
    ConfigKey("receive.buffer.bytes", INT, -1, BUFFER_SIZE),
    ConfigKey("retries", INT, INT_MAX, between(0, INT_MAX), importance=LOW),
)
