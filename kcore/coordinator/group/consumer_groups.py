"""ConsumerGroups: a shard's consumer groups (KIP-848). Writes and applies their decisions, and starts their timers.

Concurrency: everything runs under the shard's lock, except matching patterns with topic names: that runs on a handler
thread, and its result is an event of its own.
"""

from __future__ import annotations

from kcore import errors
from kcore.coordinator.group import codes
from kcore.coordinator.group.answers import join_failure, sync_failure
from kcore.coordinator.group.consumer import (
    classic_members,
    heartbeat,
    migration,
    records,
    regular_expressions,
    removal,
)
from kcore.coordinator.group.consumer.decision import Decision, Moment
from kcore.coordinator.group.consumer.description import describe
from kcore.coordinator.group.consumer.group import ConsumerGroup
from kcore.coordinator.group.consumer.member import JOIN_EPOCH
from kcore.logger import INFO, get_logger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kcore.coordinator.group.attempts import JoinAttempt, SyncAttempt
    from kcore.coordinator.group.records import Pair
    from kcore.coordinator.group.shard_interface import ShardInterface
    from kcore.coordinator.group.state import Group
    from kcore.coordinator.group.surroundings import Surroundings
    from kcore.protocol.message import Message

LOG = get_logger("kcore.coordinator.group")


