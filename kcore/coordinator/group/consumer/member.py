"""ConsumerMember: an immutable member of a consumer group (Kafka's `ConsumerGroupMember`).

A Stable member owns its target of the epoch. A member with unrevoked partitions was asked to revoke some and has not
confirmed it. A member with unreleased partitions waits until other members revoke them. A state of a later release is
Unknown: the member has to join again.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self, TypeAlias

    # Partitions by topic id, each with the member epoch of its assignment (KIP-1251).
    OwnedPartitions: TypeAlias = Mapping[bytes, Mapping[int, int]]

STABLE = 0
UNREVOKED_PARTITIONS = 1
UNRELEASED_PARTITIONS = 2
UNKNOWN = 127
STATES = (STABLE, UNREVOKED_PARTITIONS, UNRELEASED_PARTITIONS)

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2

NO_REBALANCE_TIMEOUT = -1


class ClassicMember:
    """The protocols of a classic member: (name, metadata) pairs, most preferred first."""

    __slots__ = ("protocols", "session_timeout_ms")

    def __init__(self, session_timeout_ms: int, protocols: tuple[tuple[str, bytes], ...]) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.protocols = protocols

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ClassicMember)
            and self.session_timeout_ms == other.session_timeout_ms
            and self.protocols == other.protocols
        )

    def __hash__(self) -> int:
        return hash((self.session_timeout_ms, self.protocols))


class ConsumerMember:
    """`assigned` are the partitions that it may use, `pending_revocation` those that it still has to revoke.

    `subscribed_topic_regex` is empty or None without a pattern. `classic` is None for the consumer protocol.
    """

    __slots__ = (
        "assigned",
        "classic",
        "client_host",
        "client_id",
        "instance_id",
        "member_epoch",
        "member_id",
        "pending_revocation",
        "previous_member_epoch",
        "rack_id",
        "rebalance_timeout_ms",
        "server_assignor",
        "state",
        "subscribed_topic_names",
        "subscribed_topic_regex",
    )

    def __init__(
        self,
        member_id: str,
        *,
        instance_id: str | None = None,
        rack_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout_ms: int = NO_REBALANCE_TIMEOUT,
        subscribed_topic_names: frozenset[str] = frozenset(),
        subscribed_topic_regex: str | None = "",
        server_assignor: str | None = None,
        classic: ClassicMember | None = None,
        member_epoch: int = JOIN_EPOCH,
        previous_member_epoch: int = JOIN_EPOCH,
        state: int = STABLE,
        assigned: OwnedPartitions | None = None,
        pending_revocation: OwnedPartitions | None = None,
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.subscribed_topic_names = subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.server_assignor = server_assignor
        self.classic = classic
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned: OwnedPartitions = assigned or {}
        self.pending_revocation: OwnedPartitions = pending_revocation or {}

    def replaced(self, **changes: Any) -> Self:
        """A copy with other values of some attributes."""
        copy = object.__new__(type(self))
        for name in self.__slots__:
            setattr(copy, name, changes[name] if name in changes else getattr(self, name))
        return copy

    def at_epoch(self, epoch: int, **changes: Any) -> Self:
        """A copy in another epoch; the present epoch becomes the previous one."""
        return self.replaced(member_epoch=epoch, previous_member_epoch=self.member_epoch, **changes)

    @property
    def uses_classic_protocol(self) -> bool:
        return self.classic is not None

    def is_reconciled_to(self, epoch: int) -> bool:
        """Whether it owns its whole target."""
        return self.state == STABLE and self.member_epoch == epoch

    def owns(self, topic_id: bytes, partition: int) -> bool:
        """Whether it uses the partition or still has to revoke it."""
        return partition in self.assigned.get(topic_id, ()) or partition in self.pending_revocation.get(topic_id, ())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConsumerMember):
            return NotImplemented
        return self is other or all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.member_id, self.member_epoch))

    def __repr__(self) -> str:
        return f"ConsumerMember({self.member_id!r}, epoch {self.member_epoch}, state {self.state}, {self.assigned!r})"
