"""Descriptions of the configurations in `metrics_keys.py`."""

TEXTS = {
    "alter.log.dirs.replication.quota.window.num": "Number of samples for measuring moves between log directories.",
    "alter.log.dirs.replication.quota.window.size.seconds": (
        "Length of one sample for alter.log.dirs.replication.quota.window.num."
    ),
    "auto.include.jmx.reporter": "Whether the JMX reporter is added to metric.reporters. kcli has no JMX.",
    "client.quota.callback.class": "Java class that decides about quotas. kcli cannot load it.",
    "controller.quota.window.num": (
        "Number of windows of unused controller quota that a client can accumulate and use at once."
    ),
    "controller.quota.window.size.seconds": "Length of one window of the controller quota.",
    "kafka.metrics.polling.interval.secs": "Polling interval of Kafka's older metrics reporters.",
    "kafka.metrics.reporters": "Java classes of Kafka's older metrics reporters.",
    "metric.reporters": "Java classes that receive metrics. kcli cannot load them; use metrics.port.",
    "metrics.connection.timeout.ms": "Maximum time for a scraper to send its request and read the response.",
    "metrics.host": (
        "Address to serve metrics on. Empty means all interfaces. There is no encryption and no authentication."
    ),
    "metrics.max.connections": "Maximum number of connections to metrics.port. Further connections are closed at once.",
    "metrics.max.group.partitions": (
        "Maximum number of pairs of consumer group and partition whose lag is reported. A metric reports the number of "
        "pairs beyond it."
    ),
    "metrics.max.partitions": "Maximum number of partitions with metrics of log size and offsets. 0 means none.",
    "metrics.max.topics": (
        "Maximum number of topics with separate metrics. Further topics are added up under the topic `(others)`."
    ),
    "metrics.num.samples": "Number of samples for computing a rate.",
    "metrics.port": (
        "Port that serves metrics over HTTP at /metrics, in Prometheus' text format. It also serves /health and "
        "/ready. -1 disables it, 0 selects a free port."
    ),
    "metrics.recording.level": "Level of detail of recorded metrics: INFO, DEBUG or TRACE.",
    "metrics.sample.window.ms": "Length of one sample for metrics.num.samples.",
    "quota.window.num": (
        "Number of windows that a quota is measured over. A client that was idle can use one window less than this at "
        "once."
    ),
    "quota.window.size.seconds": "Length of one window of quota.window.num.",
    "replication.quota.window.num": "Number of samples for measuring throttled replication.",
    "replication.quota.window.size.seconds": "Length of one sample for replication.quota.window.num.",
    "telemetry.max.bytes": "Maximum size of a batch of metrics that a client may push (KIP-714).",
}
