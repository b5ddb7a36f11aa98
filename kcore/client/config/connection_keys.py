"""Configurations that all clients have: brokers, metadata, backoff, sockets (CommonClientConfigs of Kafka 4).

Those with different defaults or importance are in the tables of the clients.
"""

from __future__ import annotations

from kcore.config.definition import INT, LIST, LONG, LOW, STRING, ConfigKey, unused
from kcore.config.validators import BUFFER_SIZE, at_least, one_of, one_of_any_case

KEYS = (
    ConfigKey(
        "client.dns.lookup",
        STRING,
        "use_all_dns_ips",
        one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    ),
    unused("config.providers", LIST, (), importance=LOW),
    ConfigKey("metadata.max.age.ms", LONG, 300_000, at_least(0), importance=LOW),
    ConfigKey("metadata.recovery.rebootstrap.trigger.ms", LONG, 300_000, at_least(0), importance=LOW),
    ConfigKey(
        "metadata.recovery.strategy", STRING, "rebootstrap", one_of_any_case("REBOOTSTRAP", "NONE"), importance=LOW
    ),
    unused("metric.reporters", LIST, ("org.apache.kafka.common.metrics.JmxReporter",), importance=LOW),
    unused("metrics.num.samples", INT, 2, at_least(1), importance=LOW),
    unused("metrics.recording.level", STRING, "INFO", one_of("INFO", "DEBUG", "TRACE"), importance=LOW),
    unused("metrics.sample.window.ms", LONG, 30_000, at_least(0), importance=LOW),
    ConfigKey("reconnect.backoff.max.ms", LONG, 1000, at_least(0), importance=LOW),
    ConfigKey("reconnect.backoff.ms", LONG, 50, at_least(0), importance=LOW),
    ConfigKey("request.timeout.ms", INT, 30_000, at_least(0)),
    ConfigKey("retry.backoff.max.ms", LONG, 1000, at_least(0), importance=LOW),
    ConfigKey("retry.backoff.ms", LONG, 100, at_least(0), importance=LOW),
    ConfigKey("send.buffer.bytes", INT, -1, BUFFER_SIZE),
    ConfigKey("socket.connection.setup.timeout.max.ms", LONG, 30_000),
    ConfigKey("socket.connection.setup.timeout.ms", LONG, 10_000),
)
