"""Descriptions of the configurations in `network_keys.py`."""

TEXTS = {
    "advertised.listeners": (
        "Addresses that clients use to connect. By default a client gets the address at which it reached this broker. "
        "Port 0 means the port that the listener got. It cannot be changed while the broker runs."
    ),
    "background.threads": "Number of threads for background work.",
    "connection.failed.authentication.delay.ms": "Delay before a connection is closed after failed authentication.",
    "connections.max.idle.ms": "Maximum idle time of a connection. The broker closes idle connections.",
    "control.plane.listener.name": "Listener for connections from the controller to brokers in ZooKeeper mode.",
    "controller.listener.names": (
        "Listeners of the KRaft controller. kcli does not open them, because its controller runs in the broker process."
    ),
    "early.start.listeners": "Listeners that are opened before the authorizer is ready.",
    "inter.broker.listener.name": "Listener for connections between brokers.",
    "listener.security.protocol.map": (
        "Security protocol of each listener name, as NAME:PROTOCOL. It cannot be changed while the broker runs."
    ),
    "listeners": (
        "Addresses to listen on, as NAME://HOST:PORT. An empty host means all interfaces, port 0 a free port. It "
        "cannot be changed while the broker runs."
    ),
    "max.connection.creation.rate": "Maximum number of new connections per second.",
    "max.connections": "Maximum number of open connections of the broker.",
    "max.connections.per.ip": "Maximum number of connections from one IP address.",
    "max.connections.per.ip.overrides": "Other limits for single addresses, as ADDRESS:COUNT,...",
    "num.io.threads": "Number of handler threads. A change takes effect at once.",
    "num.network.threads": (
        "Number of threads that read requests and send responses. A change applies to new connections. Open "
        "connections stay with their thread."
    ),
    "queued.max.request.bytes": (
        "Maximum memory for requests that are being received, queued or handled. At the limit, network threads stop "
        "reading large requests. Requests up to 16 KiB are not counted. -1 means no limit."
    ),
    "queued.max.requests": (
        "Maximum number of requests that wait for a handler. At the limit, network threads stop reading."
    ),
    "request.timeout.ms": "Maximum time to wait for a response of another broker.",
    "security.inter.broker.protocol": (
        "Security protocol between brokers. Used if inter.broker.listener.name is not set."
    ),
    "socket.connection.setup.timeout.max.ms": "Maximum timeout for setting up a connection to another broker.",
    "socket.connection.setup.timeout.ms": "Initial timeout for setting up a connection to another broker.",
    "socket.listen.backlog.size": "Maximum number of connections that wait to be accepted.",
    "socket.receive.buffer.bytes": "Receive buffer of a connection (SO_RCVBUF). -1 leaves it to the kernel.",
    "socket.request.max.bytes": "Maximum size of a request.",
    "socket.send.buffer.bytes": "Send buffer of a connection (SO_SNDBUF). -1 leaves it to the kernel.",
}
