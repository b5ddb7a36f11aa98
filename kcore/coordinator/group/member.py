"""One member of a group of the classic protocol (Kafka's `ClassicGroupMember`)."""

from __future__ import annotations


class Member:
    """What a member said of itself when it joined, what it was assigned, and which of its requests wait.

    `protocols` are (name, metadata) pairs, most preferred first; times are milliseconds of the coordinator's clock.
    """

    __slots__ = (
        "assignment",
        "awaiting_join",
        "awaiting_sync",
        "client_host",
        "client_id",
        "group_instance_id",
        "is_new",
        "member_id",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "session_deadline_ms",
        "session_timeout_ms",
    )

    def __init__(
        self,
        member_id: str,
        client_id: str,
        client_host: str,
        protocol_type: str,
        protocols: list[tuple[str, bytes]],
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
        group_instance_id: str | None = None,
    ) -> None:
        self.member_id = member_id
        self.client_id = client_id
        self.client_host = client_host
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.group_instance_id = group_instance_id
        self.assignment = b""
        self.awaiting_join: object | None = None
        self.awaiting_sync: object | None = None
        self.is_new = True
        self.session_deadline_ms = 0

    def protocol_names(self) -> list[str]:
        """The names of what it supports, most preferred first."""
        return [name for name, _ in self.protocols]

    def metadata_of(self, protocol: str | None) -> bytes:
        """Its metadata for the protocol that the group chose."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def vote(self, candidates: set[str]) -> str:
        """Its most preferred protocol among those that every member supports."""
        return next(name for name, _ in self.protocols if name in candidates)
