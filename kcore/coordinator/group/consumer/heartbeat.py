"""ConsumerGroupHeartbeat: a member joins, stays, changes what it wants, or leaves (KIP-848).

`heartbeat` changes only the deadline of the member's session. The caller writes and applies the decision. Errors and
their texts are those of Kafka's `GroupMetadataManager`.
"""

from __future__ import annotations

from kcore import errors
from kcore.coordinator.group.consumer import records
from kcore.coordinator.group.consumer.decision import Decision
from kcore.coordinator.group.consumer.member import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    NO_REBALANCE_TIMEOUT,
    STATIC_LEAVE_EPOCH,
    ConsumerMember,
)
from kcore.coordinator.group.consumer.progress import Progress
from kcore.coordinator.group.consumer.removal import remove, session_timer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kcore.coordinator.group.consumer.decision import Moment
    from kcore.coordinator.group.consumer.group import ConsumerGroup
    from kcore.coordinator.group.consumer.reconciliation import ReportedPartitions
    from kcore.protocol.message import Message

FIRST_WITH_CLIENT_MADE_ID = 1
FENCED = "The member must abandon all its partitions and rejoin."


def check(request: Message, version: int, assignors: Sequence[str]) -> None:
    """Raises InvalidRequestError or UnsupportedAssignorError for a request that is invalid for any group."""
    epoch = request.member_epoch
    if (version >= FIRST_WITH_CLIENT_MADE_ID or epoch > 0 or epoch == LEAVE_EPOCH) and not request.member_id.strip():
        raise errors.InvalidRequestError("MemberId can't be empty.")
    for name, value in (
        ("GroupId", request.group_id),
        ("InstanceId", request.instance_id),
        ("RackId", request.rack_id),
    ):
        if value is not None and not value.strip():
            raise errors.InvalidRequestError(f"{name} can't be empty.")
    if epoch == JOIN_EPOCH:
        _check_join(request)
    elif epoch == STATIC_LEAVE_EPOCH and request.instance_id is None:
        raise errors.InvalidRequestError("InstanceId can't be null.")
    elif epoch < STATIC_LEAVE_EPOCH:
        raise errors.InvalidRequestError("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise errors.UnsupportedAssignorError(
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(assignors)}."
        )


