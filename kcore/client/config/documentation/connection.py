"""What the keys of `connection_keys.py` are for."""

TEXTS = {
    "client.dns.lookup": (
        "What becomes of a name with several addresses: `use_all_dns_ips` tries one after another, "
        "`resolve_canonical_bootstrap_servers_only` takes each address of a bootstrap server as a broker of its own, "
        "under its canonical name."
    ),
    "config.providers": "Sources that replace variables in values.",
    "metadata.max.age.ms": (
        "After how long what is known of the cluster is asked for anew, even if nothing has proved wrong."
    ),
    "metadata.recovery.rebootstrap.trigger.ms": (
        "After how long without any metadata the client goes back to the bootstrap servers, with "
        "metadata.recovery.strategy=rebootstrap."
    ),
    "metadata.recovery.strategy": (
        "What the client does when none of the known brokers can be reached: `rebootstrap` begins again with the "
        "bootstrap servers, `none` goes on trying."
    ),
    "metric.reporters": "Java classes that are given the client's metrics.",
    "metrics.num.samples": "How many samples a metric is computed of.",
    "metrics.recording.level": "Which metrics are recorded.",
    "metrics.sample.window.ms": "The time that a sample of a metric is taken over.",
    "reconnect.backoff.max.ms": (
        "The longest pause before a broker is connected to again; pauses grow up to it, each up to 20 % longer or "
        "shorter by chance. Where only reconnect.backoff.ms is set, it is that."
    ),
    "reconnect.backoff.ms": "The first pause before a broker is connected to again.",
    "request.timeout.ms": (
        "How long a request may take, from being sent to being answered, before the connection is given up."
    ),
    "retry.backoff.max.ms": "The longest pause before a request that failed is sent again; pauses double up to it.",
    "retry.backoff.ms": "The first pause before a request that failed is sent again.",
    "send.buffer.bytes": "The size of a connection's send buffer (SO_SNDBUF); -1 leaves it to the kernel.",
    "socket.connection.setup.timeout.max.ms": (
        "The longest time that making a connection may take; what is allowed doubles with every failure up to it."
    ),
    "socket.connection.setup.timeout.ms": "How long making a connection may take at first.",
}
