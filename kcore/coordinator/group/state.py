"""Group: the state machine of a classic group: events in, effects out, no I/O (Kafka's `ClassicGroup` and the
corresponding part of `GroupMetadataManager`).

    Empty --join--> PreparingRebalance --all joined, or time up--> CompletingRebalance --assignment kept--> Stable
    Stable, CompletingRebalance --join, leave, death--> PreparingRebalance;   any --last member gone--> Empty
    any --end--> Dead

Every event is a method that gets the time (milliseconds of a monotonic clock that starts at the wall clock's time) and
returns effects, or an error code with effects. Rebalances are in `rebalancing.py`, static members in
`static_members.py`.

`Persist` asks for an append. It takes effect with `on_persisted`: members get their assignments only then. If the
append fails, the group rebalances instead.

A heartbeat only moves the deadline of its member. The session timer checks the deadline when it expires and continues
for the remaining time, so that a heartbeat needs no timer. Processors answer most heartbeats of a Stable group without
the group; `heard_of` reports them in time (`live_sessions.py`).

When a member sends another request while one waits, Kafka never answers the first. Here it is answered with
REBALANCE_IN_PROGRESS: its client has abandoned it, and its connection is freed.
"""

from __future__ import annotations

from kcore.coordinator.group import codes
from kcore.coordinator.group.answers import NO_MEMBER_ID, join_failure, sync_failure, sync_success
from kcore.coordinator.group.effects import Persist, Reply, StartTimer
from kcore.coordinator.group.group_metadata import member_error, restored
from kcore.coordinator.group.member import Member
from kcore.coordinator.group.offset_expiry import CONSUMER_PROTOCOL_TYPE, expiry_of, is_subscribed
from kcore.coordinator.group.rebalancing import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    REBALANCE_TIMER,
    SESSION,
    STABLE,
    SYNC_TIMER,
    RebalancingGroup,
    because,
    names_of,
)
from kcore.coordinator.group.records import group_metadata_tombstone
from kcore.coordinator.group.static_members import StaticMemberReplaced, end_replacement, replace_static_member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kcore.coordinator.group.attempts import JoinAttempt, SyncAttempt
    from kcore.coordinator.group.effects import Effect
    from kcore.coordinator.group.member import MemberProfile
    from kcore.coordinator.group.offset_expiry import OffsetExpiry
    from kcore.coordinator.group.records import GroupMetadata, Pair


class AssignmentStored:
    """The event of a Persist: the assignments of a generation, by member id."""

    __slots__ = ("assignments", "generation_id")

    def __init__(self, generation_id: int, assignments: Mapping[str, bytes]) -> None:
        self.generation_id = generation_id
        self.assignments = assignments


