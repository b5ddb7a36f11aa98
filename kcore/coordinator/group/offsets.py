"""The committed offsets of the groups of one partition of `__consumer_offsets`, in memory.

The log is the truth: what stands here was appended there first, or was read from there at start.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    TopicPartition = tuple[str, int]


class CommittedOffset:
    """An offset that a group committed: where it goes on reading."""

    __slots__ = ("commit_timestamp_ms", "leader_epoch", "metadata", "offset")

    def __init__(self, offset: int, leader_epoch: int, metadata: str, commit_timestamp_ms: int) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp_ms = commit_timestamp_ms

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CommittedOffset) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"CommittedOffset{self._values()!r}"

    def _values(self) -> tuple[int, int, str, int]:
        return (self.offset, self.leader_epoch, self.metadata, self.commit_timestamp_ms)


class Offsets:
    """Committed offsets by group, topic and partition."""

    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[str, dict[TopicPartition, CommittedOffset]] = {}

    def commit(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        """Takes a commit that stands in the log."""
        self._groups.setdefault(group_id, {})[topic, partition] = committed

    def forget(self, group_id: str, topic: str, partition: int) -> None:
        """Takes a tombstone that stands in the log."""
        offsets = self._groups.get(group_id)
        if offsets is not None:
            offsets.pop((topic, partition), None)
            if not offsets:
                del self._groups[group_id]

    def of_group(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        """Everything that a group committed; empty for an unknown group."""
        return self._groups.get(group_id, {})

    def groups(self) -> list[str]:
        """The groups that have committed anything."""
        return list(self._groups)
