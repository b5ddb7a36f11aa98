"""The result of an event in a consumer group. The group changes only when its records are written."""

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
    """`records` are appended and then applied, all or none. Then `response` is sent.

    `timers` are started and stopped even if the append fails: a timer of an unknown member has no effect. The patterns
    in `regexes` are matched without the group's lock. `successor` is the classic group that replaces this group, and
    `must_rebalance` means that it starts with a rebalance.
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
    """The environment of an event: cluster metadata, configuration, and two clocks in milliseconds.

    `now_ms` is monotonic, for timers. `wall_ms` is the wall clock, for records.
    """

    __slots__ = ("image", "now_ms", "settings", "wall_ms")

    def __init__(self, image: MetadataImage, settings: Settings, now_ms: int, wall_ms: int) -> None:
        self.image = image
        self.settings = settings
        self.now_ms = now_ms
        self.wall_ms = wall_ms