class Group(RebalancingGroup):
    """One group. `initial_rebalance_delay_ms` and `max_size` are the broker's configuration."""

    __slots__ = ()

    # --- joining ----------------------------------------------------------------------------------------------------

    def join(self, attempt: JoinAttempt, now_ms: int) -> list[Effect]:
        """JoinGroup: answered at once with an error or the present generation, or at the end of the rebalance."""
        self.begin(now_ms)
        if not self._has_room_for(attempt.member_id):
            self._turn_away(attempt)
        else:
            error, member_id = self._join_error(attempt)
            if error:
                self.effects.append(Reply(attempt.token, join_failure(error, member_id)))
            elif not attempt.member_id:
                self._join_as_new(attempt)
            elif attempt.member_id in self.members:
                self._rejoin(self.members[attempt.member_id], attempt)
            else:
                self.add_member(Member(attempt.member_id, None, attempt.profile), attempt.token, attempt.reason)
        return self.take_effects()

    def _has_room_for(self, member_id: str) -> bool:
        """Whether the group has room. During a rebalance the first members to join stay, so that it can shrink."""
        member = self.members.get(member_id)
        if self.state == PREPARING_REBALANCE:
            is_waiting = member is not None and member.awaiting_join is not None
            return is_waiting or self.members.waiting_count < self.max_size
        return self.state in (EMPTY, DEAD) or member is not None or len(self.members) < self.max_size

    def _turn_away(self, attempt: JoinAttempt) -> None:
        member = self.members.get(attempt.member_id)
        if member is not None:
            self.forget_member(member, codes.GROUP_MAX_SIZE_REACHED, NO_MEMBER_ID)
        elif attempt.member_id in self.members.pending_ids:
            self.forget_pending(attempt.member_id)
        self.effects.append(Reply(attempt.token, join_failure(codes.GROUP_MAX_SIZE_REACHED, NO_MEMBER_ID)))
        self.complete_if_all_joined()

    def _join_error(self, attempt: JoinAttempt) -> tuple[int, str]:
        """The error code of a JoinGroup, and the member id of the response."""
        if self.state == DEAD:
            return codes.COORDINATOR_NOT_AVAILABLE, attempt.member_id
        if not self._supports(attempt.profile):
            return codes.INCONSISTENT_GROUP_PROTOCOL, attempt.member_id
        if not attempt.member_id:
            return codes.NONE, NO_MEMBER_ID
        if attempt.member_id in self.members.pending_ids:
            # Only dynamic members get pending ids. Kafka's coordinator fails for a static member with one.
            is_static = attempt.group_instance_id is not None
            return codes.UNKNOWN_SERVER_ERROR if is_static else codes.NONE, NO_MEMBER_ID
        return self.members.identity_error(attempt.member_id, attempt.group_instance_id), attempt.member_id

    def _supports(self, profile: MemberProfile) -> bool:
        if self.state == EMPTY:
            return bool(profile.protocol_type and profile.protocols)
        return profile.protocol_type == self.protocol_type and self.members.support_one_of(profile.protocol_names())

    def _join_as_new(self, attempt: JoinAttempt) -> None:
        present_id = self.members.id_of_instance(attempt.group_instance_id)
        if present_id is not None:
            replace_static_member(self, self.members[present_id], attempt)
        elif attempt.needs_member_id and attempt.group_instance_id is None:
            self.members.pending_ids.add(attempt.new_member_id)
            self.effects += [
                StartTimer(("pending", attempt.new_member_id), attempt.profile.session_timeout_ms),
                Reply(attempt.token, join_failure(codes.MEMBER_ID_REQUIRED, attempt.new_member_id)),
            ]
        else:
            member = Member(attempt.new_member_id, attempt.group_instance_id, attempt.profile)
            self.add_member(member, attempt.token, attempt.reason)

    def _rejoin(self, member: Member, attempt: JoinAttempt) -> None:
        """A member that joins again without changes gets the last response again. A leader starts a rebalance."""
        has_changed = member.profile.protocols != attempt.profile.protocols
        is_leader = member.member_id == self.members.leader_id
        if self.state == PREPARING_REBALANCE or has_changed or (self.state == STABLE and is_leader):
            self.members.describe_anew(member, attempt.profile)
            earlier = self.members.wait_for_join(member, attempt.token)
            if earlier is not None:
                self.effects.append(Reply(earlier, join_failure(codes.REBALANCE_IN_PROGRESS, member.member_id)))
            what = "changed what it supports or wants" if has_changed else "joins again"
            self.rebalance(f"{member.name} {what}{because(attempt.reason)}")
        else:
            self.effects.append(Reply(attempt.token, self.join_success(member)))

    # --- syncing ----------------------------------------------------------------------------------------------------

    def sync(self, attempt: SyncAttempt, now_ms: int) -> list[Effect]:
        """SyncGroup: the leader's has all assignments; the others wait for it."""
        self.begin(now_ms)
        error = self._sync_error(attempt)
        if error:
            self.effects.append(Reply(attempt.token, sync_failure(error)))
            return self.take_effects()
        member = self.members[attempt.member_id]
        self.settle_sync(member)
        if self.state == STABLE:
            self.extend_session(member)
            self.effects.append(Reply(attempt.token, self._sync_success(member)))
            return self.take_effects()
        self.end_waiting_for_sync(member, sync_failure(codes.REBALANCE_IN_PROGRESS))
        member.awaiting_sync = attempt.token
        if member.member_id == self.members.leader_id:
            assignments = {member_id: attempt.assignments.get(member_id, b"") for member_id in self.members}
            event = AssignmentStored(self.generation_id, assignments)
            self.effects.append(Persist([self.record(assignments)], event))
        return self.take_effects()

    def _sync_error(self, attempt: SyncAttempt) -> int:
        error = self._membership_error(attempt.member_id, attempt.group_instance_id, attempt.generation_id)
        if error:
            return error
        kind, name = attempt.protocol_type, attempt.protocol_name
        if (kind is not None and kind != self.protocol_type) or (name is not None and name != self.protocol_name):
            return codes.INCONSISTENT_GROUP_PROTOCOL
        return codes.REBALANCE_IN_PROGRESS if self.state == PREPARING_REBALANCE else codes.NONE

    def _sync_success(self, member: Member) -> dict[str, Any]:
        return sync_success(self.protocol_type, self.protocol_name, member.assignment)

    def on_persisted(self, event: object, error: int, now_ms: int) -> list[Effect]:
        """Handles the result of a Persist. `error` is the error code of the append."""
        self.begin(now_ms)
        if isinstance(event, AssignmentStored):
            self._assignment_stored(event, member_error(error))
        elif isinstance(event, StaticMemberReplaced):
            end_replacement(self, event, member_error(error))
        return self.take_effects()

    def _assignment_stored(self, event: AssignmentStored, error: int) -> None:
        if self.state != COMPLETING_REBALANCE or event.generation_id != self.generation_id:
            return  # the group has changed since
        if error:
            self.fail_waiting_syncs(error)
            self.rebalance(f"the assignment could not be kept (error {error})")
            return
        self.move_to(STABLE)
        for member in self.members.values():
            member.assignment = event.assignments[member.member_id]
            self.end_waiting_for_sync(member, self._sync_success(member))

    # --- heartbeats, leaving and permissions ------------------------------------------------------------------------

    def heartbeat(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        now_ms: int,
        is_connected: bool = True,
    ) -> int:
        """Heartbeat: extends the session. The error code.

        It does not extend the session of a client that has closed its connection (`is_connected` is False). Such
        heartbeats wait in sockets while the broker is stopped or very slow. Their clients join under new member ids,
        and the group would wait another session timeout for the old ids.
        """
        self.begin(now_ms)
        error = self._membership_error(member_id, group_instance_id, generation_id)
        if error:
            return error
        if is_connected:
            self.extend_session(self.members[member_id])
        return codes.REBALANCE_IN_PROGRESS if self.state == PREPARING_REBALANCE else codes.NONE

    def leave(self, member_id: str, group_instance_id: str | None, now_ms: int) -> tuple[int, list[Effect]]:
        """LeaveGroup of one member: its error code and effects. An administrator may pass only an instance id."""
        self.begin(now_ms)
        if self.state == DEAD:
            return codes.COORDINATOR_NOT_AVAILABLE, []
        if member_id in self.members.pending_ids:
            self.forget_pending(member_id)
            return codes.NONE, self.take_effects()
        if not member_id:
            member_id = self.members.id_of_instance(group_instance_id) or NO_MEMBER_ID
        error = self.members.identity_error(member_id, group_instance_id)
        if not error:
            member = self.members[member_id]
            self.remove_member(member, f"{member.name} leaves")
        return error, self.take_effects()

    def commit_error(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        now_ms: int,
        is_transactional: bool = False,
        is_connected: bool = True,
    ) -> int:
        """The error code of a commit. Members of the present generation may commit, and anyone if the group is empty.

        A transactional commit needs no member id, and is permitted during a rebalance.
        """
        self.begin(now_ms)
        if self.state == DEAD:
            return codes.COORDINATOR_NOT_AVAILABLE
        if generation_id < 0 and self.state == EMPTY:
            return codes.NONE
        if generation_id < 0 and not member_id and group_instance_id is None:
            return codes.NONE if is_transactional else codes.UNKNOWN_MEMBER_ID
        error = self._membership_error(member_id, group_instance_id, generation_id)
        if error or is_transactional:
            return error
        if self.state == COMPLETING_REBALANCE:
            return codes.REBALANCE_IN_PROGRESS
        # A client that gave its membership up commits before it joins as a new member. When the broker was stopped for
        # longer than the session, such a commit must not make the new generation wait for the old member.
        member = self.members[member_id]
        if is_connected and now_ms < member.session_deadline_ms:
            self.extend_session(member)
        return codes.NONE

    def offset_fetch_error(self, member_id: str | None, member_epoch: int) -> int:
        """The error code of reading offsets: none, since only consumer groups check the member."""
        return codes.NONE

    def offset_delete_error(self) -> int:
        """The error code of deleting offsets. Permitted with members that are consumers: their topics are known."""
        if self.state == DEAD:
            return codes.GROUP_ID_NOT_FOUND
        is_free = self.state == EMPTY or self.protocol_type == CONSUMER_PROTOCOL_TYPE
        return codes.NONE if is_free else codes.NON_EMPTY_GROUP

    def subscribes_to(self, topic: str) -> bool:
        """Whether members subscribe to a topic, as far as known."""
        return is_subscribed(self, topic)

    def offset_expiry(self) -> OffsetExpiry | None:
        """The expiry of the group's offsets; None: not now."""
        return expiry_of(self)

    def delete_error(self) -> int:
        """The error code of deleting the group."""
        if self.state == DEAD:
            return codes.GROUP_ID_NOT_FOUND
        return codes.NONE if self.state == EMPTY else codes.NON_EMPTY_GROUP

    def tombstones(self) -> list[Pair]:
        """The tombstones of the group's record."""
        return [group_metadata_tombstone(self.group_id)]

    def _membership_error(self, member_id: str, group_instance_id: str | None, generation_id: int) -> int:
        if self.state == DEAD:
            return codes.COORDINATOR_NOT_AVAILABLE
        error = self.members.identity_error(member_id, group_instance_id)
        if error:
            return error
        return codes.NONE if generation_id == self.generation_id else codes.ILLEGAL_GENERATION

    # --- time -------------------------------------------------------------------------------------------------------

    def on_timer(self, name: tuple[str, ...], now_ms: int) -> list[Effect]:
        """Handles an expired timer of the group."""
        self.begin(now_ms)
        if name == REBALANCE_TIMER:
            self.rebalance_timed_out()
        elif name == SYNC_TIMER:
            self._syncs_timed_out()
        elif name[0] == SESSION:
            self._session_timed_out(name[1])
        elif name[1] in self.members.pending_ids:
            self.forget_pending(name[1])
        return self.take_effects()

    def _syncs_timed_out(self) -> None:
        """Removes members that joined and have not sent a SyncGroup in time, also static ones (KAFKA-13474)."""
        owing = [member for member in self.members.values() if member.member_id in self.members.owing_sync]
        if owing and self.state in (COMPLETING_REBALANCE, STABLE):
            for member in owing:
                self.forget_member(member, codes.UNKNOWN_MEMBER_ID, NO_MEMBER_ID)
            self.prepare_rebalance(f"no SyncGroup came in time from {names_of(owing)}")

    def _session_timed_out(self, member_id: str) -> None:
        member = self.members.get(member_id)
        if member is None:
            return
        # A member with a waiting request stays alive.
        if (member.awaiting_join is not None and not member.is_new) or member.awaiting_sync is not None:
            self.extend_session(member)
        if self.now_ms < member.session_deadline_ms:
            self.effects.append(StartTimer((SESSION, member_id), member.session_deadline_ms - self.now_ms))
        else:
            self.remove_member(member, f"{member.name} was not heard of within its session timeout")

    # --- start and end ----------------------------------------------------------------------------------------------

    def restore(self, metadata: GroupMetadata, now_ms: int) -> list[Effect]:
        """Restores a new group from its record. The members' sessions start again.

        A group that exceeds the present maximum size rebalances, so that its members can commit before it shrinks.
        """
        self.begin(now_ms)
        self.generation_id = metadata.generation_id
        self.protocol_type = metadata.protocol_type or None
        self.protocol_name = metadata.protocol_name
        for member in restored(metadata):
            self.members.add(member)
            self.start_session(member)
        if metadata.leader_id is not None and metadata.leader_id in self.members:
            self.members.leader_id = metadata.leader_id
        self.state = STABLE if self.members else EMPTY
        self.state_since_ms = metadata.current_state_timestamp_ms
        if len(self.members) > self.max_size:
            self.prepare_rebalance(f"it has {len(self.members)} members and may have {self.max_size}")
        return self.take_effects()

    @property
    def is_idle(self) -> bool:
        """Whether there are no members and no pending ids."""
        return self.state == EMPTY and not self.members.pending_ids

    def end(self, error: int) -> list[Effect]:
        """Ends the group: answers waiting requests with `error` and stops all timers."""
        self.stop_all_timers()
        for member in list(self.members.values()):
            self.forget_member(member, error, member.member_id)
        self.state = DEAD
        return self.take_effects()
