"""Descriptions of the configurations in `zookeeper_keys.py`."""

TEXTS = {
    "zookeeper.clientCnxnSocket": "Java class of ZooKeeper connections.",
    "zookeeper.connect": "Addresses of the ZooKeeper ensemble. Used with metadata.store=zookeeper only.",
    "zookeeper.connection.timeout.ms": "Timeout for connecting to ZooKeeper, with metadata.store=zookeeper.",
    "zookeeper.max.in.flight.requests": "Maximum number of requests in flight to ZooKeeper.",
    "zookeeper.metadata.migration.enable": "Whether metadata is being moved from ZooKeeper to KRaft.",
    "zookeeper.metadata.migration.min.batch.size": (
        "Minimum size of a batch of records when metadata is moved from ZooKeeper to KRaft."
    ),
    "zookeeper.session.timeout.ms": "Session timeout of ZooKeeper, with metadata.store=zookeeper.",
    "zookeeper.set.acl": "Whether access lists are set in ZooKeeper.",
    "zookeeper.ssl.cipher.suites": "Cipher suites of TLS to ZooKeeper.",
    "zookeeper.ssl.client.enable": "Whether ZooKeeper is reached with TLS.",
    "zookeeper.ssl.crl.enable": "Whether revocation lists are checked for ZooKeeper's certificates.",
    "zookeeper.ssl.enabled.protocols": "Versions of TLS to ZooKeeper.",
    "zookeeper.ssl.endpoint.identification.algorithm": "How ZooKeeper's name is checked against its certificate.",
    "zookeeper.ssl.keystore.location": "Keystore file with key and certificate for ZooKeeper.",
    "zookeeper.ssl.keystore.password": "Password of the keystore file for ZooKeeper.",
    "zookeeper.ssl.keystore.type": "Format of the keystore file for ZooKeeper.",
    "zookeeper.ssl.ocsp.enable": "Whether ZooKeeper's certificates are checked online.",
    "zookeeper.ssl.protocol": "Version of TLS to ZooKeeper.",
    "zookeeper.ssl.truststore.location": "Truststore file with certificates trusted for ZooKeeper.",
    "zookeeper.ssl.truststore.password": "Password of the truststore file for ZooKeeper.",
    "zookeeper.ssl.truststore.type": "Format of the truststore file for ZooKeeper.",
}
