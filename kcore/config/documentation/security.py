"""Descriptions of the configurations in `security_keys.py`."""

TEXTS = {
    "authorizer.class.name": "Authorizer class. None is available in this version.",
    "connections.max.reauth.ms": "Maximum time after which a SASL client must authenticate again.",
    "delegation.token.expiry.check.interval.ms": "Interval at which expired delegation tokens are removed.",
    "delegation.token.expiry.time.ms": "Time that a delegation token is valid before it must be renewed.",
    "delegation.token.master.key": "Older name of delegation.token.secret.key.",
    "delegation.token.max.lifetime.ms": "Maximum lifetime of a delegation token, renewals included.",
    "delegation.token.secret.key": "Secret for signing delegation tokens.",
    "password.encoder.cipher.algorithm": "Cipher that encrypts passwords in ZooKeeper.",
    "password.encoder.iterations": "Iterations for deriving the key that encrypts passwords in ZooKeeper.",
    "password.encoder.key.length": "Length of the key that encrypts passwords in ZooKeeper.",
    "password.encoder.keyfactory.algorithm": "Algorithm for deriving the key that encrypts passwords in ZooKeeper.",
    "password.encoder.old.secret": "Previous secret, while password.encoder.secret is being replaced.",
    "password.encoder.secret": "Secret for deriving the key that encrypts passwords in ZooKeeper.",
    "principal.builder.class": (
        "Java class that derives principals from authenticated connections. kcli cannot load it."
    ),
    "security.providers": "Java classes of security providers.",
}
