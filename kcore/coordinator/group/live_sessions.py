"""LiveSessions: a shard's stable groups in the table from which processors answer heartbeats (`session_table.pyx`).

Invariant: a group is in the table only while it is Stable, with its present generation and members. After an event has
changed the group, it is removed or replaced in the table before any response is sent. The group then gets the times of
its members' heartbeats, and again before a session timer is handled: a heartbeat that the table answered counts like
one that the group answered.

Concurrency: called under the shard's lock, except `leave`.
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
    """The sessions of one shard."""

    __slots__ = ("_has_left", "_owner", "_published", "_table")

    def __init__(self, table: SessionTable) -> None:
        self._table = table
        self._owner = next(OWNERS)
        self._published: dict[str, tuple[int, int]] = {}  # generation, `Members.version`
        self._has_left = False

    def follow(self, group: Group) -> None:
        """Updates the table after an event of the group."""
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
                # `leave` may have run before the group was added.
                self._table.withdraw(group_id, self._owner)

    def catch_up(self, group: Group, member_id: str) -> None:
        """Gives the group the time of a member's last heartbeat."""
        if group.group_id in self._published:
            heard_ms = self._table.heard_ms(group.group_id, member_id)
            if heard_ms is not None:
                group.heard_of(member_id, heard_ms)

    def leave(self) -> None:
        """Removes the partition's groups from the table. Any thread may call it."""
        self._has_left = True
        for group_id in list(self._published):
            self._table.withdraw(group_id, self._owner)
