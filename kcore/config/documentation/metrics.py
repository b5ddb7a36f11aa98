"""What the keys of `metrics_keys.py` are for."""

TEXTS = {
    "alter.log.dirs.replication.quota.window.num": (
        "The samples over which the throttling of moves between log directories is measured."
    ),
    "alter.log.dirs.replication.quota.window.size.seconds": "The length of one such sample.",
    "auto.include.jmx.reporter": (
        "Whether the JMX reporter is added to those of metric.reporters; there is no JMX without a Java machine."
    ),
    "client.quota.callback.class": "A Java class that decides about quotas; it cannot be loaded here.",
    "controller.quota.window.num": (
        "As many windows' worth of changed partitions may be used at once by a client that changed none for as long."
    ),
    "controller.quota.window.size.seconds": "The length of one such window.",
    "kafka.metrics.polling.interval.secs": "How often Kafka's older metrics reporters are asked.",
    "kafka.metrics.reporters": "Java classes of Kafka's older metrics reporters.",
    "metric.reporters": "Java classes that are told of metrics.",
    "metrics.connection.timeout.ms": "How long a scraper may take to ask and to read its answer.",
    "metrics.host": (
        "The address to serve metrics on; empty for every interface. There is neither encryption nor authentication."
    ),
    "metrics.max.connections": (
        "How many scrapers may be connected to metrics.port at a time; further ones are closed at once."
    ),
    "metrics.max.group.partitions": (
        "Of how many pairs of consumer group and partition the lag is told; the number of the others is a metric."
    ),
    "metrics.max.partitions": "How many partitions have metrics of their log's size and offsets; 0 for none.",
    "metrics.max.topics": (
        "How many topics have metrics of their own; what the others count is summed up under the topic (others)."
    ),
    "metrics.num.samples": "The samples that a rate is computed from.",
    "metrics.port": (
        "The port on which metrics are served over HTTP, at /metrics, in Prometheus' text format; /health and /ready "
        "are there too. -1 serves none, 0 takes a free port."
    ),
    "metrics.recording.level": "The level of detail that sensors record: INFO, DEBUG or TRACE.",
    "metrics.sample.window.ms": "The length of one such sample.",
    "quota.window.num": (
        "One more than the windows whose worth of a quota may be used at once by who used nothing for as long."
    ),
    "quota.window.size.seconds": "The length of one such window.",
    "replication.quota.window.num": "The samples over which throttled replication is measured.",
    "replication.quota.window.size.seconds": "The length of one such sample.",
    "telemetry.max.bytes": "The largest batch of metrics that a client may push (KIP-714).",
}
