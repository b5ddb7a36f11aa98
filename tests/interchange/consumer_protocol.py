"""A group of the consumer protocol (KIP-848), played by raw requests: two members, and what is said of them."""

from __future__ import annotations

from typing import Any

from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.interchange.contents import wait_until
from tests.raw_client import RawClient

GROUP = "new-members"
MEMBERS = ("first", "second")
REBALANCE_MS = 600_000
# For both brokers, so that no session ends while they take turns.
LONG_SESSIONS = {
    "group.consumer.max.session.timeout.ms": str(REBALANCE_MS),
    "group.consumer.session.timeout.ms": str(REBALANCE_MS),
}


class ConsumerMember:
    """A member; `epoch` and `owned` are what the broker last told it."""

    def __init__(self, member_id: str, topics: list[str]) -> None:
        self.member_id = member_id
        self.topics = topics
        self.epoch = 0
        self.owned: list[dict[str, Any]] = []

    def heartbeat(self, client: RawClient, epoch: int | None = None) -> Message:
        """Tells what it owns, takes what it is told; joins at its first."""
        fields: dict[str, Any] = {"group_id": GROUP, "member_id": self.member_id, "member_epoch": self.epoch}
        if self.epoch == 0:
            fields |= {"rebalance_timeout_ms": REBALANCE_MS, "subscribed_topic_names": self.topics}
        fields["topic_partitions"] = self.owned
        if epoch is not None:
            fields["member_epoch"] = epoch
        answer = client.request(apis.CONSUMER_GROUP_HEARTBEAT, 1, fields)
        if answer.error_code == 0:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.owned = [
                    {"topic_id": bytes(each.topic_id), "partitions": list(each.partitions)}
                    for each in answer.assignment.topic_partitions
                ]
        return answer


def join(client: RawClient, topics: list[str]) -> list[ConsumerMember]:
    """Members that share the topics, and agree with the broker on who has what."""
    members = [ConsumerMember(member_id, topics) for member_id in MEMBERS]

    def is_stable() -> bool:
        for member in members:
            assert member.heartbeat(client).error_code == 0
        return bool(describe(client)["state"] == "Stable" and all(member.owned for member in members))

    wait_until(is_stable, "the group does not become stable")
    return members


def commit(client: RawClient, member: ConsumerMember, topic: str, offset: int, epoch: int | None = None) -> int:
    """The wire code."""
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": member.member_id}
    who = {"member_id": member.member_id, "generation_id_or_member_epoch": member.epoch if epoch is None else epoch}
    fields = {"group_id": GROUP, **who, "topics": [{"name": topic, "partitions": [partition]}]}
    return int(client.request(apis.OFFSET_COMMIT, 9, fields).topics[0].partitions[0].error_code)


def describe(client: RawClient) -> dict[str, Any]:
    """What ConsumerGroupDescribe says."""
    (group,) = client.request(apis.CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": [GROUP]}).groups

    def partitions(assignment: Message) -> list[Any]:
        return sorted((each.topic_name, sorted(each.partitions)) for each in assignment.topic_partitions)

    return {
        "error": group.error_code,
        "state": group.group_state,
        "epochs": (group.group_epoch, group.assignment_epoch),
        "assignor": group.assignor_name,
        "members": sorted(
            (
                member.member_id,
                member.member_epoch,
                member.client_id,
                member.client_host,
                sorted(member.subscribed_topic_names),
                partitions(member.assignment),
                partitions(member.target_assignment),
                member.member_type,
            )
            for member in group.members
        ),
    }


def observe(client: RawClient, members: list[ConsumerMember], topic: str) -> dict[str, Any]:
    """What a broker says of the group, and to its members and strangers. Nothing changes by it."""
    seen = describe(client)
    for member in members:
        answer = member.heartbeat(client)
        seen[f"heartbeat of {member.member_id}"] = (answer.error_code, answer.member_epoch, answer.assignment)
    stranger = ConsumerMember("stranger", [topic])
    stranger.epoch = 3
    seen["heartbeat of a stranger"] = stranger.heartbeat(client).error_code
    seen["heartbeat of the future"] = members[0].heartbeat(client, members[0].epoch + 5).error_code
    seen["commit of the future"] = commit(client, members[0], topic, 1, members[0].epoch + 5)
    seen["commit of a stranger"] = commit(client, stranger, topic, 1)
    return seen
