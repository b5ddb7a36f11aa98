"""Members of a consumer group that use the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

A group that is upgraded while it runs (KIP-848) has such members until each is restarted with the new protocol. Their
JoinGroup counts as a full heartbeat, and their generation is the member epoch. Their Heartbeat returns
REBALANCE_IN_PROGRESS when the assignment has changed: the member then joins again. There is no leader.
"""

from __future__ import annotations

from kcore import errors
from kcore.coordinator.group import codes
from kcore.coordinator.group.answers import NO_MEMBER_ID, sync_success
from kcore.coordinator.group.consumer import records
from kcore.coordinator.group.consumer.decision import Decision
from kcore.coordinator.group.consumer.embedded_protocol import (
    decoded_subscription,
    encoded_assignment,
    reported_partitions,
)
from kcore.coordinator.group.consumer.group import JOIN, PROTOCOL_TYPE, SYNC
from kcore.coordinator.group.consumer.heartbeat import replacement, static_member, unknown_member
from kcore.coordinator.group.consumer.member import (
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    ClassicMember,
    ConsumerMember,
)
from kcore.coordinator.group.consumer.migration import becomes_classic, downgrade
from kcore.coordinator.group.consumer.progress import Progress
from kcore.coordinator.group.consumer.removal import remove, session_timer
from kcore.coordinator.group.consumer.settings import DISABLED
from kcore.coordinator.group.effects import StartTimer, StopTimer
from kcore.coordinator.group.records import group_metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kcore.coordinator.group.attempts import JoinAttempt, SyncAttempt
    from kcore.coordinator.group.consumer.decision import Moment
    from kcore.coordinator.group.consumer.group import ConsumerGroup


def join(group: ConsumerGroup, attempt: JoinAttempt, moment: Moment) -> Decision:
    """JoinGroup: answered at once, since members do not wait for each other. Raises KafkaError."""
    if moment.settings.migration_policy == DISABLED:
        raise errors.InconsistentGroupProtocolError(
            f"Cannot join the consumer group {group.group_id} with the classic protocol because the group migration is "
            "disabled."
        )
    profile = attempt.profile
    member_id = attempt.member_id or attempt.new_member_id
    if len(group.members) >= moment.settings.max_size and attempt.member_id not in group.members:
        raise errors.GroupMaxSizeReachedError(
            f"The consumer group has reached its maximum capacity of {moment.settings.max_size} members."
        )
    _check_protocols(group, member_id, profile.protocol_type, [name for name, _ in profile.protocols])
    if attempt.needs_member_id and not attempt.member_id and attempt.group_instance_id is None:
        return Decision(response={"error_code": codes.MEMBER_ID_REQUIRED, "member_id": member_id})
    subscription = decoded_subscription(profile.protocols[0][1])
    member, replaced_id = _find(group, attempt, member_id)
    decision = Decision()
    if replaced_id is not None:
        decision.records += replacement(group, replaced_id, member)
    after = member.replaced(
        instance_id=attempt.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=profile.rebalance_timeout_ms,
        subscribed_topic_names=frozenset(subscription.topics),
        # It replaces a static member that used the consumer protocol.
        subscribed_topic_regex="",
        client_id=profile.client_id,
        client_host=profile.client_host,
        classic=ClassicMember(profile.session_timeout_ms, tuple(profile.protocols)),
    )
    reported = reported_partitions(subscription, moment.image)
    after = Progress(group, moment, decision, member, after, reported, replaced_id).make()
    decision.timers += [
        StopTimer((JOIN, member_id)),
        *session_timer(group, member_id, profile.session_timeout_ms, moment.now_ms),
        StartTimer((SYNC, member_id), profile.rebalance_timeout_ms),
    ]
    group.awaited.discard(member_id)
    decision.response = _joined(after, profile.protocols[0][0])
    if replaced_id is not None:
        _downgrade_with(group, replaced_id, after, decision, moment)
    return decision


def _downgrade_with(
    group: ConsumerGroup, replaced_id: str, joining: ConsumerMember, decision: Decision, moment: Moment
) -> None:
    """The joining static member may replace the last member that used the consumer protocol."""
    staying = [*(member for member_id, member in group.members.items() if member_id != replaced_id), joining]
    if becomes_classic([group.members[replaced_id]], staying, moment.settings):
        member_ids = [member.member_id for member in staying]
        decision.records += records.group_tombstones(group.group_id, member_ids, list(group.resolved_regexes))
        decision.successor = downgrade(group, joining.member_epoch, staying, moment)
        decision.records.append(group_metadata(group.group_id, decision.successor))


def _joined(member: ConsumerMember, protocol_name: str) -> dict[str, Any]:
    return {
        "error_code": codes.NONE,
        "generation_id": member.member_epoch,
        "protocol_type": PROTOCOL_TYPE,
        "protocol_name": protocol_name,
        "leader": "",
        "skip_assignment": False,
        "member_id": member.member_id,
        "members": [],
    }


