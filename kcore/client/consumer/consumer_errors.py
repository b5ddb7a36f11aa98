"""Errors of the consumer, in addition to brokers' errors and those of every client (kcore.client.errors)."""

from __future__ import annotations

from kcore.client.errors import ClientError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcore.client.consumer.positions import OffsetAndMetadata
    from kcore.client.metadata.cluster import TopicPartition


class IllegalState(ClientError, RuntimeError):
    """The consumer's state does not allow this call. It has changed nothing."""


class Woken(ClientError):
    """`wakeup` was called. The call that it ended has changed nothing."""


class CommitFailed(ClientError):
    """The offsets were not committed, because the group gave this member's partitions to other members."""

    def __init__(self, group_id: str) -> None:
        super().__init__(
            f"group {group_id}: the offsets were not committed, since the group has rebalanced and given the "
            "partitions to another member. The time between two calls of poll() was longer than "
            "max.poll.interval.ms, or the member was cut off for longer than session.timeout.ms: raise these, or let "
            "poll() return less (max.poll.records)"
        )


class RebalanceInProgress(ClientError):
    """The offsets were not committed, because the group is rebalancing. Call `poll`, then commit again."""

    def __init__(self, group_id: str) -> None:
        super().__init__(
            f"group {group_id}: the offsets were not committed, since the group is rebalancing; call poll() to let the "
            "rebalance end, and commit what is still assigned then"
        )


class NoOffsetForPartition(ClientError):
    """No offset is committed, and auto.offset.reset is none."""

    def __init__(self, partitions: Iterable[TopicPartition]) -> None:
        self.partitions = frozenset(partitions)
        names = ", ".join(map(str, sorted(self.partitions)))
        super().__init__(f"{names}: no offset to start from; commit or seek one, or set auto.offset.reset")


class OffsetOutOfRange(ClientError):
    """The log does not contain the offset to read, or no longer does, and auto.offset.reset is none."""

    def __init__(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.offsets = dict(offsets)
        names = ", ".join(f"{partition} at {offset}" for partition, offset in sorted(self.offsets.items()))
        super().__init__(f"{names}: the log does not have this offset; seek another, or set auto.offset.reset")


class LogTruncated(ClientError):
    """Records that were read no longer exist (unclean leader election), and auto.offset.reset is none (KIP-320).

    `divergent` is the offset from which the log differs, for each partition where it is known.
    """

    def __init__(
        self, positions: Mapping[TopicPartition, int], divergent: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        self.positions = dict(positions)
        self.divergent = dict(divergent)
        parts = [
            f"{partition} at {offset}" + (f", from {divergent[partition].offset} on" if partition in divergent else "")
            for partition, offset in sorted(self.positions.items())
        ]
        super().__init__(
            f"{'; '.join(parts)}: the log was truncated behind the consumer; seek, or set auto.offset.reset"
        )


class FencedInstance(ClientError):
    """Another consumer has joined with this member's `group.instance.id` (KIP-345). This one cannot continue."""

    def __init__(self, group_id: str, instance_id: str | None) -> None:
        super().__init__(
            f"group {group_id}: another consumer has joined as group.instance.id {instance_id}; give each its own"
        )
