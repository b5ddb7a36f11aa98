"""Replacement of a static member (KIP-345) that returns without its member id: a new id replaces the fenced old id.

In a stable group nothing else changes, unless the group would now choose another protocol: the member gets its
generation and, with its next SyncGroup, its assignment. The replacement takes effect when it is written to the log,
and is undone if the append fails: after a restart the coordinator must fence the same id.

A returning leader learns that it leads and need not assign (KIP-814). A client without KIP-814 gets the fenced id as
the leader's id, so that it does not assign: its assignment would not be used.
"""

from __future__ import annotations

from kcore.coordinator.group import codes
from kcore.coordinator.group.answers import NO_MEMBER_ID, join_failure, sync_failure
from kcore.coordinator.group.effects import Persist, Reply, StopTimer
from kcore.coordinator.group.member import Member
from kcore.coordinator.group.rebalancing import SESSION, STABLE, because

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.coordinator.group.attempts import JoinAttempt
    from kcore.coordinator.group.rebalancing import RebalancingGroup


class StaticMemberReplaced:
    """The event of a Persist: `new` replaces `old`, for the JoinGroup of `token`."""

    __slots__ = ("can_skip_assignment", "leader_before", "new", "old", "token")

    def __init__(self, old: Member, new: Member, leader_before: str | None, attempt: JoinAttempt) -> None:
        self.old = old
        self.new = new
        self.leader_before = leader_before
        self.token = attempt.token
        self.can_skip_assignment = attempt.can_skip_assignment


def replace_static_member(group: RebalancingGroup, old: Member, attempt: JoinAttempt) -> None:
    """Replaces `old`, whose client joins without a member id."""
    token = group.members.end_waiting_for_join(old)
    if token is not None:
        group.effects.append(Reply(token, join_failure(codes.FENCED_INSTANCE_ID, old.member_id)))
    group.end_waiting_for_sync(old, sync_failure(codes.FENCED_INSTANCE_ID))
    new = Member(attempt.new_member_id, attempt.group_instance_id, attempt.profile)
    new.assignment = old.assignment
    new.is_new = old.is_new
    leader_before = group.members.leader_id
    exchange(group, old, new)
    if group.state == STABLE and group.members.choose_protocol() == group.protocol_name:
        assignments = {member.member_id: member.assignment for member in group.members.values()}
        event = StaticMemberReplaced(old, new, leader_before, attempt)
        group.effects.append(Persist([group.record(assignments)], event))
    else:
        group.members.wait_for_join(new, attempt.token)
        group.rebalance(f"{new.name} comes back for {old.member_id}{because(attempt.reason)}")


def end_replacement(group: RebalancingGroup, event: StaticMemberReplaced, error: int) -> None:
    """Completes or undoes the replacement after the append."""
    answer = group.join_success(event.new)
    if error:
        exchange(group, event.new, event.old)
        answer |= {"error_code": error, "member_id": NO_MEMBER_ID}
    if error or not event.can_skip_assignment:
        answer |= {"leader": event.leader_before, "members": []}
    else:
        answer["skip_assignment"] = event.new.member_id == group.members.leader_id
    group.effects.append(Reply(event.token, answer))


def exchange(group: RebalancingGroup, old: Member, new: Member) -> None:
    """Replaces `old` by `new` and starts its session."""
    group.members.replace(old, new)
    group.effects.append(StopTimer((SESSION, old.member_id)))
    group.start_session(new)
