"""Groups: list, describe, remove members, delete.

    list_groups   asks every broker for the groups that it coordinates
    the others    ask each group's coordinator

ListGroups (KIP-518, KIP-848), DescribeGroups, ConsumerGroupDescribe, LeaveGroup (KIP-345), DeleteGroups.
ConsumerGroupDescribe describes groups of the consumer protocol (KIP-848), DescribeGroups all others. Only the broker
knows a group's protocol. So ConsumerGroupDescribe is tried first, if the broker supports it.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from kcore.client.admin.coordinator_calls import GROUP_KEY
from kcore.client.admin.group_offsets import GroupOffsetAdmin
from kcore.client.admin.results import failure_of, raise_failure
from kcore.client.consumer.consumer_protocol import decode_assignment
from kcore.client.errors import ClientError, UnsupportedByBroker, broker_error
from kcore.client.metadata.cluster import Node, TopicPartition
from kcore.errors import KafkaError
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcore.client.admin.results import Failure
    from kcore.protocol.message import Message

CONSUMER_PROTOCOL = "consumer"
CLASSIC, CONSUMER = "Classic", "Consumer"
EMPTY, DEAD = "Empty", "Dead"
GROUP_ID_NOT_FOUND = 69
UNSUPPORTED_VERSION = 35
# member_type in ConsumerGroupDescribe (KIP-1099).
CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1


class GroupListing(NamedTuple):
    """`state` and `type` (CLASSIC, CONSUMER) are empty if the broker is too old (KIP-518, KIP-848)."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class GroupMember(NamedTuple):
    """A member. Epochs and target are None in classic groups. `is_upgraded`: uses the consumer protocol (KIP-1099)."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: list[TopicPartition]
    epoch: int | None = None
    target: list[TopicPartition] | None = None
    is_upgraded: bool | None = None


class GroupDescription(NamedTuple):
    """`assignor` is a classic group's protocol name; epochs are None in classic groups."""

    group_id: str
    type: str
    state: str
    protocol_type: str
    assignor: str
    coordinator: Node
    members: list[GroupMember]
    epoch: int | None = None
    target_epoch: int | None = None


