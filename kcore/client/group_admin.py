"""What administrators ask of groups: which there are, who is in them, where they stand, and to change or end that.

    list_groups   asks every broker for the groups that it coordinates
    the others    ask each group's coordinator, looked up once and again when it has moved

Answers for several groups or partitions are given one by one: what failed is in the result beside what did not. What
passes (a coordinator that loads, or has moved) is asked again until the client's request timeout is over.
A group of the consumer protocol (KIP-848) is described by ConsumerGroupDescribe, any other by DescribeGroups, and only
the broker knows which it is: the first is asked where there is one, the second about what the first does not know.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from kcore.client.cluster import Node, TopicPartition, by_topic
from kcore.client.consumer_protocol import decode_assignment
from kcore.client.errors import ClientError, broker_error
from kcore.errors import KafkaError
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from kcore.client.network_client import NetworkClient
    from kcore.protocol.message import Message

    Outcome = TypeVar("Outcome")

CONSUMER_PROTOCOL = "consumer"
CLASSIC, CONSUMER = "Classic", "Consumer"
EMPTY, DEAD = "Empty", "Dead"
GROUP_ID_NOT_FOUND = 69
UNSUPPORTED_VERSION = 35
# Loading, not available, not the coordinator: the same question is answered later, or elsewhere.
PASSING_CODES = frozenset({14, 15, 16})
# member_type of ConsumerGroupDescribe (KIP-1099).
CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1
NO_OFFSET = -1
NO_GENERATION = -1

# What kept a part of a request from being done: a broker's answer, or that none could be asked.
Failure = KafkaError | ClientError


class GroupListing(NamedTuple):
    """`state` and `type` (CLASSIC, CONSUMER) are empty where the broker is too old to tell (KIP-518, KIP-848)."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class GroupMember(NamedTuple):
    """Epochs and target are None in classic groups; `is_upgraded`: it speaks the consumer protocol (KIP-1099)."""

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


