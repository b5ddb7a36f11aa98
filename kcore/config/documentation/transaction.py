"""Descriptions of the configurations in `transaction_keys.py`."""

TEXTS = {
    "add.partitions.to.txn.retry.backoff.max.ms": (
        "Maximum time that a broker retries to add partitions to a transaction of version 2."
    ),
    "add.partitions.to.txn.retry.backoff.ms": (
        "Pause before a broker retries to add partitions to a transaction of version 2."
    ),
    "producer.id.expiration.check.interval.ms": "Interval at which expired producer ids are removed.",
    "producer.id.expiration.ms": "Time that the sequence numbers of an idle producer are kept.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": (
        "Interval at which timed-out transactions are aborted."
    ),
    "transaction.max.timeout.ms": "Maximum transaction timeout that a producer may request.",
    "transaction.partition.verification.enable": (
        "Whether a transactional produce request is verified with the transaction coordinator."
    ),
    "transaction.remove.expired.transaction.cleanup.interval.ms": (
        "Interval at which expired transactional ids are removed."
    ),
    "transaction.state.log.load.buffer.size": "Size of a read when transactions are loaded.",
    "transaction.state.log.min.isr": "The min.insync.replicas of the topic `__transaction_state`.",
    "transaction.state.log.num.partitions": "Number of partitions of the topic `__transaction_state`.",
    "transaction.state.log.replication.factor": "Replication factor of the topic `__transaction_state`.",
    "transaction.state.log.segment.bytes": "Segment size of the topic `__transaction_state`.",
    "transaction.two.phase.commit.enable": "Whether producers may take part in two-phase commits (KIP-939).",
    "transactional.id.expiration.ms": "Time that an unused transactional id is kept.",
}
