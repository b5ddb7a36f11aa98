"""Removal of members from a consumer group: they left or timed out (Kafka's `consumerGroupFenceMembers`).

The group epoch rises, and the next heartbeat of any member computes the new target. If only classic members remain, the
group may become a classic group (`migration.py`).
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
    """The decision that removes members."""
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
    """A timer of a member expired: its session, or the time limit to revoke partitions, to join or to sync."""
    kind, member_id = name
    if kind == SESSION:
        left_ms = group.deadlines.get(member_id, moment.now_ms) - moment.now_ms
        if left_ms > 0:
            # Heartbeats only move the deadline, not the timer.
            return Decision(timers=[StartTimer(name, left_ms)])
        group.deadlines.pop(member_id, None)
    group.awaited.discard(member_id)
    member = group.members.get(member_id)
    if member is None or (kind == REBALANCE and member.state != UNREVOKED_PARTITIONS):
        return Decision()
    return remove(group, [member_id], moment)


def try_again(name: tuple[str, ...]) -> list[StartTimer | StopTimer]:
    """Restarts a timer whose decision could not be written."""
    return [StartTimer(name, RETRY_MS)]


def session_timer(group: ConsumerGroup, member_id: str, timeout_ms: int, now_ms: int) -> list[StartTimer | StopTimer]:
    """Moves the deadline of a session. Starts a timer only if none runs or it would expire later."""
    before_ms = group.deadlines.get(member_id)
    group.deadlines[member_id] = now_ms + timeout_ms
    if before_ms is not None and before_ms <= now_ms + timeout_ms:
        return []
    return [StartTimer((SESSION, member_id), timeout_ms)]


def on_loaded(group: ConsumerGroup, moment: Moment) -> Decision:
    """After a load: the members' sessions and their time limits to revoke partitions start again."""
    decision = Decision()
    for member_id, member in group.members.items():
        classic = member.classic
        timeout_ms = moment.settings.session_timeout_ms if classic is None else classic.session_timeout_ms
        decision.timers += session_timer(group, member_id, timeout_ms, moment.now_ms)
        if member.state == UNREVOKED_PARTITIONS:
            decision.timers.append(StartTimer((REBALANCE, member_id), member.rebalance_timeout_ms))
    return decision