def _check_join(request: Message) -> None:
    if request.rebalance_timeout_ms == NO_REBALANCE_TIMEOUT:
        raise errors.InvalidRequestError("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise errors.InvalidRequestError("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise errors.InvalidRequestError(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
        )


def failure(error: errors.KafkaError) -> dict[str, Any]:
    """The response fields for an error."""
    return {"error_code": error.code, "error_message": str(error)}


def heartbeat(
    group: ConsumerGroup,
    request: Message,
    member_id: str,
    client_id: str,
    client_host: str,
    moment: Moment,
    is_connected: bool = True,
) -> Decision:
    """Handles a checked request. `member_id` is the member's, or a new one. Raises KafkaError.

    If the client has closed its connection, the session is not extended, as with `Group.heartbeat`.
    """
    if request.member_epoch < 0:
        return _leave(group, request, moment)
    _check_size(group, request.member_id, moment.settings.max_size)
    decision = Decision()
    reported = reported_partitions(request.topic_partitions)
    member, replaced_id = _find(group, request, member_id, reported)
    if replaced_id is not None:
        decision.records += replacement(group, replaced_id, member)
    after = _updated(member, request, client_id, client_host)
    after = Progress(group, moment, decision, member, after, reported, replaced_id).make()
    if is_connected or member_id not in group.deadlines:
        decision.timers += session_timer(group, member_id, moment.settings.session_timeout_ms, moment.now_ms)
    decision.response = {
        "member_id": member_id,
        "member_epoch": after.member_epoch,
        "heartbeat_interval_ms": moment.settings.heartbeat_interval_ms,
    }
    if _is_full(request) or _has_other_partitions(member, after):
        decision.response["assignment"] = {
            "topic_partitions": [
                {"topic_id": topic, "partitions": sorted(held)} for topic, held in after.assigned.items()
            ]
        }
    return decision


def reported_partitions(rows: list[Message] | None) -> ReportedPartitions | None:
    """The partitions that the request says the member owns; None if it does not say."""
    return None if rows is None else {bytes(row.topic_id): row.partitions for row in rows}


def _check_size(group: ConsumerGroup, member_id: str, max_size: int) -> None:
    if len(group.members) >= max_size and member_id not in group.members:
        raise errors.GroupMaxSizeReachedError(
            f"The consumer group has reached its maximum capacity of {max_size} members."
        )


def _find(
    group: ConsumerGroup, request: Message, member_id: str, reported: ReportedPartitions | None
) -> tuple[ConsumerMember, str | None]:
    """The member of the request, and the member that it replaces if a static member has returned."""
    if request.instance_id is None:
        member = group.members.get(member_id)
        if member is None:
            if request.member_epoch != JOIN_EPOCH:
                raise unknown_member(group, member_id)
            return ConsumerMember(member_id), None
        _check_epoch(member, request.member_epoch, reported)
        return member, None
    static = group.static_member(request.instance_id)
    if request.member_epoch != JOIN_EPOCH:
        static = static_member(group, request.instance_id, member_id)
        _check_epoch(static, request.member_epoch, reported)
        return static, None
    if static is None:
        return group.members.get(member_id) or ConsumerMember(member_id), None
    if static.member_epoch != STATIC_LEAVE_EPOCH and not static.uses_classic_protocol:
        if static.member_id == member_id:
            return static, None
        raise errors.UnreleasedInstanceIdError(
            f"Static member {member_id} with instance id {request.instance_id} cannot join the group because the "
            f"instance id is owned by {static.member_id} member."
        )
    return static.replaced(member_id=member_id, member_epoch=0, previous_member_epoch=0), static.member_id


def unknown_member(group: ConsumerGroup, member_id: str) -> errors.KafkaError:
    """The error for a member id that is not in the group."""
    return errors.UnknownMemberIdError(f"Member {member_id} is not a member of group {group.group_id}.")


def static_member(group: ConsumerGroup, instance_id: str, member_id: str) -> ConsumerMember:
    """The static member with an instance id. Raises an error if its member id differs."""
    static = group.static_member(instance_id)
    if static is None:
        raise errors.UnknownMemberIdError(f"Instance id {instance_id} is unknown.")
    if static.member_id != member_id:
        raise errors.FencedInstanceIdError(
            f"Static member {member_id} with instance id {instance_id} was fenced by member {static.member_id}."
        )
    return static


def _check_epoch(member: ConsumerMember, epoch: int, reported: ReportedPartitions | None) -> None:
    """The previous epoch is accepted after a lost response, if the member owns no more than its present partitions."""
    if epoch == member.member_epoch or epoch == JOIN_EPOCH:
        return
    if epoch > member.member_epoch:
        raise errors.FencedMemberEpochError(
            f"The consumer group member has a greater member epoch ({epoch}) than the one known by the group "
            f"coordinator ({member.member_epoch}). {FENCED}"
        )
    if epoch != member.previous_member_epoch or not _is_within(reported, member):
        raise errors.FencedMemberEpochError(
            f"The consumer group member has a smaller member epoch ({epoch}) than the one known by the group "
            f"coordinator ({member.member_epoch}). {FENCED}"
        )


def _is_within(reported: ReportedPartitions | None, member: ConsumerMember) -> bool:
    if reported is None:
        return False
    return all(
        topic in member.assigned and all(partition in member.assigned[topic] for partition in have)
        for topic, have in reported.items()
    )


def replacement(group: ConsumerGroup, old_id: str, member: ConsumerMember) -> list[records.Record]:
    """The member with the state of the static member that it replaces."""
    return [
        *records.member_tombstones(group.group_id, old_id),
        records.member(group.group_id, member),
        records.target(group.group_id, member.member_id, group.targets.get(old_id, {})),
        records.current(group.group_id, member),
    ]


def _updated(member: ConsumerMember, request: Message, client_id: str, client_host: str) -> ConsumerMember:
    """The member with the request's values; the same object if nothing has changed."""
    said = {
        "instance_id": request.instance_id,
        "rack_id": request.rack_id,
        "server_assignor": request.server_assignor,
        "subscribed_topic_regex": request.subscribed_topic_regex,
        "client_id": client_id,
        "client_host": client_host,
    }
    changes: dict[str, Any] = {
        name: value for name, value in said.items() if value is not None and value != getattr(member, name)
    }
    if request.rebalance_timeout_ms not in (NO_REBALANCE_TIMEOUT, member.rebalance_timeout_ms):
        changes["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    if request.subscribed_topic_names is not None:
        names = frozenset(request.subscribed_topic_names)
        if names != member.subscribed_topic_names:
            changes["subscribed_topic_names"] = names
    if member.classic is not None:
        changes["classic"] = None
    return member.replaced(**changes) if changes else member


def _is_full(request: Message) -> bool:
    """Whether the request has all fields, as after a join or an error."""
    has_subscription = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    says_all = has_subscription and request.topic_partitions is not None
    return request.member_epoch == JOIN_EPOCH or (request.rebalance_timeout_ms != NO_REBALANCE_TIMEOUT and says_all)


def _has_other_partitions(before: ConsumerMember, after: ConsumerMember) -> bool:
    return after.assigned is not before.assigned and {
        topic: held.keys() for topic, held in before.assigned.items()
    } != {topic: held.keys() for topic, held in after.assigned.items()}


def _leave(group: ConsumerGroup, request: Message, moment: Moment) -> Decision:
    response = {"member_id": request.member_id, "member_epoch": request.member_epoch}
    if request.instance_id is None:
        if request.member_id not in group.members:
            raise unknown_member(group, request.member_id)
        return remove(group, [request.member_id], moment, response)
    member = static_member(group, request.instance_id, request.member_id)
    if request.member_epoch == LEAVE_EPOCH:
        return remove(group, [member.member_id], moment, response)
    # A static member that leaves temporarily keeps its partitions until its session expires.
    away = member.replaced(member_epoch=STATIC_LEAVE_EPOCH, pending_revocation={})
    return Decision([records.current(group.group_id, away)], response)
