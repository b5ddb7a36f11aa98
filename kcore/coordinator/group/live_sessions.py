"""A shard's stable groups in the table that processors answer heartbeats from (`session_table.pyx`).

What must stay true: a group stands in the table only while it is Stable, with the generation and the members that it
has; it is taken out, or put in anew, after an event has changed it and before anybody is told of that. With that the
group learns when its members were heard of, and before the timer of a session is heeded, so that what the table was
told counts as if the group had been.

Concurrency: under the shard's lock, but for `leave`.
"""

from __future__ import annotations

from itertools import count

from kcore.coordinator.group.rebalancing import STABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.coordinator.group.session_table import SessionTable
    from kcore.coordinator.group.state import Group

OWNERS = count(1)


class LiveSessions:
    """Of one shard."""

    __slots__ = ("_has_left", "_owner", "_published", "_table")

    def __init__(self, table: SessionTable) -> None:
        self._table = table
        self._owner = next(OWNERS)
        self._published: dict[str, tuple[int, int]] = {}  # generation, and which members: `Members.version`
        self._has_left = False

    def follow(self, group: Group) -> None:
        """An event of the group is over: the table says of it what is so now."""
        group_id = group.group_id
        present = (group.generation_id, group.members.version) if group.state == STABLE else None
        published = self._published.get(group_id)
        if present == published:
            return
        if published is not None:
            for member_id, heard_ms in self._table.withdraw(group_id, self._owner):
                group.heard_of(member_id, heard_ms)
            del self._published[group_id]
        if present is not None and not self._has_left:
            self._published[group_id] = present
            members = [(member.member_id, member.group_instance_id) for member in group.members.values()]
            self._table.publish(group_id, self._owner, group.generation_id, members)
            if self._has_left:
                # `leave` may have come before the group stood there.
                self._table.withdraw(group_id, self._owner)

    def catch_up(self, group: Group, member_id: str) -> None:
        """The group learns when a member was last heard of."""
        if group.group_id in self._published:
            heard_ms = self._table.heard_ms(group.group_id, member_id)
            if heard_ms is not None:
                group.heard_of(member_id, heard_ms)

    def leave(self) -> None:
        """The partition is served elsewhere: nothing is answered from the table any more. From any thread."""
        self._has_left = True
        for group_id in list(self._published):
            self._table.withdraw(group_id, self._owner)
