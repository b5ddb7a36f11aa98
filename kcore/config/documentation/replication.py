"""What the keys of `replication_keys.py` are for."""

TEXTS = {
    "auto.leader.rebalance.enable": "Whether leadership goes back to preferred replicas by itself.",
    "controlled.shutdown.enable": "Whether a stopping broker hands its leaderships over first.",
    "controlled.shutdown.max.retries": "How often a stopping broker asks again to be relieved of its leaderships.",
    "controlled.shutdown.retry.backoff.ms": "The pause before it asks again.",
    "controller.socket.timeout.ms": "The socket time-out of a controller's connections to brokers.",
    "default.replication.factor": "How many replicas a partition gets where the topic does not say.",
    "eligible.leader.replicas.enable": (
        "Whether KRaft keeps a list of eligible leader replicas beside the in-sync ones (KIP-966)."
    ),
    "leader.imbalance.check.interval.seconds": "How often the balance of leaders is looked at.",
    "leader.imbalance.per.broker.percentage": (
        "The share of a broker's leaderships held by others from which on they are given back."
    ),
    "min.insync.replicas": "The default of the topic configuration of the same name.",
    "num.replica.alter.log.dirs.threads": "The threads that move replicas between log directories.",
    "num.replica.fetchers": "The threads that copy from each other broker.",
    "replica.fetch.backoff.ms": "The pause of a follower whose fetch failed.",
    "replica.fetch.max.bytes": "The most bytes of one partition that a follower asks for at a time.",
    "replica.fetch.min.bytes": "The fewest bytes that a follower's fetch is answered with before it times out.",
    "replica.fetch.response.max.bytes": "The most bytes that a follower asks for in one fetch.",
    "replica.fetch.wait.max.ms": "How long a follower's fetch waits for replica.fetch.min.bytes.",
    "replica.high.watermark.checkpoint.interval.ms": "How often high watermarks are written to disk.",
    "replica.lag.time.max.ms": "How long a follower may lag before it leaves the in-sync replicas.",
    "replica.selector.class": "A Java class that chooses the replica that a consumer reads from (KIP-392).",
    "replica.socket.receive.buffer.bytes": "The receive buffer of a follower's connections.",
    "replica.socket.timeout.ms": "The socket time-out of a follower's connections.",
    "unclean.leader.election.enable": (
        "Whether a replica that lacks acknowledged records may become leader when no other is left."
    ),
    "unclean.leader.election.interval.ms": (
        "How often a KRaft controller looks for partitions that may elect an unclean leader."
    ),
}