class CommittedOffset(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str


class GroupAdmin:
    def __init__(self, client: NetworkClient) -> None:
        self._client = client
        self._coordinators: dict[str, Node] = {}

    # All groups

    def list_groups(
        self, states: Sequence[str] = (), types: Sequence[str] = ()
    ) -> tuple[list[GroupListing], list[Failure]]:
        """The groups in these states and of these types, by id, and why a broker could not tell of its own."""
        groups: dict[str, GroupListing] = {}
        failures: list[Failure] = []
        for broker in sorted(self._client.update_metadata(()).nodes.values()):
            try:
                listed = self._client.retrying(partial(self._list_of, broker, states, types))
            except (KafkaError, ClientError) as error:
                failures.append(error)
                continue
            for group in listed:
                groups[group.group_id] = group
                self._coordinators[group.group_id] = broker
        return sorted(groups.values()), failures

    def _list_of(self, broker: Node, states: Sequence[str], types: Sequence[str]) -> list[GroupListing]:
        fields = {"states_filter": list(states), "types_filter": list(types)}
        response = self._client.request(apis.LIST_GROUPS, fields, broker)
        if response.error_code:
            raise broker_error(response.error_code, f"the groups of broker {broker.id}")
        return [
            GroupListing(group.group_id, group.protocol_type, group.group_state, group.group_type.capitalize())
            for group in response.groups
        ]

    # Descriptions

    def describe_groups(self, group_ids: Iterable[str]) -> dict[str, GroupDescription | Failure]:
        """Each group, or why it could not be described; one that is not there is GROUP_ID_NOT_FOUND."""
        return self._ask_coordinators(group_ids, self._describe)

    def _describe(self, node: Node, group_ids: list[str]) -> dict[str, GroupDescription | Failure]:
        described: dict[str, GroupDescription | Failure] = {}
        if apis.CONSUMER_GROUP_DESCRIBE.key in self._client.connection_to(node).versions:
            response = self._client.request(apis.CONSUMER_GROUP_DESCRIBE, {"group_ids": group_ids}, node)
            described = {
                group.group_id: _failure(group) or _consumer_group(group, node)
                for group in response.groups
                if group.error_code not in (GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION)
            }
        others = [group_id for group_id in group_ids if group_id not in described]
        if others:
            response = self._client.request(apis.DESCRIBE_GROUPS, {"groups": others}, node)
            described |= {group.group_id: _failure(group) or _classic_group(group, node) for group in response.groups}
        return described

    # Offsets

    def committed_offsets(self, group_ids: Iterable[str]) -> dict[str, dict[TopicPartition, CommittedOffset] | Failure]:
        """Everything that each group has committed; a group that is not there has committed nothing."""
        return self._ask_coordinators(group_ids, self._fetch_offsets)

    def _fetch_offsets(
        self, node: Node, group_ids: list[str]
    ) -> dict[str, dict[TopicPartition, CommittedOffset] | Failure]:
        requests = [(node, apis.OFFSET_FETCH, {"group_id": group_id, "topics": None}) for group_id in group_ids]
        found: dict[str, dict[TopicPartition, CommittedOffset] | Failure] = {}
        for group_id, answer in zip(group_ids, self._client.request_each(requests), strict=True):
            if isinstance(answer, ClientError):
                found[group_id] = answer
            else:
                found[group_id] = _failure(answer, group_id) or _offsets(answer)
        return found

    def alter_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Failure | None]:
        """Commits an offset of each partition for a group that nobody is in; why one was refused."""

        def commit(node: Node, _: list[str]) -> dict[str, dict[TopicPartition, Failure | None] | Failure]:
            topics = by_topic(offsets, lambda place: {"committed_offset": offsets[place], "committed_metadata": ""})
            fields = {"group_id": group_id, "generation_id_or_member_epoch": NO_GENERATION, "topics": topics}
            return {group_id: _partition_results(self._client.request(apis.OFFSET_COMMIT, fields, node))}

        return self._ask_coordinator(group_id, commit)

    def delete_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Failure | None]:
        """Forgets what a group committed of partitions; why one was refused. The group's error, such as that it is not
        there, is raised."""
        wanted = list(partitions)

        def delete(node: Node, _: list[str]) -> dict[str, dict[TopicPartition, Failure | None] | Failure]:
            fields = {"group_id": group_id, "topics": by_topic(wanted, lambda place: {})}
            response = self._client.request(apis.OFFSET_DELETE, fields, node)
            return {group_id: _failure(response, group_id) or _partition_results(response)}

        return self._ask_coordinator(group_id, delete)

    def delete_groups(self, group_ids: Iterable[str]) -> dict[str, Failure | None]:
        """Ends groups and everything they committed; why one was not ended."""

        def delete(node: Node, ids: list[str]) -> dict[str, Failure | None]:
            response = self._client.request(apis.DELETE_GROUPS, {"groups_names": ids}, node)
            return {result.group_id: _failure(result) for result in response.results}

        return self._ask_coordinators(group_ids, delete)

    # Coordinators

    def _ask_coordinator(
        self, group_id: str, ask: Callable[[Node, list[str]], dict[str, Outcome | Failure]]
    ) -> Outcome:
        """What is asked about one group: its failure is raised."""
        outcome = self._ask_coordinators([group_id], ask)[group_id]
        if isinstance(outcome, (KafkaError, ClientError)):
            raise outcome
        return outcome

    def _ask_coordinators(
        self, group_ids: Iterable[str], ask: Callable[[Node, list[str]], dict[str, Outcome]]
    ) -> dict[str, Outcome | Failure]:
        """Asks each coordinator about its groups, and what passes again."""
        wanted = list(dict.fromkeys(group_ids))
        outcomes: dict[str, Outcome | Failure] = {}

        def attempt() -> None:
            pending = [group_id for group_id in wanted if _passes(outcomes.get(group_id)) or group_id not in outcomes]
            for node, ids in self._by_coordinator(pending, outcomes).items():
                try:
                    outcomes.update(ask(node, ids))
                except ClientError:
                    # Whoever asks again is to look for the coordinator again.
                    for group_id in ids:
                        self._coordinators.pop(group_id, None)
                    raise
            for group_id in wanted:
                if _passes(outcomes.get(group_id)):
                    self._coordinators.pop(group_id, None)
            for outcome in outcomes.values():
                if isinstance(outcome, KafkaError) and _passes(outcome):
                    raise outcome

        try:
            self._client.retrying(attempt)
        except KafkaError as error:
            if not _passes(error):
                raise
        return {group_id: outcomes[group_id] for group_id in wanted}

    def _by_coordinator(self, group_ids: list[str], outcomes: dict[str, Any]) -> dict[Node, list[str]]:
        """The groups of each broker; a group whose coordinator cannot be found has that for its outcome."""
        groups: dict[Node, list[str]] = {}
        for group_id in group_ids:
            node = self._coordinators.get(group_id)
            if node is None:
                try:
                    node = self._coordinators[group_id] = self._client.group_coordinator(group_id)
                except KafkaError as error:
                    outcomes[group_id] = error
                    continue
            groups.setdefault(node, []).append(group_id)
        return groups


def _passes(outcome: object) -> bool:
    """Whether an outcome, one partition's too, is an error that is over in a moment."""
    if isinstance(outcome, dict):
        return any(map(_passes, outcome.values()))
    return isinstance(outcome, KafkaError) and outcome.code in PASSING_CODES


def _failure(result: Message, group_id: str | None = None) -> KafkaError | None:
    """The error of an answer about a group, which some answers name."""
    if not result.error_code:
        return None
    return broker_error(
        result.error_code, f"group {group_id or result.group_id}", getattr(result, "error_message", None)
    )


def _partition_results(response: Message) -> dict[TopicPartition, Failure | None]:
    return {
        (place := TopicPartition(topic.name, part.partition_index)): (
            broker_error(part.error_code, f"partition {place}") if part.error_code else None
        )
        for topic in response.topics
        for part in topic.partitions
    }


def _offsets(response: Message) -> dict[TopicPartition, CommittedOffset]:
    return {
        TopicPartition(topic.name, part.partition_index): CommittedOffset(
            part.committed_offset, part.committed_leader_epoch, part.metadata or ""
        )
        for topic in response.topics
        for part in topic.partitions
        if not part.error_code and part.committed_offset != NO_OFFSET
    }


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
    """What a member was given; nothing where the group's protocol is not that of consumers, or the bytes are not."""
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
