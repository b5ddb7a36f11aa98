"""What an event in a consumer group comes to: nothing has changed yet, and nothing changes unless it is written."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.coordinator.group.consumer.records import Record
    from kcore.coordinator.group.consumer.settings import Settings
    from kcore.coordinator.group.effects import StartTimer, StopTimer
    from kcore.coordinator.group.records import GroupMetadata
    from kcore.metadata.image import MetadataImage


class Decision:
    """`records` are to be appended, then applied, all or none; then `response` is the answer.

    `timers` are started and stopped in any case: one that rings for a member that never came says nothing. The patterns
    in `regexes` are to be resolved, away from the group's lock, and their topics given to the group. `successor` is the
    classic group that this one becomes, `must_rebalance` that it begins with a rebalance.
    """

    __slots__ = ("must_rebalance", "records", "regexes", "response", "successor", "timers")

    def __init__(
        self,
        records: list[Record] | None = None,
        response: dict[str, Any] | None = None,
        timers: list[StartTimer | StopTimer] | None = None,
        regexes: frozenset[str] = frozenset(),
    ) -> None:
        self.records: list[Record] = records if records is not None else []
        self.response: dict[str, Any] = response if response is not None else {}
        self.timers: list[StartTimer | StopTimer] = timers if timers is not None else []
        self.regexes = regexes
        self.successor: GroupMetadata | None = None
        self.must_rebalance = False


class Moment:
    """When and in what world an event is: the cluster's metadata, configuration, two clocks in milliseconds.

    `now_ms` never goes back and is what timers go by; `wall_ms` is what is written.
    """

    __slots__ = ("image", "now_ms", "settings", "wall_ms")

    def __init__(self, image: MetadataImage, settings: Settings, now_ms: int, wall_ms: int) -> None:
        self.image = image
        self.settings = settings
        self.now_ms = now_ms
        self.wall_ms = wall_ms