def _check_protocols(group: ConsumerGroup, member_id: str, protocol_type: str, names: Sequence[str]) -> None:
    """Classic members need a common protocol, so that the group can be downgraded to them."""
    others = [member.classic for member in group.members.values() if member.classic is not None]
    common = set(names)
    for classic in others:
        common &= {name for name, _ in classic.protocols}
    if protocol_type != PROTOCOL_TYPE or not common:
        raise errors.InconsistentGroupProtocolError(f"Member {member_id}'s protocols are not supported.")


def _find(group: ConsumerGroup, attempt: JoinAttempt, member_id: str) -> tuple[ConsumerMember, str | None]:
    """The joining member, and the member that it replaces if the instance id was in use."""
    instance_id = attempt.group_instance_id
    if instance_id is None:
        return group.members.get(member_id) or ConsumerMember(member_id), None
    if attempt.member_id:
        return static_member(group, instance_id, member_id), None
    static = group.static_member(instance_id)
    if static is None:
        return ConsumerMember(member_id), None
    return static.replaced(member_id=member_id, member_epoch=0, previous_member_epoch=0), static.member_id


def sync(group: ConsumerGroup, attempt: SyncAttempt, moment: Moment) -> Decision:
    """SyncGroup: the member's assignment. Raises KafkaError."""
    member, classic = _classic_member(group, attempt.member_id, attempt.group_instance_id)
    _check_generation(member, attempt.generation_id)
    name, metadata = classic.protocols[0]
    if attempt.protocol_type not in (None, PROTOCOL_TYPE) or attempt.protocol_name not in (None, name):
        raise errors.InconsistentGroupProtocolError(
            f"The protocol {attempt.protocol_name} of type {attempt.protocol_type} is not the member's: {name}."
        )
    if group.epoch > member.member_epoch and member.state != UNREVOKED_PARTITIONS:
        return Decision(response={"error_code": codes.REBALANCE_IN_PROGRESS}, timers=_await_join(group, member))
    assignment = encoded_assignment(member.assigned, metadata, moment.image)
    return Decision(
        response=sync_success(attempt.protocol_type, attempt.protocol_name, assignment),
        timers=[
            StopTimer((SYNC, member.member_id)),
            *session_timer(group, member.member_id, classic.session_timeout_ms, moment.now_ms),
        ],
    )


def heartbeat(
    group: ConsumerGroup,
    member_id: str,
    instance_id: str | None,
    generation_id: int,
    moment: Moment,
    is_connected: bool = True,
) -> Decision:
    """Heartbeat: its response has the error code. Raises KafkaError."""
    member, classic = _classic_member(group, member_id, instance_id)
    _check_generation(member, generation_id)
    decision = Decision(response={"error_code": codes.NONE})
    if is_connected:
        decision.timers += session_timer(group, member_id, classic.session_timeout_ms, moment.now_ms)
    has_to_revoke = member.state == UNREVOKED_PARTITIONS
    has_more_to_get = member.state == UNRELEASED_PARTITIONS and not _is_waiting(group, member)
    if member.member_epoch < group.epoch or has_to_revoke or has_more_to_get:
        decision.response["error_code"] = codes.REBALANCE_IN_PROGRESS
        decision.timers += _await_join(group, member)
    return decision


def _is_waiting(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether other members still own partitions that are assigned to this member."""
    return any(
        not member.owns(topic, partition) and group.owner(topic, partition) is not None
        for topic, partitions in group.targets.get(member.member_id, {}).items()
        for partition in partitions
    )


def _await_join(group: ConsumerGroup, member: ConsumerMember) -> list[StartTimer | StopTimer]:
    """Starts the timeout for joining again, when the member is first asked to."""
    if member.member_id in group.awaited:
        return []
    group.awaited.add(member.member_id)
    return [StartTimer((JOIN, member.member_id), member.rebalance_timeout_ms)]


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[ConsumerMember, ClassicMember]:
    if instance_id is None:
        found = group.members.get(member_id)
        if found is None:
            raise unknown_member(group, member_id)
    else:
        found = static_member(group, instance_id, member_id)
    if found.classic is None:
        raise errors.UnknownMemberIdError(f"Member {member_id} does not use the classic protocol.")
    return found, found.classic


def _check_generation(member: ConsumerMember, generation_id: int) -> None:
    if member.member_epoch != generation_id:
        raise errors.IllegalGenerationError(
            f"The request generation id {generation_id} is not equal to the member epoch {member.member_epoch} of "
            f"member {member.member_id}."
        )


def leave(
    group: ConsumerGroup, identities: Sequence[tuple[str, str | None]], moment: Moment
) -> tuple[Decision, list[int]]:
    """LeaveGroup of (member id, instance id): an error code for each. An administrator may pass only an instance id."""
    leaving: dict[str, None] = {}
    results = []
    for member_id, instance_id in identities:
        named_id = member_id
        try:
            if instance_id is not None and member_id == NO_MEMBER_ID:
                static = group.static_member(instance_id)
                named_id = NO_MEMBER_ID if static is None else static.member_id
            member, _ = _classic_member(group, named_id, instance_id)
        except errors.KafkaError as error:
            results.append(error.code)
        else:
            leaving[member.member_id] = None
            results.append(codes.NONE)
    return remove(group, leaving, moment), results
