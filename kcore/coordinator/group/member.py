"""Member: a member of a classic group (Kafka's `ClassicGroupMember`).

Its member id and its instance id (static members, KIP-345) never change. Each JoinGroup replaces its profile.
"""

from __future__ import annotations


class MemberProfile:
    """The values of a client's JoinGroup. Immutable.

    `protocols` are (name, metadata) pairs, most preferred first. Times are milliseconds.
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
        """The names of the supported protocols."""
        return {name for name, _ in self.protocols}

    def metadata_of(self, protocol: str | None) -> bytes:
        """The metadata for the group's protocol."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def vote(self, candidates: set[str]) -> str:
        """The most preferred protocol among `candidates`."""
        return next(name for name, _ in self.protocols if name in candidates)


class Member:
    """A member with its assignment and its waiting requests.

    Only `Members` sets `awaiting_join`, since it counts the waiting members. The session's deadline is a time of the
    coordinator's clock.
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
        """The name for log lines."""
        return self.member_id if self.group_instance_id is None else f"{self.member_id} ({self.group_instance_id})"

    @property
    def is_static(self) -> bool:
        """Whether the member has an instance id, so that it may restart without a rebalance."""
        return self.group_instance_id is not None
