"""What the keys of `security_keys.py` are for."""

TEXTS = {
    "authorizer.class.name": "The authorizer; none is available in this version.",
    "connections.max.reauth.ms": "For how long an authentication holds before a SASL client has to repeat it.",
    "delegation.token.expiry.check.interval.ms": "How often expired delegation tokens are looked for.",
    "delegation.token.expiry.time.ms": "How long a delegation token is good before it has to be renewed.",
    "delegation.token.master.key": "The older name of delegation.token.secret.key.",
    "delegation.token.max.lifetime.ms": "How long a delegation token can be renewed at most.",
    "delegation.token.secret.key": "The secret that delegation tokens are signed with.",
    "password.encoder.cipher.algorithm": "The cipher that hides passwords in ZooKeeper.",
    "password.encoder.iterations": "The iterations of the key that hides passwords in ZooKeeper.",
    "password.encoder.key.length": "The length of the key that hides passwords in ZooKeeper.",
    "password.encoder.keyfactory.algorithm": "The derivation of the key that hides passwords in ZooKeeper.",
    "password.encoder.old.secret": "The former secret, while password.encoder.secret is being replaced.",
    "password.encoder.secret": "The secret from which the key is derived that hides passwords in ZooKeeper.",
    "principal.builder.class": (
        "A Java class that makes principals out of authenticated connections; it cannot be loaded here."
    ),
    "security.providers": "Java classes of security providers.",
}
