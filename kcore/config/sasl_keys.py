"""Authentication with SASL (SaslConfigs, BrokerSecurityConfigs of Kafka 4.3).

SASL is not supported in this version. These configurations are accepted and have no effect.
"""

from __future__ import annotations

from kcore.config.definition import (
    BOOLEAN,
    CLASS,
    DOUBLE,
    HIGH,
    INT,
    LIST,
    LONG,
    LOW,
    PASSWORD,
    PER_BROKER,
    SHORT,
    STRING,
    unused,
)
from kcore.config.validators import between, one_of_any_case

OAUTHBEARER = "org.apache.kafka.common.security.oauthbearer"

KEYS = (
    unused("sasl.client.callback.handler.class", CLASS, None),
    unused("sasl.enabled.mechanisms", LIST, ("GSSAPI",), mode=PER_BROKER),
    unused("sasl.jaas.config", PASSWORD, None, mode=PER_BROKER),
    unused("sasl.kerberos.kinit.cmd", STRING, "/usr/bin/kinit", mode=PER_BROKER),
    unused("sasl.kerberos.min.time.before.relogin", LONG, 60_000, mode=PER_BROKER),
    unused("sasl.kerberos.principal.to.local.rules", LIST, ("DEFAULT",), mode=PER_BROKER),
    unused("sasl.kerberos.service.name", STRING, None, mode=PER_BROKER),
    unused("sasl.kerberos.ticket.renew.jitter", DOUBLE, 0.05, mode=PER_BROKER),
    unused("sasl.kerberos.ticket.renew.window.factor", DOUBLE, 0.8, mode=PER_BROKER),
    unused("sasl.login.callback.handler.class", CLASS, None),
    unused("sasl.login.class", CLASS, None),
    unused("sasl.login.connect.timeout.ms", INT, None, importance=LOW),
    unused("sasl.login.read.timeout.ms", INT, None, importance=LOW),
    unused("sasl.login.refresh.buffer.seconds", SHORT, 300, mode=PER_BROKER),
    unused("sasl.login.refresh.min.period.seconds", SHORT, 60, mode=PER_BROKER),
    unused("sasl.login.refresh.window.factor", DOUBLE, 0.8, mode=PER_BROKER),
    unused("sasl.login.refresh.window.jitter", DOUBLE, 0.05, mode=PER_BROKER),
    unused("sasl.login.retry.backoff.max.ms", LONG, 10_000, importance=LOW),
    unused("sasl.login.retry.backoff.ms", LONG, 100, importance=LOW),
    unused("sasl.mechanism.controller.protocol", STRING, "GSSAPI", importance=HIGH),
    unused("sasl.mechanism.inter.broker.protocol", STRING, "GSSAPI", mode=PER_BROKER),
    unused("sasl.oauthbearer.assertion.algorithm", STRING, "RS256", one_of_any_case("ES256", "RS256")),
    unused("sasl.oauthbearer.assertion.claim.aud", STRING, None),
    unused("sasl.oauthbearer.assertion.claim.exp.seconds", INT, 300, between(0, 86_400), LOW),
    unused("sasl.oauthbearer.assertion.claim.iss", STRING, None),
    unused("sasl.oauthbearer.assertion.claim.jti.include", BOOLEAN, False),
    unused("sasl.oauthbearer.assertion.claim.nbf.seconds", INT, 60, between(0, 3600), LOW),
    unused("sasl.oauthbearer.assertion.claim.sub", STRING, None),
    unused("sasl.oauthbearer.assertion.file", STRING, None),
    unused("sasl.oauthbearer.assertion.private.key.file", STRING, None),
    unused("sasl.oauthbearer.assertion.private.key.passphrase", PASSWORD, None),
    unused("sasl.oauthbearer.assertion.template.file", STRING, None),
    unused("sasl.oauthbearer.client.credentials.client.id", STRING, None),
    unused("sasl.oauthbearer.client.credentials.client.secret", PASSWORD, None),
    unused("sasl.oauthbearer.clock.skew.seconds", INT, 30, importance=LOW),
    unused("sasl.oauthbearer.expected.audience", LIST, (), importance=HIGH),
    unused("sasl.oauthbearer.expected.issuer", STRING, None, importance=HIGH),
    unused("sasl.oauthbearer.jwks.endpoint.refresh.ms", LONG, 3_600_000, importance=LOW),
    unused("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", LONG, 10_000, importance=LOW),
    unused("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", LONG, 100, importance=LOW),
    unused("sasl.oauthbearer.jwks.endpoint.url", STRING, None),
    unused(
        "sasl.oauthbearer.jwt.retriever.class",
        CLASS,
        f"{OAUTHBEARER}.DefaultJwtRetriever",
    ),
    unused(
        "sasl.oauthbearer.jwt.validator.class",
        CLASS,
        f"{OAUTHBEARER}.DefaultJwtValidator",
    ),
    unused("sasl.oauthbearer.scope", STRING, None),
    unused("sasl.oauthbearer.scope.claim.name", STRING, "scope", importance=LOW),
    unused("sasl.oauthbearer.sub.claim.name", STRING, "sub", importance=LOW),
    unused("sasl.oauthbearer.token.endpoint.url", STRING, None),
    unused("sasl.server.callback.handler.class", CLASS, None),
    unused("sasl.server.max.receive.size", INT, 524_288),
)
