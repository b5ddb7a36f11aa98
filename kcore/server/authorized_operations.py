"""The operations that a client may perform on a resource, as a bit field of AclOperation codes (KIP-430).

Without an authorizer every operation is allowed, and the broker returns all operations of the resource type, as Kafka
does.
"""

from __future__ import annotations

READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 3, 4, 5, 6, 7, 8
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 9, 10, 11, 12


def bit_field(*operations: int) -> int:
    """Sets bit n for each operation n."""
    return sum(1 << operation for operation in operations)


NOT_ASKED_FOR = -(2**31)
TOPIC = bit_field(READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
GROUP = bit_field(READ, DELETE, DESCRIBE)
CLUSTER = bit_field(CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE)
