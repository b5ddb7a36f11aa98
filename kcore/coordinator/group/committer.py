"""Committer: the client that commits offsets, as its request names it."""

from __future__ import annotations


class Committer:
    """A member in a generation or a member epoch; generation -1 and no member id for a client outside the group.

    `knows_epochs`: the client handles the errors of consumer groups (OffsetCommit 9). `is_connected`: the connection
    was open when the request was processed, so the commit extends the member's session.
    """

    __slots__ = ("generation_id", "group_instance_id", "is_connected", "is_transactional", "knows_epochs", "member_id")

    def __init__(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        knows_epochs: bool,
        is_transactional: bool = False,
        is_connected: bool = True,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.generation_id = generation_id
        self.knows_epochs = knows_epochs
        self.is_transactional = is_transactional
        self.is_connected = is_connected
