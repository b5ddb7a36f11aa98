"""Events of partitions and brokers that the Fetcher cannot handle itself. The background thread handles them."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from kcore.errors import NONE, TABLE

_NAMES = {code: name for code, name, _, _ in TABLE}


class EventKind(Enum):
    # The log does not contain the offset. Nothing more is fetched until a `seek`.
    OUT_OF_RANGE = "out of range"
    # The log was truncated below the position (KIP-320). Nothing more is fetched until a `seek`.
    DIVERGED = "diverged"
    # The broker is not the leader, or has another topic id or epoch: metadata is outdated. The fetch is repeated.
    LEADER_MOVED = "leader moved"
    UNKNOWN_TOPIC = "unknown topic"
    # A replica nearer to `client.rack` (KIP-392). Pass it to `set_read_replica`.
    PREFERRED_REPLICA = "preferred replica"
    # Any other error, such as a missing authorization. The fetch is repeated.
    FAILED = "failed"
    # A broker could not be reached, or did not respond.
    NODE_FAILED = "node failed"


class FetchEvent(NamedTuple):
    """Event of a partition, or with NODE_FAILED of a node. -1: not set."""

    kind: EventKind
    partition: tuple[str, int] | None
    error_code: int = NONE
    offset: int = -1
    leader_id: int = -1
    leader_epoch: int = -1
    diverging_epoch: int = -1
    diverging_end_offset: int = -1
    preferred_read_replica: int = -1
    node: int = -1

    @property
    def error_name(self) -> str:
        return _NAMES.get(self.error_code, f"error {self.error_code}")


_LEADER_ERRORS = frozenset(
    {
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_OR_FOLLOWER",
        "REPLICA_NOT_AVAILABLE",
        "KAFKA_STORAGE_ERROR",
        "OFFSET_NOT_AVAILABLE",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
    }
)
_TOPIC_ERRORS = frozenset({"UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "INCONSISTENT_TOPIC_ID"})


def kind_of(error_code: int, diverging_epoch: int, preferred_read_replica: int) -> EventKind:
    """Return the kind of event for a partition's response."""
    name = _NAMES.get(error_code, "")
    if name == "OFFSET_OUT_OF_RANGE":
        return EventKind.OUT_OF_RANGE
    if name in _LEADER_ERRORS:
        return EventKind.LEADER_MOVED
    if name in _TOPIC_ERRORS:
        return EventKind.UNKNOWN_TOPIC
    if error_code != NONE:
        return EventKind.FAILED
    return EventKind.DIVERGED if diverging_epoch >= 0 else EventKind.PREFERRED_REPLICA
