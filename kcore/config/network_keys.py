"""Listeners, sockets, connections and request threads (SocketServerConfigs of Kafka 3.9).

One default differs on purpose: socket buffers are left to the kernel's autotuning (-1), because a fixed one only
makes them smaller. Kafka's stock files set 102400, its old default, so that value in a file counts as unset.
"""

from __future__ import annotations

from kcore.config.definition import (
    CLUSTER_WIDE,
    HIGH,
    INT,
    INT_MAX,
    LONG,
    LOW,
    PER_BROKER,
    STRING,
    ConfigKey,
    at_least,
    one_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.config.definition import ConfigValue

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
DEFAULT_PROTOCOL_MAP = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"
KAFKA_SOCKET_BUFFER_BYTES = 102_400
SOCKET_BUFFER_KEYS = ("socket.send.buffer.bytes", "socket.receive.buffer.bytes")


def buffer_size(value: ConfigValue) -> str | None:
    """A size, or -1 for the kernel's choice."""
    assert isinstance(value, int)
    return None if value == -1 or value >= 1 else "Value must be -1 or at least 1"


KEYS = (
    ConfigKey(
        "listeners",
        STRING,
        "PLAINTEXT://:9092",
        "The addresses to listen on, as NAME://HOST:PORT. An empty host means every interface, port 0 a free port.",
        None,
        HIGH,
        PER_BROKER,
    ),
    ConfigKey(
        "advertised.listeners",
        STRING,
        None,
        "The addresses that clients are told to use. Without it each client is told the address at "
        "which it reached this broker.",
        None,
        HIGH,
        PER_BROKER,
    ),
    ConfigKey(
        "listener.security.protocol.map",
        STRING,
        DEFAULT_PROTOCOL_MAP,
        "The security protocol of each listener name, as NAME:PROTOCOL.",
        None,
        LOW,
        PER_BROKER,
    ),
    ConfigKey(
        "controller.listener.names",
        STRING,
        None,
        "Listeners of KRaft's controller; they are not opened, as the controller lives in this process.",
        None,
        HIGH,
    ),
    ConfigKey("inter.broker.listener.name", STRING, None, "The listener that brokers use among themselves."),
    ConfigKey(
        "security.inter.broker.protocol",
        STRING,
        "PLAINTEXT",
        "The protocol that brokers use among themselves, where inter.broker.listener.name is not given.",
        one_of(*SECURITY_PROTOCOLS),
    ),
    ConfigKey(
        "socket.send.buffer.bytes",
        INT,
        -1,
        "The send buffer of a connection; -1 leaves it to the kernel.",
        buffer_size,
        HIGH,
    ),
    ConfigKey(
        "socket.receive.buffer.bytes",
        INT,
        -1,
        "The receive buffer of a connection; -1 leaves it to the kernel.",
        buffer_size,
        HIGH,
    ),
    ConfigKey("socket.request.max.bytes", INT, 104_857_600, "The largest request that is read.", at_least(1), HIGH),
    ConfigKey("socket.listen.backlog.size", INT, 50, "How many connections may wait to be accepted.", at_least(1)),
    ConfigKey(
        "connections.max.idle.ms", LONG, 600_000, "How long a connection may be silent before it is closed.", None
    ),
    ConfigKey(
        "max.connections",
        INT,
        INT_MAX,
        "The most connections that the broker holds open.",
        at_least(0),
        mode=CLUSTER_WIDE,
    ),
    ConfigKey(
        "max.connections.per.ip", INT, INT_MAX, "The most connections from one address.", at_least(0), mode=CLUSTER_WIDE
    ),
    ConfigKey(
        "max.connections.per.ip.overrides",
        STRING,
        "",
        "Other bounds for some addresses, as ADDRESS:COUNT,...",
        None,
        mode=CLUSTER_WIDE,
    ),
    ConfigKey(
        "max.connection.creation.rate",
        INT,
        INT_MAX,
        "The most new connections in a second.",
        at_least(0),
        mode=CLUSTER_WIDE,
    ),
    ConfigKey(
        "connection.failed.authentication.delay.ms",
        INT,
        100,
        "How long the closing of an unauthenticated connection is put off.",
        at_least(0),
        LOW,
    ),
    ConfigKey(
        "num.network.threads",
        INT,
        3,
        "The threads that read requests and send responses.",
        at_least(1),
        HIGH,
        CLUSTER_WIDE,
    ),
    ConfigKey("num.io.threads", INT, 8, "The threads that handle requests.", at_least(1), HIGH, CLUSTER_WIDE),
    ConfigKey("background.threads", INT, 10, "The threads of background work.", at_least(1), HIGH, CLUSTER_WIDE),
    ConfigKey(
        "queued.max.requests",
        INT,
        500,
        "The requests that may wait for a handler before the network threads stop reading.",
        at_least(1),
        HIGH,
    ),
    ConfigKey(
        "queued.max.request.bytes",
        LONG,
        -1,
        "The bytes of requests that are being received, wait for a handler or are handled, before the network threads "
        "stop reading large ones; -1 means without bound. Requests up to 16 KiB are bounded by their number.",
        None,
    ),
    ConfigKey("request.timeout.ms", INT, 30_000, "How long an answer of another broker is waited for.", None, HIGH),
)
