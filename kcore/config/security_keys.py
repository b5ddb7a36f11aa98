"""Authorization, principals, delegation tokens (BrokerSecurityConfigs, DelegationTokenManagerConfigs of Kafka 4.3)."""

from __future__ import annotations

from kcore.config.definition import CLASS, INT, LONG, LOW, PASSWORD, PER_BROKER, STRING, ConfigKey, unused
from kcore.config.validators import NON_NULL_STRING, at_least

KEYS = (
    ConfigKey("authorizer.class.name", STRING, "", NON_NULL_STRING, LOW),
    unused("connections.max.reauth.ms", LONG, 0),
    unused("delegation.token.expiry.check.interval.ms", LONG, 3_600_000, at_least(1), LOW),
    unused("delegation.token.expiry.time.ms", LONG, 86_400_000, at_least(1)),
    unused("delegation.token.master.key", PASSWORD, None),
    unused("delegation.token.max.lifetime.ms", LONG, 604_800_000, at_least(1)),
    unused("delegation.token.secret.key", PASSWORD, None),
    unused("password.encoder.cipher.algorithm", STRING, "AES/CBC/PKCS5Padding", importance=LOW),
    unused("password.encoder.iterations", INT, 4096, at_least(1024), LOW),
    unused("password.encoder.key.length", INT, 128, at_least(8), LOW),
    unused("password.encoder.keyfactory.algorithm", STRING, None, importance=LOW),
    unused("password.encoder.old.secret", PASSWORD, None),
    unused("password.encoder.secret", PASSWORD, None),
    unused(
        "principal.builder.class",
        CLASS,
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        mode=PER_BROKER,
    ),
    unused("security.providers", STRING, None, importance=LOW),
)
