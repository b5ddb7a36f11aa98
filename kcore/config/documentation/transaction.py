"""What the keys of `transaction_keys.py` are for."""

TEXTS = {
    "add.partitions.to.txn.retry.backoff.max.ms": (
        "How long a broker retries at most to add partitions to a transaction of version 2."
    ),
    "add.partitions.to.txn.retry.backoff.ms": (
        "How long a broker waits before it retries to add partitions to a transaction of version 2."
    ),
    "producer.id.expiration.check.interval.ms": "How often expired producers are looked for.",
    "producer.id.expiration.ms": "How long an idle producer's sequence numbers are remembered.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": (
        "How often transactions that took too long are aborted."
    ),
    "transaction.max.timeout.ms": "The longest time-out that a transaction may ask for.",
    "transaction.partition.verification.enable": (
        "Whether a transactional produce is checked against its coordinator's transaction."
    ),
    "transaction.remove.expired.transaction.cleanup.interval.ms": "How often unused transactional ids are looked for.",
    "transaction.state.log.load.buffer.size": "How many bytes are read at a time when transactions are loaded.",
    "transaction.state.log.min.isr": "The in-sync replicas that the topic of transactions demands.",
    "transaction.state.log.num.partitions": "The partitions of the topic of transactions.",
    "transaction.state.log.replication.factor": "The replicas of the topic of transactions.",
    "transaction.state.log.segment.bytes": "The segment size of the topic of transactions.",
    "transaction.two.phase.commit.enable": "Whether producers may take part in two-phase commits (KIP-939).",
    "transactional.id.expiration.ms": "How long an unused transactional id is remembered.",
}
