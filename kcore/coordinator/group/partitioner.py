"""The partition of `__consumer_offsets` a group belongs to: Java's `String.hashCode`, made positive, modulo the count.

Every broker and every tool must agree on it, for ever; the hash runs over UTF-16 code units.
"""

from __future__ import annotations

WORD = 0xFFFFFFFF
SIGN = 0x80000000


def java_hash_code(text: str) -> int:
    """`String.hashCode()`, as a signed 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for position in range(0, len(units), 2):
        value = (31 * value + (units[position] << 8 | units[position + 1])) & WORD
    return value - 2 * SIGN if value & SIGN else value


def partition_for(group_id: str, partition_count: int) -> int:
    """The partition of a group (Kafka's `GroupMetadataManager.partitionFor`; the smallest integer counts as 0)."""
    value = java_hash_code(group_id)
    return (0 if value == -SIGN else abs(value)) % partition_count
