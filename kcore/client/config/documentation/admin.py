"""What the keys of `admin_keys.py` are for."""

TEXTS = {
    "bootstrap.controllers": "KRaft controllers to ask in the place of brokers.",
    "bootstrap.servers": "Brokers to begin with, HOST:PORT,HOST:PORT; the others are learnt from them.",
    "client.id": "The name by which the client is known to brokers: their logs, metrics and quotas.",
    "connections.max.idle.ms": "After how long without use a connection is closed; -1 never.",
    "default.api.timeout.ms": "How long a call may take with all retries; at least request.timeout.ms.",
    "enable.metrics.push": "Whether brokers may ask the client for its metrics (KIP-714).",
    "receive.buffer.bytes": "The size of a connection's receive buffer (SO_RCVBUF); -1 leaves it to the kernel.",
    "retries": "How often what failed for a passing reason is asked again within default.api.timeout.ms.",
}
