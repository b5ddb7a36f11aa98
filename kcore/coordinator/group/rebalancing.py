"""RebalancingGroup: the rebalances of a classic group, from one generation to the next. Base of the state machine.

    prepare_rebalance --all joined, or time up--> complete_rebalance --> the next generation, or an empty group

`state.py` has the events. An event begins with `begin`, appends to `effects`, and ends with `take_effects`. Timers have
names: the session of a member, a pending member id (KIP-394), the rebalance, and owed SyncGroups (KAFKA-13474).

The first rebalance of an empty group waits `group.initial.rebalance.delay.ms` for new members, and again as long as
members join, at most the rebalance timeout. Later rebalances wait for the known members.
"""

from __future__ import annotations

from kcore.coordinator.group import codes, records
from kcore.coordinator.group.answers import NO_MEMBER_ID, join_failure, listed, sync_failure
from kcore.coordinator.group.effects import Note, Persist, Reply, StartTimer, StopTimer
from kcore.coordinator.group.group_metadata import member_metadata
from kcore.coordinator.group.members import Members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from kcore.coordinator.group.effects import Effect
    from kcore.coordinator.group.member import Member
    from kcore.coordinator.group.records import Pair

EMPTY = "Empty"
PREPARING_REBALANCE = "PreparingRebalance"
COMPLETING_REBALANCE = "CompletingRebalance"
STABLE = "Stable"
DEAD = "Dead"

# A member that waits for its first rebalance is removed after this time, whatever its session timeout (KAFKA-7610).
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
# The shortest interval at which a group checks whether one of its absent static members has returned.
NOBODY_JOINED_MIN_MS = 100

SESSION = "session"  # the timers of members' sessions: (SESSION, member id)
REBALANCE_TIMER = ("rebalance",)
SYNC_TIMER = ("sync",)
NOT_INITIAL = -1
MAX_REASON = 255  # characters, as in clients (KIP-800)


class GroupEmptied:
    """The event of a Persist: the group is empty."""


