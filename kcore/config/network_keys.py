"""Listeners, sockets, connections and request threads (SocketServerConfigs of Kafka 4.3).

One default differs on purpose: socket buffers are left to the kernel's autotuning (-1), because a fixed one only
makes them smaller. Kafka's stock files set 102400, its old default, so that value in a file counts as unset.
"""

from __future__ import annotations

from kcore.config.definition import CLUSTER_WIDE, HIGH, INT, INT_MAX, LONG, LOW, PER_BROKER, STRING, ConfigKey, unused
from kcore.config.validators import BUFFER_SIZE, at_least, one_of

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
DEFAULT_PROTOCOL_MAP = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"
KAFKA_SOCKET_BUFFER_BYTES = 102_400
SOCKET_BUFFER_KEYS = ("socket.send.buffer.bytes", "socket.receive.buffer.bytes")

KEYS = (
    ConfigKey("advertised.listeners", STRING, None, importance=HIGH, mode=PER_BROKER),
    unused("background.threads", INT, 10, at_least(1), HIGH, CLUSTER_WIDE),
    unused("connection.failed.authentication.delay.ms", INT, 100, at_least(0), LOW),
    ConfigKey("connections.max.idle.ms", LONG, 600_000),
    unused("control.plane.listener.name", STRING, None, importance=HIGH),
    ConfigKey("controller.listener.names", STRING, None, importance=HIGH),
    unused("early.start.listeners", STRING, None, importance=HIGH),
    ConfigKey("inter.broker.listener.name", STRING, None),
    ConfigKey("listener.security.protocol.map", STRING, DEFAULT_PROTOCOL_MAP, importance=LOW, mode=PER_BROKER),
    ConfigKey("listeners", STRING, "PLAINTEXT://:9092", importance=HIGH, mode=PER_BROKER),
    ConfigKey("max.connection.creation.rate", INT, INT_MAX, at_least(0), mode=CLUSTER_WIDE),
    ConfigKey("max.connections", INT, INT_MAX, at_least(0), mode=CLUSTER_WIDE),
    ConfigKey("max.connections.per.ip", INT, INT_MAX, at_least(0), mode=CLUSTER_WIDE),
    ConfigKey("max.connections.per.ip.overrides", STRING, "", mode=CLUSTER_WIDE),
    ConfigKey("num.io.threads", INT, 8, at_least(1), HIGH, CLUSTER_WIDE),
    ConfigKey("num.network.threads", INT, 3, at_least(1), HIGH, CLUSTER_WIDE),
    ConfigKey("queued.max.request.bytes", LONG, -1),
    ConfigKey("queued.max.requests", INT, 500, at_least(1), HIGH),
    unused("request.timeout.ms", INT, 30_000, importance=HIGH),
    ConfigKey("security.inter.broker.protocol", STRING, "PLAINTEXT", one_of(*SECURITY_PROTOCOLS)),
    unused("socket.connection.setup.timeout.max.ms", LONG, 30_000),
    unused("socket.connection.setup.timeout.ms", LONG, 10_000),
    ConfigKey("socket.listen.backlog.size", INT, 50, at_least(1)),
    ConfigKey("socket.receive.buffer.bytes", INT, -1, BUFFER_SIZE, HIGH),
    ConfigKey("socket.request.max.bytes", INT, 104_857_600, at_least(1), HIGH),
    ConfigKey("socket.send.buffer.bytes", INT, -1, BUFFER_SIZE, HIGH),
)
