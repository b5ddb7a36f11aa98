"""The targets of `kcli groups reset-offsets`: the new offset of each partition.

An offset that the user gives is moved into the log, as by Kafka's tool. An offset that was looked up is already in it.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcore.client.admin.records import RecordAdmin
    from kcore.client.metadata.cluster import TopicPartition

    Offsets = dict[TopicPartition, int]

LATEST, EARLIEST = -1, -2
TO_TIME, TO_CURRENT, TO_OFFSET, SHIFT_BY = "time", "current", "offset", "shift"


class ResetTarget(NamedTuple):
    """`value` is a time in milliseconds, a special time, an offset, or a number of offsets."""

    kind: str
    value: int = 0


class ResetPlan:
    """New offsets, warnings about them, and failures of partitions without one."""

    __slots__ = ("failures", "offsets", "warnings")

    def __init__(self) -> None:
        self.offsets: Offsets = {}
        self.warnings: list[str] = []
        self.failures: list[str] = []


def plan_reset(
    admin: RecordAdmin,
    target: ResetTarget,
    partitions: Iterable[TopicPartition],
    committed: Mapping[TopicPartition, int],
) -> ResetPlan:
    """The new offset of each partition."""
    plan = ResetPlan()
    wanted = list(partitions)
    if target.kind == TO_TIME:
        _move_to_time(admin, plan, wanted, target.value)
    elif target.kind == TO_CURRENT:
        plan.offsets = {place: committed[place] for place in wanted if place in committed}
        plan.offsets |= _look_up(admin, plan, [place for place in wanted if place not in committed], LATEST)
    elif target.kind == TO_OFFSET:
        move_to_offsets(admin, plan, dict.fromkeys(wanted, target.value))
    else:
        plan.failures += [
            f"partition {place}: cannot shift: the group has no committed offset. Use --to-offset instead"
            for place in wanted
            if place not in committed
        ]
        requested = {place: committed[place] + target.value for place in wanted if place in committed}
        move_to_offsets(admin, plan, requested)
    return plan


def _move_to_time(admin: RecordAdmin, plan: ResetPlan, partitions: list[TopicPartition], time_ms: int) -> None:
    found = _look_up(admin, plan, partitions, time_ms)
    none_since = [place for place, offset in found.items() if offset < 0]
    plan.warnings += [f"partition {place}: no record since that time; using the log end offset" for place in none_since]
    plan.offsets = {**found, **_look_up(admin, plan, none_since, LATEST)}


def move_to_offsets(admin: RecordAdmin, plan: ResetPlan, requested: Offsets) -> None:
    """Adds offsets to a plan; those outside the log become its start or its end."""
    ends = _look_up(admin, plan, list(requested), LATEST)
    starts = _look_up(admin, plan, list(ends), EARLIEST)
    for place, start in starts.items():
        offset = min(max(requested[place], start), ends[place])
        if offset > requested[place]:
            plan.warnings.append(
                f"partition {place}: offset {requested[place]} is before the log start offset; using {offset}"
            )
        elif offset < requested[place]:
            plan.warnings.append(
                f"partition {place}: offset {requested[place]} is beyond the log end offset; using {offset}"
            )
        plan.offsets[place] = offset


def _look_up(admin: RecordAdmin, plan: ResetPlan, partitions: list[TopicPartition], time_ms: int) -> Offsets:
    from kcore.client.admin.results import failures, succeeded

    listed = admin.list_offsets(dict.fromkeys(partitions, time_ms))
    plan.failures += map(str, failures(listed).values())
    return {place: found.offset for place, found in succeeded(listed).items()}
