"""Tiered storage (RemoteLogManagerConfig of Kafka 4.3).

Tiered storage is not supported. These configurations are accepted and have no effect.
"""

from __future__ import annotations

from kcore.config.definition import BOOLEAN, CLUSTER_WIDE, DOUBLE, INT, LONG, LONG_MAX, LOW, STRING, unused
from kcore.config.validators import NON_EMPTY_STRING, at_least, between

KEYS = (
    unused("follower.fetch.last.tiered.offset.enable", BOOLEAN, False, mode=CLUSTER_WIDE),
    unused("remote.fetch.max.wait.ms", INT, 500, at_least(1), mode=CLUSTER_WIDE),
    unused("remote.list.offsets.request.timeout.ms", LONG, 30_000, at_least(1), mode=CLUSTER_WIDE),
    unused("remote.log.index.file.cache.total.size.bytes", LONG, 1_073_741_824, at_least(1), LOW, CLUSTER_WIDE),
    unused("remote.log.index.file.cache.ttl.ms", LONG, 900_000, at_least(-1), LOW, is_internal=True),
    unused("remote.log.manager.copier.thread.pool.size", INT, 10, at_least(1), mode=CLUSTER_WIDE),
    unused("remote.log.manager.copy.max.bytes.per.second", LONG, LONG_MAX, at_least(1), mode=CLUSTER_WIDE),
    unused("remote.log.manager.copy.quota.window.num", INT, 11, at_least(1)),
    unused("remote.log.manager.copy.quota.window.size.seconds", INT, 1, at_least(1)),
    unused("remote.log.manager.expiration.thread.pool.size", INT, 10, at_least(1), mode=CLUSTER_WIDE),
    unused("remote.log.manager.fetch.max.bytes.per.second", LONG, LONG_MAX, at_least(1), mode=CLUSTER_WIDE),
    unused("remote.log.manager.fetch.quota.window.num", INT, 11, at_least(1)),
    unused("remote.log.manager.fetch.quota.window.size.seconds", INT, 1, at_least(1)),
    unused("remote.log.manager.follower.thread.pool.size", INT, 2, at_least(1), mode=CLUSTER_WIDE),
    unused("remote.log.manager.task.interval.ms", LONG, 30_000, at_least(1), LOW),
    unused("remote.log.manager.task.retry.backoff.max.ms", LONG, 30_000, at_least(1), LOW, is_internal=True),
    unused("remote.log.manager.task.retry.backoff.ms", LONG, 500, at_least(1), LOW, is_internal=True),
    unused("remote.log.manager.task.retry.jitter", DOUBLE, 0.2, between(0, 0.5), LOW, is_internal=True),
    unused("remote.log.manager.thread.pool.size", INT, 2, at_least(1)),
    unused("remote.log.metadata.custom.metadata.max.bytes", INT, 128, at_least(0), LOW),
    unused(
        "remote.log.metadata.manager.class.name",
        STRING,
        "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
        NON_EMPTY_STRING,
    ),
    unused("remote.log.metadata.manager.class.path", STRING, None),
    unused("remote.log.metadata.manager.impl.prefix", STRING, "rlmm.config.", NON_EMPTY_STRING),
    unused("remote.log.metadata.manager.listener.name", STRING, None, NON_EMPTY_STRING),
    unused("remote.log.reader.max.pending.tasks", INT, 100, at_least(1)),
    unused("remote.log.reader.threads", INT, 10, at_least(1), mode=CLUSTER_WIDE),
    unused("remote.log.storage.manager.class.name", STRING, None, NON_EMPTY_STRING),
    unused("remote.log.storage.manager.class.path", STRING, None),
    unused("remote.log.storage.manager.impl.prefix", STRING, "rsm.config.", NON_EMPTY_STRING),
    unused("remote.log.storage.system.enable", BOOLEAN, False),
)
