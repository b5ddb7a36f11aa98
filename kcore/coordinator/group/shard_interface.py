"""ShardInterface: the part of a GroupShard that its offsets and its consumer groups use.

For type checkers only: nothing imports this at run time. It breaks the import cycle between a shard and its parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from threading import Lock

    from kcore.coordinator.group.consumer.group import ConsumerGroup
    from kcore.coordinator.group.effects import StartTimer, StopTimer
    from kcore.coordinator.group.live_sessions import LiveSessions
    from kcore.coordinator.group.records import GroupMetadata, Pair
    from kcore.coordinator.group.state import Group


class ShardInterface(Protocol):
    """Every method is called with `lock` held; see GroupShard."""

    lock: Lock
    error: int
    groups: dict[str, Group | ConsumerGroup]
    sessions: LiveSessions

    def append(self, pairs: Sequence[Pair]) -> int: ...

    def answer(self, token: object, fields: Mapping[str, Any]) -> None: ...

    def change_timers(self, group: Group | ConsumerGroup, effects: Iterable[StartTimer | StopTimer]) -> None: ...

    def make_classic(self, group_id: str) -> Group: ...

    def end_quietly(self, group: Group | ConsumerGroup) -> None: ...

    def become_classic(self, group: ConsumerGroup, metadata: GroupMetadata, must_rebalance: bool) -> None: ...
