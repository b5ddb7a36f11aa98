"""What the keys of `network_keys.py` are for."""

TEXTS = {
    "advertised.listeners": (
        "The addresses that clients are told to use. Without it each client is told the address at which it "
        "reached this broker. Port 0 is the port that was taken. Here it is not changed while the broker runs."
    ),
    "background.threads": "The threads of background work.",
    "connection.failed.authentication.delay.ms": "How long the closing of an unauthenticated connection is put off.",
    "connections.max.idle.ms": "How long a connection may be silent before it is closed.",
    "control.plane.listener.name": "The listener of a ZooKeeper-mode controller's connections to brokers.",
    "controller.listener.names": (
        "Listeners of KRaft's controller; they are not opened, as the controller lives in this process."
    ),
    "early.start.listeners": "The listeners that are opened before an authorizer is ready.",
    "inter.broker.listener.name": "The listener that brokers use among themselves.",
    "listener.security.protocol.map": (
        "The security protocol of each listener name, as NAME:PROTOCOL. Here it is not changed while the broker runs."
    ),
    "listeners": (
        "The addresses to listen on, as NAME://HOST:PORT. An empty host means every interface, port 0 a free "
        "port. Here it is not changed while the broker runs."
    ),
    "max.connection.creation.rate": "The most new connections in a second.",
    "max.connections": "The most connections that the broker holds open.",
    "max.connections.per.ip": "The most connections from one address.",
    "max.connections.per.ip.overrides": "Other bounds for some addresses, as ADDRESS:COUNT,...",
    "num.io.threads": "The threads that handle requests; the pool grows and shrinks at once.",
    "num.network.threads": (
        "The threads that read requests and send responses. A change is for new connections: those that are open stay "
        "with the thread that has them, and a thread that gets no more of them lives on without work."
    ),
    "queued.max.request.bytes": (
        "The bytes of requests that are being received, wait for a handler or are handled, before the network "
        "threads stop reading large ones; -1 means without bound. Requests up to 16 KiB are bounded by their "
        "number."
    ),
    "queued.max.requests": "The requests that may wait for a handler before the network threads stop reading.",
    "request.timeout.ms": "How long an answer of another broker is waited for.",
    "security.inter.broker.protocol": (
        "The protocol that brokers use among themselves, where inter.broker.listener.name is not given."
    ),
    "socket.connection.setup.timeout.max.ms": (
        "The longest time that setting up a connection to another broker may take."
    ),
    "socket.connection.setup.timeout.ms": "How long setting up a connection to another broker may take at first.",
    "socket.listen.backlog.size": "How many connections may wait to be accepted.",
    "socket.receive.buffer.bytes": "The receive buffer of a connection; -1 leaves it to the kernel.",
    "socket.request.max.bytes": "The largest request that is read.",
    "socket.send.buffer.bytes": "The send buffer of a connection; -1 leaves it to the kernel.",
}
