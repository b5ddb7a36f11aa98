"""Transactions and idempotent producers (TransactionLogConfig, TransactionStateManagerConfig of Kafka 4.3)."""

from __future__ import annotations

from kcore.config.definition import BOOLEAN, CLUSTER_WIDE, HIGH, INT, LOW, SHORT, ConfigKey, unused
from kcore.config.validators import at_least

KEYS = (
    unused("add.partitions.to.txn.retry.backoff.max.ms", INT, 100, at_least(0), HIGH),
    unused("add.partitions.to.txn.retry.backoff.ms", INT, 20, at_least(1), HIGH),
    ConfigKey("producer.id.expiration.check.interval.ms", INT, 600_000, at_least(1), LOW, is_internal=True),
    ConfigKey("producer.id.expiration.ms", INT, 86_400_000, at_least(1), LOW, CLUSTER_WIDE),
    unused("transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, 10_000, at_least(1), LOW),
    unused("transaction.max.timeout.ms", INT, 900_000, at_least(1), HIGH),
    unused("transaction.partition.verification.enable", BOOLEAN, True, importance=LOW, mode=CLUSTER_WIDE),
    unused("transaction.remove.expired.transaction.cleanup.interval.ms", INT, 3_600_000, at_least(1), LOW),
    unused("transaction.state.log.load.buffer.size", INT, 5_242_880, at_least(1), HIGH),
    ConfigKey("transaction.state.log.min.isr", INT, 2, at_least(1), HIGH),
    ConfigKey("transaction.state.log.num.partitions", INT, 50, at_least(1), HIGH),
    ConfigKey("transaction.state.log.replication.factor", SHORT, 3, at_least(1), HIGH),
    ConfigKey("transaction.state.log.segment.bytes", INT, 104_857_600, at_least(1), HIGH),
    unused("transaction.two.phase.commit.enable", BOOLEAN, False, importance=LOW),
    unused("transactional.id.expiration.ms", INT, 604_800_000, at_least(1), HIGH),
)