class RebalancingGroup:
    """A group's members and generations; `now_ms` is the time of the event being handled, in milliseconds."""

    __slots__ = (
        "effects",
        "generation_id",
        "group_id",
        "initial_delay_left_ms",
        "initial_rebalance_delay_ms",
        "max_size",
        "member_added",
        "members",
        "now_ms",
        "protocol_name",
        "protocol_type",
        "state",
        "state_since_ms",
    )

    def __init__(self, group_id: str, initial_rebalance_delay_ms: int, max_size: int) -> None:
        self.group_id = group_id
        self.initial_rebalance_delay_ms = initial_rebalance_delay_ms
        self.max_size = max_size
        self.state = EMPTY
        self.state_since_ms = -1  # unknown, as in Kafka's record
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.members = Members()
        self.initial_delay_left_ms = NOT_INITIAL
        self.member_added = False  # since the last start of the initial delay
        self.now_ms = 0
        self.effects: list[Effect] = []

    @property
    def leader_id(self) -> str | None:
        """The leader's member id; None in an empty group."""
        return self.members.leader_id

    def begin(self, now_ms: int) -> None:
        """Begins an event."""
        self.now_ms = now_ms

    def take_effects(self) -> list[Effect]:
        """The effects of the event."""
        effects, self.effects = self.effects, []
        return effects

    def move_to(self, state: str) -> None:
        """Changes the state."""
        self.state = state
        self.state_since_ms = self.now_ms

    # --- members ----------------------------------------------------------------------------------------------------

    def add_member(self, member: Member, token: object, reason: str | None) -> None:
        """Adds a member, whose JoinGroup waits for the next generation. `reason` is the client's."""
        if self.state == PREPARING_REBALANCE and self.generation_id == 0:
            self.member_added = True
        if not self.members:
            self.protocol_type = member.profile.protocol_type
        if member.member_id in self.members.pending_ids:
            self.effects.append(StopTimer(("pending", member.member_id)))
        self.members.add(member)
        self.members.wait_for_join(member, token)
        self.start_session(member)
        self.rebalance(f"{member.name} joins{because(reason)}")

    def remove_member(self, member: Member, reason: str) -> None:
        """Removes a member and rebalances."""
        self.forget_member(member, codes.UNKNOWN_MEMBER_ID, NO_MEMBER_ID)
        self.rebalance(reason)

    def forget_member(self, member: Member, error: int, answered_id: str) -> None:
        """Removes a member and answers its waiting requests."""
        token = self.members.end_waiting_for_join(member)
        if token is not None:
            self.effects.append(Reply(token, join_failure(error, answered_id)))
        self.end_waiting_for_sync(member, sync_failure(error))
        self.members.remove(member.member_id)
        self.effects.append(StopTimer((SESSION, member.member_id)))

    def forget_pending(self, member_id: str) -> None:
        """Removes a pending member id."""
        self.members.pending_ids.discard(member_id)
        self.effects.append(StopTimer(("pending", member_id)))
        self.complete_if_all_joined()

    def start_session(self, member: Member) -> None:
        """Starts the session timeout of a member. A new member gets longer."""
        timeout_ms = NEW_MEMBER_JOIN_TIMEOUT_MS if member.is_new else member.profile.session_timeout_ms
        member.session_deadline_ms = self.now_ms + timeout_ms
        self.effects.append(StartTimer((SESSION, member.member_id), timeout_ms))

    def extend_session(self, member: Member) -> None:
        """Extends a member's session. Its timer checks the deadline when it expires."""
        member.session_deadline_ms = self.now_ms + member.profile.session_timeout_ms

    def heard_of(self, member_id: str, at_ms: int) -> None:
        """Extends a member's session for a heartbeat of an earlier time."""
        member = self.members.get(member_id)
        if member is not None:
            member.session_deadline_ms = max(member.session_deadline_ms, at_ms + member.profile.session_timeout_ms)

    def end_waiting_for_sync(self, member: Member, fields: dict[str, Any]) -> None:
        """Answers a waiting SyncGroup and restarts the session."""
        if member.awaiting_sync is not None:
            self.effects.append(Reply(member.awaiting_sync, fields))
            member.awaiting_sync = None
            self.extend_session(member)

    def settle_sync(self, member: Member) -> None:
        """Notes the SyncGroup of a member."""
        self.members.owing_sync.discard(member.member_id)
        if not self.members.owing_sync:
            self.effects.append(StopTimer(SYNC_TIMER))

    def stop_all_timers(self) -> None:
        """Stops the timers of the rebalance, owed SyncGroups and pending ids."""
        self.effects += [StopTimer(REBALANCE_TIMER), StopTimer(SYNC_TIMER)]
        self.effects += [StopTimer(("pending", member_id)) for member_id in self.members.pending_ids]
        self.members.pending_ids.clear()

    # --- from one generation to the next ----------------------------------------------------------------------------

    def rebalance(self, reason: str) -> None:
        """Begins a rebalance after a change of members, or completes the present one if all have joined."""
        if self.state == PREPARING_REBALANCE:
            self.complete_if_all_joined()
        else:
            self.prepare_rebalance(reason)

    def prepare_rebalance(self, reason: str) -> None:
        """Begins a rebalance: all members have to join again. `reason` is for the log."""
        self.effects.append(Note(f"rebalances after generation {self.generation_id}: {reason}"))
        if self.state == COMPLETING_REBALANCE:
            self.fail_waiting_syncs(codes.REBALANCE_IN_PROGRESS)
        self.members.owing_sync.clear()
        self.effects.append(StopTimer(SYNC_TIMER))
        was_empty = self.state == EMPTY
        self.move_to(PREPARING_REBALANCE)
        timeout_ms = self.members.rebalance_timeout_ms
        if was_empty:
            self.member_added = False
            self.initial_delay_left_ms = max(0, timeout_ms - self.initial_rebalance_delay_ms)
            if self.initial_rebalance_delay_ms <= 0:
                self.complete_rebalance()
            else:
                self.effects.append(StartTimer(REBALANCE_TIMER, self.initial_rebalance_delay_ms))
        else:
            self.initial_delay_left_ms = NOT_INITIAL
            self.effects.append(StartTimer(REBALANCE_TIMER, timeout_ms))
            self.complete_if_all_joined()

    def fail_waiting_syncs(self, error: int) -> None:
        """Drops the assignments and answers the waiting SyncGroups with an error."""
        for member in self.members.values():
            member.assignment = b""
            self.end_waiting_for_sync(member, sync_failure(error))

    def complete_if_all_joined(self) -> None:
        """Completes a rebalance when all members have joined, except during the initial delay."""
        is_waiting = self.state == PREPARING_REBALANCE and self.initial_delay_left_ms == NOT_INITIAL
        if is_waiting and self.members.all_joined:
            self.complete_rebalance()

    def rebalance_timed_out(self) -> None:
        """Handles the rebalance timer. The initial delay is extended as long as members join."""
        if self.state != PREPARING_REBALANCE:
            return
        if self.initial_delay_left_ms > 0 and self.member_added:
            delay_ms = min(self.initial_rebalance_delay_ms, self.initial_delay_left_ms)
            self.initial_delay_left_ms -= delay_ms
            self.member_added = False
            self.effects.append(StartTimer(REBALANCE_TIMER, delay_ms))
        else:
            self.complete_rebalance()

    def complete_rebalance(self) -> None:
        """Completes a rebalance with the members that joined and absent static members (KIP-345)."""
        self.initial_delay_left_ms = NOT_INITIAL
        self._forget_who_did_not_join()
        if self.members and not self.members.lead_by_someone_who_joined():
            delay_ms = max(self.members.rebalance_timeout_ms, NOBODY_JOINED_MIN_MS)
            self.effects.append(StartTimer(REBALANCE_TIMER, delay_ms))
            return
        self.effects.append(StopTimer(REBALANCE_TIMER))
        self.generation_id += 1
        if self.members:
            self._begin_generation()
        else:
            self._become_empty()

    def _forget_who_did_not_join(self) -> None:
        absent = [member for member in self.members.values() if member.awaiting_join is None and not member.is_static]
        for member in absent:
            self.forget_member(member, codes.UNKNOWN_MEMBER_ID, NO_MEMBER_ID)
        if absent:
            self.effects.append(Note(f"continues without members that did not join in time: {names_of(absent)}"))

    def _become_empty(self) -> None:
        self.protocol_name = None
        self.move_to(EMPTY)
        self.effects.append(Note(f"is empty as of generation {self.generation_id}"))
        self.effects.append(Persist([self.record({})], GroupEmptied()))

    def _begin_generation(self) -> None:
        self.protocol_name = self.members.choose_protocol()
        self.move_to(COMPLETING_REBALANCE)
        self.effects.append(
            Note(
                f"has generation {self.generation_id} of {len(self.members)} members,"
                f" led by {self.members.leader_id}, with protocol {self.protocol_name}"
            )
        )
        for member in self.members.values():
            token = self.members.end_waiting_for_join(member)
            if token is not None:
                self.effects.append(Reply(token, self.join_success(member)))
            member.is_new = False
            self.start_session(member)
        self.members.owing_sync = set(self.members)
        self.effects.append(StartTimer(SYNC_TIMER, self.members.rebalance_timeout_ms))

    def join_success(self, member: Member) -> dict[str, Any]:
        """The response to a member's JoinGroup. The leader's has all members."""
        is_leader = member.member_id == self.members.leader_id
        return {
            "error_code": codes.NONE,
            "generation_id": self.generation_id,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol_name,
            "leader": self.members.leader_id,
            "skip_assignment": False,
            "member_id": member.member_id,
            "members": listed(self.members.values(), self.protocol_name) if is_leader else [],
        }

    def record(self, assignments: Mapping[str, bytes]) -> Pair:
        """The group's record: its generation and members, with `assignments` by member id."""
        members = [
            member_metadata(member, self.protocol_name, assignments[member.member_id])
            for member in self.members.values()
        ]
        metadata = records.GroupMetadata(
            self.protocol_type or "",
            self.generation_id,
            self.protocol_name,
            self.leader_id,
            self.state_since_ms,
            members,
        )
        return records.group_metadata(self.group_id, metadata)


def because(reason: str | None) -> str:
    """The client's reason as the end of a log line."""
    return f", because: {reason[:MAX_REASON]}" if reason else ""


def names_of(members: Iterable[Member]) -> str:
    """The members' names for a log line."""
    return ", ".join(member.name for member in members)
