"""One member of a group of the classic protocol (Kafka's `ClassicGroupMember`).

Who it is never changes: a member id, and the instance id of a static member (KIP-345). What it says of itself is its
profile, which each of its joins replaces as a whole.
"""

from __future__ import annotations


class MemberProfile:
    """What a client says of itself in JoinGroup. Never changed once made.

    `protocols` are (name, metadata) pairs, most preferred first; times are milliseconds.
    """

    __slots__ = (
        "client_host",
        "client_id",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
    )

    def __init__(
        self,
        client_id: str,
        client_host: str,
        protocol_type: str,
        protocols: list[tuple[str, bytes]],
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
    ) -> None:
        self.client_id = client_id
        self.client_host = client_host
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms

    def protocol_names(self) -> set[str]:
        """The names of what it supports."""
        return {name for name, _ in self.protocols}

    def metadata_of(self, protocol: str | None) -> bytes:
        """Its metadata for the protocol that the group chose."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def vote(self, candidates: set[str]) -> str:
        """Its most preferred protocol among those that every member supports."""
        return next(name for name, _ in self.protocols if name in candidates)


class Member:
    """A member with what it was assigned and which of its requests wait.

    `awaiting_join` is kept by `Members`, which counts; the session's deadline is a time of the coordinator's clock.
    """

    __slots__ = (
        "assignment",
        "awaiting_join",
        "awaiting_sync",
        "group_instance_id",
        "is_new",
        "member_id",
        "profile",
        "session_deadline_ms",
    )

    def __init__(self, member_id: str, group_instance_id: str | None, profile: MemberProfile) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.profile = profile
        self.assignment = b""
        self.awaiting_join: object | None = None
        self.awaiting_sync: object | None = None
        self.is_new = True  # until its first generation
        self.session_deadline_ms = 0

    @property
    def name(self) -> str:
        """What a person knows it by."""
        return self.member_id if self.group_instance_id is None else f"{self.member_id} ({self.group_instance_id})"

    @property
    def is_static(self) -> bool:
        """Whether it has an instance id, and may be away for a while without losing its place."""
        return self.group_instance_id is not None
