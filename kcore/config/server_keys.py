"""Who a broker is, where its files and metadata lie, which topics it makes, what limits a client (Kafka 3.9)."""

from __future__ import annotations

from kcore.config.definition import BOOLEAN, CLASS, CLUSTER_WIDE, HIGH, INT, LIST, LOW, STRING, ConfigKey, unused
from kcore.config.validators import METADATA_VERSION, at_least, one_of, subset_of

KEYS = (
    ConfigKey("alter.config.policy.class.name", CLASS, None, importance=LOW),
    unused("alter.config.policy.kraft.compatibility.enable", BOOLEAN, False, importance=LOW),
    ConfigKey("auto.create.topics.enable", BOOLEAN, True, importance=HIGH),
    ConfigKey("broker.id", INT, -1, importance=HIGH),
    ConfigKey("broker.id.generation.enable", BOOLEAN, True),
    ConfigKey("broker.rack", STRING, None),
    ConfigKey("create.topic.policy.class.name", CLASS, None, importance=LOW),
    unused("delete.records.purgatory.purge.interval.requests", INT, 1),
    ConfigKey("delete.topic.enable", BOOLEAN, True, importance=HIGH),
    ConfigKey("fetch.max.bytes", INT, 57_671_680, at_least(1024)),
    ConfigKey("fetch.purgatory.purge.interval.requests", INT, 1000),
    unused("inter.broker.protocol.version", STRING, "3.9-IV0", METADATA_VERSION),
    ConfigKey("kcli.batch.inline.decompressed.bytes", INT, 4_194_304, at_least(0)),
    ConfigKey("kcli.batch.max.decompressed.bytes", INT, 268_435_456, at_least(1024)),
    ConfigKey("kcli.config.unknown.keys", STRING, "error", one_of("error", "warn"), LOW),
    ConfigKey("kcli.debug.hold.ms", INT, 2000, at_least(1)),
    ConfigKey("kcli.debug.hooks", BOOLEAN, False),
    ConfigKey("kcli.fast.path.enable", BOOLEAN, True),
    ConfigKey("kcli.fetch.session.cache.max.partitions", INT, 1_000_000, at_least(0)),
    ConfigKey("kcli.log.max.open.segments", INT, 0, at_least(0)),
    ConfigKey("kcli.request.log", STRING, "off", one_of("off", "summary", "full"), LOW, CLUSTER_WIDE),
    ConfigKey("kcli.request.log.queue.size", INT, 10_000, at_least(1), LOW),
    ConfigKey("kcli.request.log.slow.ms", INT, -1, at_least(-1), LOW, CLUSTER_WIDE),
    ConfigKey("kcli.request.max.elements", INT, 500_000, at_least(1000)),
    ConfigKey("log.dir", STRING, "/tmp/kafka-logs", importance=HIGH),
    ConfigKey("log.dirs", STRING, None, importance=HIGH),
    ConfigKey("max.incremental.fetch.session.cache.slots", INT, 1000, at_least(0)),
    ConfigKey("max.request.partition.size.limit", INT, 2000, at_least(1)),
    ConfigKey("metadata.log.dir", STRING, None, importance=HIGH),
    ConfigKey("metadata.store", STRING, "embedded", one_of("embedded", "zookeeper"), HIGH),
    ConfigKey("node.id", INT, -1, importance=HIGH),
    ConfigKey("num.partitions", INT, 1, at_least(1)),
    ConfigKey("process.roles", LIST, (), subset_of("broker", "controller"), HIGH),
    ConfigKey("producer.purgatory.purge.interval.requests", INT, 1000),
    ConfigKey("reserved.broker.max.id", INT, 1000, at_least(0)),
)
