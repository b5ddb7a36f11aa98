"""The state machine of one group of the classic protocol: events in, effects out, no I/O (Kafka's `ClassicGroup`).

    Empty --join--> PreparingRebalance --all joined, or time up--> CompletingRebalance --leader syncs--> Stable
    Stable, CompletingRebalance --join, leave, death--> PreparingRebalance;   any --last member gone--> Empty
    any --end--> Dead

Every event is a method that takes the time in milliseconds and answers a list of effects. Timers are named: the session
of a member, a member id handed out but not used yet (KIP-394), the rebalance and the members that owe a SyncGroup.

A heartbeat only moves its member's deadline; the session's timer looks at the deadline when it rings and goes on for
the rest, so that a heartbeat costs no timer.
"""

from __future__ import annotations

from kcore.coordinator.group import codes
from kcore.coordinator.group.effects import Reply, StartTimer, StopTimer
from kcore.coordinator.group.member import Member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.coordinator.group.effects import Effect
    from kcore.coordinator.group.records import GroupMetadata

EMPTY = "Empty"
PREPARING_REBALANCE = "PreparingRebalance"
COMPLETING_REBALANCE = "CompletingRebalance"
STABLE = "Stable"
DEAD = "Dead"

# A member that waits for its first rebalance is given up after this long, whatever its session timeout (KAFKA-7610).
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000

REBALANCE_TIMER = ("rebalance",)
SYNC_TIMER = ("sync",)
NO_GENERATION = -1


class JoinAttempt:
    """A JoinGroup request as the state machine sees it; `token` is answered later."""

    __slots__ = (
        "client_host",
        "client_id",
        "group_instance_id",
        "member_id",
        "needs_member_id",
        "new_member_id",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "token",
    )

    def __init__(
        self,
        token: object,
        member_id: str,
        new_member_id: str,
        needs_member_id: bool,
        client_id: str,
        client_host: str,
        protocol_type: str,
        protocols: list[tuple[str, bytes]],
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
        group_instance_id: str | None = None,
    ) -> None:
        self.token = token
        self.member_id = member_id
        self.new_member_id = new_member_id
        self.needs_member_id = needs_member_id
        self.client_id = client_id
        self.client_host = client_host
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.group_instance_id = group_instance_id


