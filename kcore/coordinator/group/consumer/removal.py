"""Members that are gone from a consumer group: left, or not heard of in time (Kafka's `consumerGroupFenceMembers`).

The group's epoch rises, and whoever sends the next heartbeat makes the new target. When only members of the classic
protocol stay, the group becomes theirs (`migration.py`).
"""

from __future__ import annotations

from kcore.coordinator.group.consumer import records
from kcore.coordinator.group.consumer.decision import Decision
from kcore.coordinator.group.consumer.group import REBALANCE, SESSION, TIMERS, names_of, regexes_of
from kcore.coordinator.group.consumer.member import UNREVOKED_PARTITIONS
from kcore.coordinator.group.consumer.migration import becomes_classic, downgrade
from kcore.coordinator.group.effects import StartTimer, StopTimer
from kcore.coordinator.group.records import group_metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from kcore.coordinator.group.consumer.decision import Moment
    from kcore.coordinator.group.consumer.group import ConsumerGroup

RETRY_MS = 1_000


def remove(
    group: ConsumerGroup, member_ids: Collection[str], moment: Moment, response: dict[str, Any] | None = None
) -> Decision:
    """The group without some of its members."""
    decision = Decision(response=response)
    if not member_ids:
        return decision
    leaving = [group.members[member_id] for member_id in member_ids]
    staying = [member for member_id, member in group.members.items() if member_id not in member_ids]
    if becomes_classic(leaving, staying, moment.settings):
        decision.successor = downgrade(group, group.epoch, staying, moment)
        decision.must_rebalance = True
        decision.records = [*group.tombstones(), group_metadata(group.group_id, decision.successor)]
        return decision
    for member_id in member_ids:
        decision.records += records.member_tombstones(group.group_id, member_id)
        decision.timers += [StopTimer((name, member_id)) for name in TIMERS]
    regexes = regexes_of(staying)
    gone = [pattern for pattern in group.resolved_regexes if pattern not in regexes]
    decision.records += [records.regex_tombstone(group.group_id, pattern) for pattern in gone]
    names = names_of(staying, group.resolved_regexes)
    now = group.current_hash(names, moment.image)
    decision.records.append(records.group_epoch(group.group_id, group.next_epoch, now))
    return decision


def on_timer(group: ConsumerGroup, name: tuple[str, ...], moment: Moment) -> Decision:
    """A timer of a member rang: its session, or the time in which it had to give partitions up, to join or to sync."""
    kind, member_id = name
    if kind == SESSION:
        left_ms = group.deadlines.get(member_id, moment.now_ms) - moment.now_ms
        if left_ms > 0:
            # Heartbeats only moved the deadline.
            return Decision(timers=[StartTimer(name, left_ms)])
        group.deadlines.pop(member_id, None)
    group.awaited.discard(member_id)
    member = group.members.get(member_id)
    if member is None or (kind == REBALANCE and member.state != UNREVOKED_PARTITIONS):
        return Decision()
    return remove(group, [member_id], moment)


def try_again(name: tuple[str, ...]) -> list[StartTimer | StopTimer]:
    """What a timer asked for could not be written: it rings again."""
    return [StartTimer(name, RETRY_MS)]


def session_timer(group: ConsumerGroup, member_id: str, timeout_ms: int, now_ms: int) -> list[StartTimer | StopTimer]:
    """Moves the end of a member's session; a timer is only for one that has none, or would end later."""
    before_ms = group.deadlines.get(member_id)
    group.deadlines[member_id] = now_ms + timeout_ms
    if before_ms is not None and before_ms <= now_ms + timeout_ms:
        return []
    return [StartTimer((SESSION, member_id), timeout_ms)]


def on_loaded(group: ConsumerGroup, moment: Moment) -> Decision:
    """Members that were read back are members: their sessions and their time to give partitions up start anew."""
    decision = Decision()
    for member_id, member in group.members.items():
        classic = member.classic
        timeout_ms = moment.settings.session_timeout_ms if classic is None else classic.session_timeout_ms
        decision.timers += session_timer(group, member_id, timeout_ms, moment.now_ms)
        if member.state == UNREVOKED_PARTITIONS:
            decision.timers.append(StartTimer((REBALANCE, member_id), member.rebalance_timeout_ms))
    return decision
