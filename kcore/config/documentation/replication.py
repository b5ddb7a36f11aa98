"""Descriptions of the configurations in `replication_keys.py`."""

TEXTS = {
    "auto.leader.rebalance.enable": "Whether leadership automatically returns to preferred replicas.",
    "controlled.shutdown.enable": "Whether a stopping broker first transfers leadership to other brokers.",
    "controlled.shutdown.max.retries": "Maximum number of retries of a controlled shutdown.",
    "controlled.shutdown.retry.backoff.ms": "Pause between retries of a controlled shutdown.",
    "controller.socket.timeout.ms": "Socket timeout for connections from the controller to brokers.",
    "default.replication.factor": "Replication factor of topics that are created without one.",
    "eligible.leader.replicas.enable": (
        "Whether KRaft keeps a list of eligible leader replicas beside the in-sync replicas (KIP-966)."
    ),
    "leader.imbalance.check.interval.seconds": "Interval at which the balance of leaders is checked.",
    "leader.imbalance.per.broker.percentage": (
        "Share of a broker's preferred leaderships on other brokers at which they are moved back."
    ),
    "min.insync.replicas": "Default of the topic configuration of the same name.",
    "num.replica.alter.log.dirs.threads": "Number of threads that move replicas between log directories.",
    "num.replica.fetchers": "Number of threads that replicate from each other broker.",
    "replica.fetch.backoff.ms": "Pause of a follower after a failed fetch.",
    "replica.fetch.max.bytes": "Maximum bytes of one partition in a follower's fetch.",
    "replica.fetch.min.bytes": "Minimum bytes of a response to a follower's fetch, unless it times out.",
    "replica.fetch.response.max.bytes": "Maximum bytes of a response to a follower's fetch.",
    "replica.fetch.wait.max.ms": "Maximum time that a follower's fetch waits for replica.fetch.min.bytes.",
    "replica.high.watermark.checkpoint.interval.ms": "Interval at which high watermarks are written to disk.",
    "replica.lag.time.max.ms": "Maximum time that a follower may lag before it is removed from the in-sync replicas.",
    "replica.selector.class": "Java class that selects the replica that a consumer reads from (KIP-392).",
    "replica.socket.receive.buffer.bytes": "Receive buffer of a follower's connections.",
    "replica.socket.timeout.ms": "Socket timeout of a follower's connections.",
    "unclean.leader.election.enable": (
        "Whether a replica that is not in sync may become leader if no in-sync replica is available. Acknowledged "
        "records can be lost."
    ),
    "unclean.leader.election.interval.ms": (
        "Interval at which a KRaft controller looks for partitions that need an unclean leader election."
    ),
}
