"""Descriptions of the keys of `admin_keys.py`."""

TEXTS = {
    "bootstrap.controllers": "Addresses of KRaft controllers to use in place of brokers.",
    "bootstrap.servers": (
        "Bootstrap servers, as HOST:PORT,HOST:PORT. The client gets the addresses of all other brokers from them."
    ),
    "client.id": "Name of the client in the logs, metrics and quotas of brokers.",
    "connections.max.idle.ms": "Maximum idle time of a connection. The client closes idle connections. -1 means never.",
    "default.api.timeout.ms": "Maximum time of a call, including all retries. At least request.timeout.ms.",
    "enable.metrics.push": "Whether brokers may request metrics of the client (KIP-714).",
    "receive.buffer.bytes": "Receive buffer of a connection (SO_RCVBUF). -1 leaves it to the kernel.",
    "retries": "Maximum number of retries of a temporary failure, within default.api.timeout.ms.",
}