class ConsumerGroups:
    """The part of a shard that serves consumer groups, which share the shard's table with classic groups."""

    __slots__ = ("_shard", "_surroundings")

    def __init__(self, shard: ShardInterface, surroundings: Surroundings) -> None:
        self._shard = shard
        self._surroundings = surroundings

    def moment(self, group_id: str) -> Moment:
        """The environment of an event in a group."""
        surroundings = self._surroundings
        return Moment(
            surroundings.image,
            surroundings.settings_of(group_id),
            surroundings.clock_ms(),
            surroundings.wall_clock_ms(),
        )

    def heartbeat(
        self, request: Message, member_id: str, client_id: str, client_host: str, is_connected: bool
    ) -> dict[str, Any]:
        """ConsumerGroupHeartbeat: the response fields."""
        moment = self.moment(request.group_id)
        try:
            group, before = self._group_for(request, moment)
            decision = heartbeat.heartbeat(group, request, member_id, client_id, client_host, moment, is_connected)
        except errors.KafkaError as error:
            return heartbeat.failure(error)
        error_code = self.carry_out(group, decision, before)
        return {"error_code": error_code} if error_code else decision.response

    def _group_for(self, request: Message, moment: Moment) -> tuple[ConsumerGroup, list[Pair]]:
        """The group, and the records that create it. Raises GroupIdNotFoundError."""
        group = self._shard.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            return group, []
        is_joining = request.member_epoch == JOIN_EPOCH
        if group is None:
            if not is_joining:
                kind = "Group" if request.member_epoch < 0 else "Consumer group"
                raise errors.GroupIdNotFoundError(f"{kind} {request.group_id} not found.")
            return ConsumerGroup(request.group_id), []
        if is_joining and not len(group.members):
            return ConsumerGroup(request.group_id), group.tombstones()
        if is_joining:
            return migration.upgrade(group, moment)
        raise errors.GroupIdNotFoundError(f"Group {request.group_id} is not a consumer group.")

    def describe(self, group: ConsumerGroup) -> dict[str, Any]:
        """One group of ConsumerGroupDescribe."""
        surroundings = self._surroundings
        return describe(group, surroundings.consumer_settings.assignors[0], surroundings.image)

    def carry_out(self, group: ConsumerGroup, decision: Decision, before: Sequence[Pair] = ()) -> int:
        """Writes and applies a decision, starts and stops timers. Returns the error code of the append.

        `before` are the records that created the group. They are written first, and applied already.
        """
        written = [*before, *decision.records]
        error = self._shard.append(written) if written else codes.NONE
        if error:
            # Members are unchanged. Their timers expire and find nothing to do.
            self._shard.change_timers(group, decision.timers)
            return error
        if self._shard.groups.get(group.group_id) is not group:
            self._take_the_place_of_a_classic_group(group)
        if decision.successor is not None:
            self._shard.become_classic(group, decision.successor, decision.must_rebalance)
            return error
        for key, value in decision.records:
            group.apply(*records.decode(key, value))
        if decision.regexes:
            self._resolve_later(group, decision.regexes)
        self._shard.change_timers(group, decision.timers)
        return error

    def _take_the_place_of_a_classic_group(self, group: ConsumerGroup) -> None:
        """Replaces a classic group, whose waiting members have to join again."""
        before: Group | ConsumerGroup | None = self._shard.groups.pop(group.group_id, None)
        if before is not None:
            self._shard.end_quietly(before)
        self._shard.groups[group.group_id] = group
        self._shard.change_timers(group, removal.on_loaded(group, self.moment(group.group_id)).timers)

    # --- classic members --------------------------------------------------------------------------------------------

    def join(self, group: ConsumerGroup, attempt: JoinAttempt) -> None:
        """JoinGroup, answered at once."""
        try:
            decision = classic_members.join(group, attempt, self.moment(group.group_id))
            error_code = self.carry_out(group, decision) or decision.response["error_code"]
        except errors.KafkaError as error:
            error_code = error.code
        if error_code == codes.MEMBER_ID_REQUIRED:
            self._shard.answer(attempt.token, join_failure(error_code, decision.response["member_id"]))
        elif error_code:
            self._shard.answer(attempt.token, join_failure(error_code, attempt.member_id))
        else:
            self._shard.answer(attempt.token, decision.response)

    def sync(self, group: ConsumerGroup, attempt: SyncAttempt) -> None:
        """SyncGroup, answered at once."""
        try:
            decision = classic_members.sync(group, attempt, self.moment(group.group_id))
            error_code = self.carry_out(group, decision) or decision.response["error_code"]
        except errors.KafkaError as error:
            error_code = error.code
        self._shard.answer(attempt.token, sync_failure(error_code) if error_code else decision.response)

    def classic_heartbeat(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int, is_connected: bool
    ) -> int:
        """Heartbeat: the error code."""
        try:
            decision = classic_members.heartbeat(
                group, member_id, instance_id, generation_id, self.moment(group.group_id), is_connected
            )
        except errors.KafkaError as error:
            return error.code
        return self.carry_out(group, decision) or int(decision.response["error_code"])

    def leave(self, group: ConsumerGroup, members: Sequence[tuple[str, str | None]]) -> tuple[int, list[int]]:
        """LeaveGroup of (member id, instance id): the error code of the request, and one for each member."""
        decision, results = classic_members.leave(group, members, self.moment(group.group_id))
        error = self.carry_out(group, decision)
        return (error, []) if error else (codes.NONE, results)

    # --- timers -----------------------------------------------------------------------------------------------------

    def on_timer(self, group: ConsumerGroup, name: tuple[str, ...]) -> None:
        """A timer of the group expired."""
        kind, member_id = name
        decision = removal.on_timer(group, name, self.moment(group.group_id))
        if decision.records:
            LOG.limited(
                INFO,
                group.group_id,
                "members of a consumer group timed out",
                "Removed member %s from consumer group %s: its %s timeout expired",
                *(member_id, group.group_id, kind),
            )
        if self.carry_out(group, decision):
            # Not written: try again.
            self._shard.change_timers(group, removal.try_again(name))

    def loaded(self, group: ConsumerGroup) -> None:
        """Adds a group of the log, and starts its timers."""
        self._shard.groups[group.group_id] = group
        self.carry_out(group, removal.on_loaded(group, self.moment(group.group_id)))

    # --- patterns ---------------------------------------------------------------------------------------------------

    def _resolve_later(self, group: ConsumerGroup, patterns: frozenset[str]) -> None:
        group.is_resolving = True
        image, wall_ms = self._surroundings.image, self._surroundings.wall_clock_ms()
        limits = self._surroundings.consumer_settings.pattern_limits

        def resolve() -> None:
            try:
                found = regular_expressions.resolve(patterns, image, wall_ms, limits)
            finally:
                group.is_resolving = False
            with self._shard.lock:
                if not self._shard.error and self._shard.groups.get(group.group_id) is group:
                    decision = regular_expressions.on_resolved(group, found, self.moment(group.group_id))
                    if not self.carry_out(group, decision):
                        group.topics_resolved = image.topics

        self._surroundings.timer.schedule(0, resolve)