class GroupAdmin(GroupOffsetAdmin):
    __slots__ = ()

    def list_groups(
        self, states: Sequence[str] = (), types: Sequence[str] = ()
    ) -> tuple[list[GroupListing], list[Failure]]:
        """Return the groups in these states and of these types, by id, and the failures of brokers. Default: all."""
        groups: dict[str, GroupListing] = {}
        failures: list[Failure] = []
        for broker in self.brokers():
            try:
                listed = self.client.retrying(partial(self._list_of, broker, states, types), self._api_timeout_ms)
            except (KafkaError, ClientError) as error:
                failures.append(error)
                continue
            for group in listed:
                groups[group.group_id] = group
                self._coordinators[GROUP_KEY, group.group_id] = broker
        return sorted(groups.values()), failures

    def _list_of(self, broker: Node, states: Sequence[str], types: Sequence[str]) -> list[GroupListing]:
        fields = {"states_filter": list(states), "types_filter": list(types)}
        response = self._request(apis.LIST_GROUPS, fields, broker)
        raise_failure(response.error_code, f"the groups of broker {broker.id}")
        return [
            GroupListing(group.group_id, group.protocol_type, group.group_state, group.group_type.capitalize())
            for group in response.groups
        ]

    def describe_groups(self, group_ids: Iterable[str]) -> dict[str, GroupDescription | Failure]:
        """Return the description or failure of each group. GROUP_ID_NOT_FOUND for a group that does not exist."""
        return self._ask_coordinators(GROUP_KEY, group_ids, self._describe)

    def _describe(self, node: Node, group_ids: list[str]) -> dict[str, GroupDescription | Failure]:
        described = self._describe_consumer_groups(node, group_ids)
        others = [group_id for group_id in group_ids if group_id not in described]
        if others:
            response = self._request(apis.DESCRIBE_GROUPS, {"groups": others}, node)
            described |= {group.group_id: _failure(group) or _classic_group(group, node) for group in response.groups}
        return described

    def _describe_consumer_groups(self, node: Node, group_ids: list[str]) -> dict[str, GroupDescription | Failure]:
        """Return the groups of the consumer protocol; none if the broker does not support it."""
        try:
            response = self._request(apis.CONSUMER_GROUP_DESCRIBE, {"group_ids": group_ids}, node)
        except UnsupportedByBroker:
            return {}
        return {
            group.group_id: _failure(group) or _consumer_group(group, node)
            for group in response.groups
            if group.error_code not in (GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION)
        }

    def delete_groups(self, group_ids: Iterable[str]) -> dict[str, Failure | None]:
        """Delete groups without members, with their offsets. Returns the failure of each group, or None."""

        def delete(node: Node, ids: list[str]) -> dict[str, Failure | None]:
            response = self._request(apis.DELETE_GROUPS, {"groups_names": ids}, node)
            return {result.group_id: _failure(result) for result in response.results}

        return self._ask_coordinators(GROUP_KEY, group_ids, delete)

    def remove_members(
        self, group_id: str, members: Iterable[str] | None = None, reason: str | None = None
    ) -> dict[str, Failure | None]:
        """Remove members from a classic group: static members by their instance ids. Default: all members.

        Returns the failure of each member, or None. Raises the group's error, for example if it does not exist.
        """
        if members is None:
            rows = self._all_members(group_id)
        else:
            rows = [{"member_id": "", "group_instance_id": instance_id} for instance_id in members]
        if not rows:
            return {}
        for row in rows:
            row["reason"] = reason or "an administrator removed the member"

        def remove(node: Node, _: list[str]) -> dict[str, dict[str, Failure | None] | Failure]:
            response = self._request(apis.LEAVE_GROUP, {"group_id": group_id, "members": rows}, node)
            if response.error_code:
                return {group_id: broker_error(response.error_code, f"group {group_id}")}
            removed: dict[str, Failure | None] = {}
            for member in response.members:
                name = member.group_instance_id or member.member_id
                removed[name] = failure_of(member.error_code, f"member {name} of group {group_id}")
            return {group_id: removed}

        return self._ask_coordinator(GROUP_KEY, group_id, remove)

    def _all_members(self, group_id: str) -> list[dict[str, str | None]]:
        described = self.describe_groups([group_id])[group_id]
        if isinstance(described, (KafkaError, ClientError)):
            raise described
        return [
            {"member_id": "" if member.instance_id else member.member_id, "group_instance_id": member.instance_id}
            for member in described.members
        ]


def _failure(result: Message) -> KafkaError | None:
    """Return the error in a response about a group, or None."""
    detail = getattr(result, "error_message", None)
    return failure_of(result.error_code, f"group {result.group_id}", detail)


def _classic_group(group: Message, node: Node) -> GroupDescription | Failure:
    if group.group_state == DEAD:
        return broker_error(GROUP_ID_NOT_FOUND, f"group {group.group_id}")
    members = [
        GroupMember(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            _assignment(group.protocol_type, bytes(member.member_assignment)),
        )
        for member in group.members
    ]
    return GroupDescription(
        group.group_id, CLASSIC, group.group_state, group.protocol_type, group.protocol_data, node, members
    )


def _assignment(protocol_type: str, data: bytes) -> list[TopicPartition]:
    """Return a member's partitions; none if the group is not a consumer group or the bytes are invalid."""
    if protocol_type != CONSUMER_PROTOCOL:
        return []
    try:
        return sorted(decode_assignment(data))
    except KafkaError:
        return []


def _consumer_group(group: Message, node: Node) -> GroupDescription:
    members = [
        GroupMember(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            _partitions(member.assignment),
            member.member_epoch,
            _partitions(member.target_assignment),
            {CLASSIC_MEMBER: False, CONSUMER_MEMBER: True}.get(member.member_type),
        )
        for member in group.members
    ]
    return GroupDescription(
        group.group_id,
        CONSUMER,
        group.group_state,
        CONSUMER_PROTOCOL,
        group.assignor_name,
        node,
        members,
        group.group_epoch,
        group.assignment_epoch,
    )


def _partitions(assignment: Message) -> list[TopicPartition]:
    return sorted(
        TopicPartition(topic.topic_name, number) for topic in assignment.topic_partitions for number in topic.partitions
    )