class Group:
    """One group. `initial_rebalance_delay_ms` and `max_size` are the broker's configuration."""

    __slots__ = (
        "generation_id",
        "group_id",
        "initial_delay_left_ms",
        "initial_rebalance_delay_ms",
        "leader_id",
        "max_size",
        "member_added",
        "members",
        "now_ms",
        "owing_sync",
        "pending_members",
        "protocol_name",
        "protocol_type",
        "state",
    )

    def __init__(self, group_id: str, initial_rebalance_delay_ms: int, max_size: int) -> None:
        self.group_id = group_id
        self.initial_rebalance_delay_ms = initial_rebalance_delay_ms
        self.max_size = max_size
        self.state = EMPTY
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.pending_members: set[str] = set()
        self.owing_sync: set[str] = set()
        self.initial_delay_left_ms = 0
        self.member_added = False
        self.now_ms = 0  # the time of the event being handled

    # --- what was kept ----------------------------------------------------------------------------------------------

    def restore(self, metadata: GroupMetadata, now_ms: int) -> list[Effect]:
        """A new group takes up what was kept of it: its members are members, and their sessions start anew."""
        self.now_ms = now_ms
        self.generation_id = metadata.generation_id
        self.protocol_type = metadata.protocol_type or None
        self.protocol_name = metadata.protocol_name
        self.leader_id = metadata.leader_id
        self.state = STABLE if metadata.members else EMPTY
        effects: list[Effect] = []
        for kept in metadata.members:
            member = Member(
                kept.member_id,
                kept.client_id,
                kept.client_host,
                metadata.protocol_type,
                [(metadata.protocol_name or "", kept.subscription)],
                kept.session_timeout_ms,
                kept.rebalance_timeout_ms,
                kept.group_instance_id,
            )
            member.is_new = False
            member.assignment = kept.assignment
            self._extend_session(member)
            self.members[member.member_id] = member
            effects.append(StartTimer(("session", member.member_id), member.session_timeout_ms))
        return effects

    def on_persisted(self, event: object, error: int, now_ms: int) -> list[Effect]:
        """What was asked to be kept has been, or has not (`error`)."""
        self.now_ms = now_ms
        return []

    # --- joining ----------------------------------------------------------------------------------------------------

    def join(self, attempt: JoinAttempt, now_ms: int) -> list[Effect]:
        """JoinGroup: answered at once with an error, or when the rebalance completes."""
        self.now_ms = now_ms
        error = self._join_error(attempt)
        if error:
            return [Reply(attempt.token, join_failure(error, attempt.member_id))]
        if not attempt.member_id:
            return self._join_unknown(attempt)
        if attempt.member_id in self.pending_members:
            self.pending_members.discard(attempt.member_id)
            return [StopTimer(("pending", attempt.member_id)), *self._add_member(attempt.member_id, attempt)]
        return self._rejoin(self.members[attempt.member_id], attempt)

    def _join_error(self, attempt: JoinAttempt) -> int:
        if self.state == DEAD:
            return codes.COORDINATOR_NOT_AVAILABLE
        if not self._supports(attempt):
            return codes.INCONSISTENT_GROUP_PROTOCOL
        is_known = attempt.member_id in self.members or attempt.member_id in self.pending_members
        if attempt.member_id and not is_known:
            return codes.UNKNOWN_MEMBER_ID
        if attempt.member_id not in self.members and len(self.members) >= self.max_size:
            return codes.GROUP_MAX_SIZE_REACHED
        return codes.NONE

    def _supports(self, attempt: JoinAttempt) -> bool:
        if not attempt.protocol_type or not attempt.protocols:
            return False
        others = [member for member in self.members.values() if member.member_id != attempt.member_id]
        if not others:
            return True
        if attempt.protocol_type != self.protocol_type:
            return False
        return bool(common_protocols(others) & {name for name, _ in attempt.protocols})

    def _join_unknown(self, attempt: JoinAttempt) -> list[Effect]:
        if not attempt.needs_member_id:
            return self._add_member(attempt.new_member_id, attempt)
        self.pending_members.add(attempt.new_member_id)
        return [
            Reply(attempt.token, join_failure(codes.MEMBER_ID_REQUIRED, attempt.new_member_id)),
            StartTimer(("pending", attempt.new_member_id), attempt.session_timeout_ms),
        ]

    def _add_member(self, member_id: str, attempt: JoinAttempt) -> list[Effect]:
        member = Member(
            member_id,
            attempt.client_id,
            attempt.client_host,
            attempt.protocol_type,
            attempt.protocols,
            attempt.session_timeout_ms,
            attempt.rebalance_timeout_ms,
            attempt.group_instance_id,
        )
        member.awaiting_join = attempt.token
        member.session_deadline_ms = self.now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS
        if not self.members:
            self.protocol_type = attempt.protocol_type
        if self.leader_id is None:
            self.leader_id = member_id
        self.members[member_id] = member
        self.member_added = True
        timer = StartTimer(("session", member_id), NEW_MEMBER_JOIN_TIMEOUT_MS)
        return [timer, *self._prepare_rebalance()]

    def _rejoin(self, member: Member, attempt: JoinAttempt) -> list[Effect]:
        has_changed = member.protocols != attempt.protocols
        must_rebalance = (
            self.state == PREPARING_REBALANCE
            or has_changed
            or (self.state == STABLE and member.member_id == self.leader_id)
        )
        self._extend_session(member)
        if not must_rebalance:
            return [Reply(attempt.token, self._join_success(member))]
        effects = self._supersede_join(member)
        member.protocols = attempt.protocols
        member.session_timeout_ms = attempt.session_timeout_ms
        member.rebalance_timeout_ms = attempt.rebalance_timeout_ms
        member.awaiting_join = attempt.token
        return [*effects, *self._prepare_rebalance()]

    def _supersede_join(self, member: Member) -> list[Effect]:
        """A client that joins again has given its earlier request up."""
        if member.awaiting_join is None:
            return []
        return [Reply(member.awaiting_join, join_failure(codes.UNKNOWN_MEMBER_ID, member.member_id))]

    # --- rebalancing ------------------------------------------------------------------------------------------------

    def _prepare_rebalance(self) -> list[Effect]:
        effects: list[Effect] = []
        if self.state == PREPARING_REBALANCE:
            return self._complete_rebalance_if_all_joined()
        if self.state == COMPLETING_REBALANCE:
            effects += self._fail_waiting_syncs(codes.REBALANCE_IN_PROGRESS)
        if self.state == EMPTY and self.initial_rebalance_delay_ms > 0:
            delay_ms = self.initial_rebalance_delay_ms
            self.initial_delay_left_ms = max(0, self._rebalance_timeout_ms() - delay_ms)
            self.member_added = False
        else:
            delay_ms = self._rebalance_timeout_ms()
            self.initial_delay_left_ms = -1
        self.state = PREPARING_REBALANCE
        effects += [StopTimer(SYNC_TIMER), StartTimer(REBALANCE_TIMER, delay_ms)]
        return effects + self._complete_rebalance_if_all_joined()

    def _rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def _complete_rebalance_if_all_joined(self) -> list[Effect]:
        """During the initial delay a group waits for members yet unknown; later for those it knows."""
        in_initial_delay = self.initial_delay_left_ms >= 0
        if in_initial_delay or self.pending_members:
            return []
        if any(member.awaiting_join is None for member in self.members.values()):
            return []
        return self._complete_rebalance()

    def _complete_rebalance(self) -> list[Effect]:
        effects: list[Effect] = [StopTimer(REBALANCE_TIMER)]
        self.initial_delay_left_ms = -1
        for member in [member for member in self.members.values() if member.awaiting_join is None]:
            effects += self._drop_member(member)
        self.generation_id += 1
        self.owing_sync = set(self.members)
        if not self.members:
            self.state = EMPTY
            self.protocol_name = self.protocol_type = None
            return effects
        self.state = COMPLETING_REBALANCE
        self.protocol_name = self._choose_protocol()
        for member in self.members.values():
            token, member.awaiting_join = member.awaiting_join, None
            member.is_new = False
            member.assignment = b""
            self._extend_session(member)
            effects.append(Reply(token, self._join_success(member)))
            effects.append(StartTimer(("session", member.member_id), member.session_timeout_ms))
        return [*effects, StartTimer(SYNC_TIMER, self._rebalance_timeout_ms())]

    def _choose_protocol(self) -> str:
        """The protocol most members prefer among those that all support; the earliest voted for wins a tie."""
        candidates = common_protocols(list(self.members.values()))
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=votes.__getitem__)

    def _join_success(self, member: Member) -> dict[str, Any]:
        is_leader = member.member_id == self.leader_id
        listed = self.members.values() if is_leader else ()
        return {
            "error_code": codes.NONE,
            "generation_id": self.generation_id,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol_name,
            "leader": self.leader_id,
            "member_id": member.member_id,
            "members": [
                {
                    "member_id": other.member_id,
                    "group_instance_id": other.group_instance_id,
                    "metadata": other.metadata_of(self.protocol_name),
                }
                for other in listed
            ],
        }

    # --- syncing ----------------------------------------------------------------------------------------------------

    def sync(
        self,
        token: object,
        member_id: str,
        generation_id: int,
        assignments: dict[str, bytes],
        protocol_type: str | None,
        protocol_name: str | None,
        now_ms: int,
    ) -> list[Effect]:
        """SyncGroup: the leader's brings everyone's assignment, the others' wait for it."""
        self.now_ms = now_ms
        error = self._sync_error(member_id, generation_id, protocol_type, protocol_name)
        if error:
            return [Reply(token, sync_failure(error))]
        member = self.members[member_id]
        self._extend_session(member)
        self.owing_sync.discard(member_id)
        if self.state == STABLE:
            return [*self._stop_sync_timer_if_done(), Reply(token, self._sync_success(member))]
        effects: list[Effect] = []
        if member.awaiting_sync is not None:
            effects.append(Reply(member.awaiting_sync, sync_failure(codes.REBALANCE_IN_PROGRESS)))
        member.awaiting_sync = token
        if member_id == self.leader_id:
            effects += self._assign(assignments)
        return effects + self._stop_sync_timer_if_done()

    def _sync_error(self, member_id: str, generation_id: int, kind: str | None, name: str | None) -> int:
        error = self._membership_error(member_id, generation_id)
        if error:
            return error
        if (kind is not None and kind != self.protocol_type) or (name is not None and name != self.protocol_name):
            return codes.INCONSISTENT_GROUP_PROTOCOL
        return codes.REBALANCE_IN_PROGRESS if self.state == PREPARING_REBALANCE else codes.NONE

    def _assign(self, assignments: dict[str, bytes]) -> list[Effect]:
        self.state = STABLE
        effects: list[Effect] = []
        for member in self.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            if member.awaiting_sync is not None:
                effects.append(Reply(member.awaiting_sync, self._sync_success(member)))
                member.awaiting_sync = None
        return effects

    def _sync_success(self, member: Member) -> dict[str, Any]:
        return {
            "error_code": codes.NONE,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol_name,
            "assignment": member.assignment,
        }

    def _fail_waiting_syncs(self, error: int) -> list[Effect]:
        effects: list[Effect] = []
        for member in self.members.values():
            member.assignment = b""
            if member.awaiting_sync is not None:
                effects.append(Reply(member.awaiting_sync, sync_failure(error)))
                member.awaiting_sync = None
        return effects

    def _stop_sync_timer_if_done(self) -> list[Effect]:
        return [] if self.owing_sync else [StopTimer(SYNC_TIMER)]

    # --- living and leaving -----------------------------------------------------------------------------------------

    def heartbeat(self, member_id: str, generation_id: int, now_ms: int) -> int:
        """Heartbeat: keeps the session alive and answers the wire code."""
        self.now_ms = now_ms
        error = self._membership_error(member_id, generation_id)
        if error:
            return error
        member = self.members[member_id]
        self._extend_session(member)
        return codes.REBALANCE_IN_PROGRESS if self.state == PREPARING_REBALANCE else codes.NONE

    def leave(self, member_id: str, now_ms: int) -> tuple[int, list[Effect]]:
        """LeaveGroup of one member: its wire code, and what follows."""
        self.now_ms = now_ms
        if self.state == DEAD:
            return codes.COORDINATOR_NOT_AVAILABLE, []
        if member_id in self.pending_members:
            return codes.NONE, self._drop_pending(member_id)
        if member_id not in self.members:
            return codes.UNKNOWN_MEMBER_ID, []
        return codes.NONE, self._remove_members([self.members[member_id]])

    def commit_error(self, member_id: str, generation_id: int, now_ms: int) -> int:
        """Whether an OffsetCommit may be taken; one from outside any group may when the group has no members."""
        self.now_ms = now_ms
        if generation_id < 0 and self.state == EMPTY:
            return codes.NONE
        error = self._membership_error(member_id, generation_id)
        if error:
            return error
        if self.state == COMPLETING_REBALANCE:
            return codes.REBALANCE_IN_PROGRESS
        member = self.members[member_id]
        self._extend_session(member)
        return codes.NONE

    def _extend_session(self, member: Member) -> None:
        member.session_deadline_ms = self.now_ms + member.session_timeout_ms

    def _membership_error(self, member_id: str, generation_id: int) -> int:
        if self.state == DEAD:
            return codes.COORDINATOR_NOT_AVAILABLE
        if member_id not in self.members:
            return codes.UNKNOWN_MEMBER_ID
        return codes.NONE if generation_id == self.generation_id else codes.ILLEGAL_GENERATION

    def on_timer(self, name: tuple[str, ...], now_ms: int) -> list[Effect]:
        """A timer that this group started has rung."""
        self.now_ms = now_ms
        if name == REBALANCE_TIMER:
            return self._rebalance_timed_out()
        if name == SYNC_TIMER:
            return self._syncs_timed_out()
        kind, member_id = name
        if kind == "pending":
            return self._drop_pending(member_id) if member_id in self.pending_members else []
        return self._session_timed_out(member_id)

    def _rebalance_timed_out(self) -> list[Effect]:
        if self.state != PREPARING_REBALANCE:
            return []
        if self.initial_delay_left_ms > 0 and self.member_added:
            delay_ms = min(self.initial_rebalance_delay_ms, self.initial_delay_left_ms)
            self.initial_delay_left_ms -= delay_ms
            self.member_added = False
            return [StartTimer(REBALANCE_TIMER, delay_ms)]
        return self._complete_rebalance()

    def _syncs_timed_out(self) -> list[Effect]:
        if self.state not in (COMPLETING_REBALANCE, STABLE) or not self.owing_sync:
            return []
        return self._remove_members([self.members[member_id] for member_id in self.owing_sync])

    def _session_timed_out(self, member_id: str) -> list[Effect]:
        member = self.members.get(member_id)
        if member is None:
            return []
        # A member whose request waits here is alive as long as its connection is.
        is_waiting = (member.awaiting_join is not None and not member.is_new) or member.awaiting_sync is not None
        if is_waiting:
            self._extend_session(member)
        if self.now_ms < member.session_deadline_ms:
            return [StartTimer(("session", member_id), member.session_deadline_ms - self.now_ms)]
        return self._remove_members([member])

    def _remove_members(self, leaving: list[Member]) -> list[Effect]:
        effects: list[Effect] = []
        for member in leaving:
            effects += self._drop_member(member)
        if self.state == PREPARING_REBALANCE:
            return effects + self._complete_rebalance_if_all_joined()
        if self.state in (STABLE, COMPLETING_REBALANCE):
            return effects + self._prepare_rebalance()
        return effects

    def _drop_member(self, member: Member, error: int = codes.UNKNOWN_MEMBER_ID) -> list[Effect]:
        effects: list[Effect] = [StopTimer(("session", member.member_id))]
        if member.awaiting_join is not None:
            effects.append(Reply(member.awaiting_join, join_failure(error, member.member_id)))
        if member.awaiting_sync is not None:
            effects.append(Reply(member.awaiting_sync, sync_failure(error)))
        del self.members[member.member_id]
        self.owing_sync.discard(member.member_id)
        if self.leader_id == member.member_id:
            self.leader_id = next(iter(self.members), None)
        return effects

    def _drop_pending(self, member_id: str) -> list[Effect]:
        self.pending_members.discard(member_id)
        effects: list[Effect] = [StopTimer(("pending", member_id))]
        if self.state == PREPARING_REBALANCE:
            effects += self._complete_rebalance_if_all_joined()
        return effects

    # --- the end ----------------------------------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Nobody is in the group, and nobody was told to come back."""
        return self.state == EMPTY and not self.pending_members

    def end(self, error: int) -> list[Effect]:
        """The group is not kept here any more: whoever waits is answered `error`, and no timer is left."""
        effects: list[Effect] = [StopTimer(REBALANCE_TIMER), StopTimer(SYNC_TIMER)]
        effects += [StopTimer(("pending", member_id)) for member_id in self.pending_members]
        self.pending_members.clear()
        for member in list(self.members.values()):
            effects += self._drop_member(member, error)
        self.state = DEAD
        return effects


def common_protocols(members: list[Member]) -> set[str]:
    """The protocols that every one of these members supports."""
    return set.intersection(*(set(member.protocol_names()) for member in members))


def join_failure(error: int, member_id: str) -> dict[str, Any]:
    """The fields of a JoinGroup response that carries an error."""
    return {
        "error_code": error,
        "generation_id": NO_GENERATION,
        "protocol_type": None,
        "protocol_name": None,
        "leader": "",
        "member_id": member_id,
        "members": [],
    }


def sync_failure(error: int) -> dict[str, Any]:
    """The fields of a SyncGroup response that carries an error."""
    return {"error_code": error, "protocol_type": None, "protocol_name": None, "assignment": b""}
