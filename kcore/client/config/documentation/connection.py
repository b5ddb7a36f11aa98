"""Descriptions of the keys of `connection_keys.py`."""

TEXTS = {
    "client.dns.lookup": (
        "Use of a host name with several addresses. `use_all_dns_ips` tries one address after another. "
        "`resolve_canonical_bootstrap_servers_only` uses each address of a bootstrap server as a separate broker, with "
        "its canonical name."
    ),
    "config.providers": "Providers that replace variables in values.",
    "metadata.max.age.ms": "Maximum age of metadata. The client then refreshes it, even without an error.",
    "metadata.recovery.rebootstrap.trigger.ms": (
        "Time without metadata after which the client returns to the bootstrap servers, with "
        "metadata.recovery.strategy=rebootstrap."
    ),
    "metadata.recovery.strategy": (
        "What the client does if it cannot reach any known broker. `rebootstrap` starts again with the bootstrap "
        "servers, `none` keeps trying the known brokers."
    ),
    "metric.reporters": "Java classes that receive the client's metrics.",
    "metrics.num.samples": "Number of samples for computing a metric.",
    "metrics.recording.level": "Level of detail of recorded metrics.",
    "metrics.sample.window.ms": "Length of one sample of a metric.",
    "reconnect.backoff.max.ms": (
        "Maximum pause before the client reconnects to a broker. Pauses grow up to it, with 20 % random variation. If "
        "only reconnect.backoff.ms is set, the default is that value."
    ),
    "reconnect.backoff.ms": "First pause before the client reconnects to a broker.",
    "request.timeout.ms": (
        "Maximum time of a request, from sending to the response. After it, the client closes the connection."
    ),
    "retry.backoff.max.ms": "Maximum pause before a failed request is retried. Pauses double up to it.",
    "retry.backoff.ms": "First pause before a failed request is retried.",
    "send.buffer.bytes": "Send buffer of a connection (SO_SNDBUF). -1 leaves it to the kernel.",
    "socket.connection.setup.timeout.max.ms": (
        "Maximum timeout for setting up a connection. The timeout doubles with each failure up to it."
    ),
    "socket.connection.setup.timeout.ms": "Initial timeout for setting up a connection.",
}
