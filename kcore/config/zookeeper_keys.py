"""The connection to ZooKeeper (ZkConfigs of Kafka 3.9), for metadata.store=zookeeper."""

from __future__ import annotations

from kcore.config.definition import BOOLEAN, HIGH, INT, LIST, LOW, PASSWORD, STRING, ConfigKey, unused
from kcore.config.validators import at_least

KEYS = (
    unused("zookeeper.clientCnxnSocket", STRING, None),
    ConfigKey("zookeeper.connect", STRING, None, importance=HIGH),
    unused("zookeeper.connection.timeout.ms", INT, None, importance=HIGH),
    unused("zookeeper.max.in.flight.requests", INT, 10, at_least(1), HIGH),
    unused("zookeeper.metadata.migration.enable", BOOLEAN, False, importance=HIGH),
    unused("zookeeper.metadata.migration.min.batch.size", INT, 200, at_least(1), is_internal=True),
    unused("zookeeper.session.timeout.ms", INT, 18_000, importance=HIGH),
    unused("zookeeper.set.acl", BOOLEAN, False, importance=HIGH),
    unused("zookeeper.ssl.cipher.suites", LIST, None, importance=LOW),
    unused("zookeeper.ssl.client.enable", BOOLEAN, False),
    unused("zookeeper.ssl.crl.enable", BOOLEAN, False, importance=LOW),
    unused("zookeeper.ssl.enabled.protocols", LIST, None, importance=LOW),
    unused("zookeeper.ssl.endpoint.identification.algorithm", STRING, "HTTPS", importance=LOW),
    unused("zookeeper.ssl.keystore.location", STRING, None),
    unused("zookeeper.ssl.keystore.password", PASSWORD, None),
    unused("zookeeper.ssl.keystore.type", STRING, None),
    unused("zookeeper.ssl.ocsp.enable", BOOLEAN, False, importance=LOW),
    unused("zookeeper.ssl.protocol", STRING, "TLSv1.2", importance=LOW),
    unused("zookeeper.ssl.truststore.location", STRING, None),
    unused("zookeeper.ssl.truststore.password", PASSWORD, None),
    unused("zookeeper.ssl.truststore.type", STRING, None),
)
