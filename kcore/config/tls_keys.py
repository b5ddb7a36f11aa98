"""Certificates and ciphers (SslConfigs of Kafka 4.3).

TLS is not supported in this version. These configurations are accepted and have no effect.
"""

from __future__ import annotations

from kcore.config.definition import BOOLEAN, CLASS, LIST, LOW, PASSWORD, PER_BROKER, STRING, unused
from kcore.config.validators import one_of

KEYS = (
    unused("ssl.allow.dn.changes", BOOLEAN, False, importance=LOW),
    unused("ssl.allow.san.changes", BOOLEAN, False, importance=LOW),
    unused("ssl.cipher.suites", LIST, (), mode=PER_BROKER),
    unused("ssl.client.auth", STRING, "none", one_of("required", "requested", "none"), mode=PER_BROKER),
    unused("ssl.enabled.protocols", LIST, ("TLSv1.2", "TLSv1.3"), mode=PER_BROKER),
    unused("ssl.endpoint.identification.algorithm", STRING, "https", importance=LOW, mode=PER_BROKER),
    unused("ssl.engine.factory.class", CLASS, None, importance=LOW, mode=PER_BROKER),
    unused("ssl.key.password", PASSWORD, None, mode=PER_BROKER),
    unused("ssl.keymanager.algorithm", STRING, "SunX509", mode=PER_BROKER),
    unused("ssl.keystore.certificate.chain", PASSWORD, None, mode=PER_BROKER),
    unused("ssl.keystore.key", PASSWORD, None, mode=PER_BROKER),
    unused("ssl.keystore.location", STRING, None, mode=PER_BROKER),
    unused("ssl.keystore.password", PASSWORD, None, mode=PER_BROKER),
    unused("ssl.keystore.type", STRING, "JKS", mode=PER_BROKER),
    unused("ssl.principal.mapping.rules", STRING, "DEFAULT", importance=LOW),
    unused("ssl.protocol", STRING, "TLSv1.3", mode=PER_BROKER),
    unused("ssl.provider", STRING, None, mode=PER_BROKER),
    unused("ssl.secure.random.implementation", STRING, None, importance=LOW, mode=PER_BROKER),
    unused("ssl.trustmanager.algorithm", STRING, "PKIX", mode=PER_BROKER),
    unused("ssl.truststore.certificates", PASSWORD, None, mode=PER_BROKER),
    unused("ssl.truststore.location", STRING, None, mode=PER_BROKER),
    unused("ssl.truststore.password", PASSWORD, None, mode=PER_BROKER),
    unused("ssl.truststore.type", STRING, "JKS", mode=PER_BROKER),
)
