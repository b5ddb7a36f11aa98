"""A member of a classic group, answered by hand where a real coordinator is hard to bring to it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kcore.client.consumer.assignors import by_name
from kcore.client.consumer.assignors.assignor import Member
from kcore.client.consumer.broker_request import Backoff, BrokerRequest
from kcore.client.consumer.consumer_coordinator import ConsumerCoordinator, MemberState
from kcore.client.consumer.consumer_metadata import ConsumerMetadata
from kcore.client.consumer.consumer_protocol import encode_assignment, encode_subscription
from kcore.client.consumer.coordinator_lookup import CoordinatorLookup
from kcore.client.consumer.group_settings import GroupSettings
from kcore.client.consumer.offset_reset import TO_EARLIEST
from kcore.client.consumer.subscription_state import SubscriptionState
from kcore.client.metadata.cluster import Cluster, Node, PartitionInfo, TopicDescription, TopicPartition
from kcore.client.metadata.metadata import Metadata, MetadataSettings
from kcore.protocol import apis


def answer(request: BrokerRequest, **fields: Any) -> None:
    version, response = request.api.max_version, request.api.response
    request.finish(response.decode(version, response.encode(version, fields)), None, 0.0)


@pytest.mark.parametrize(("partitions", "joins_again"), [(2, False), (3, True)])
def test_a_static_leader_that_came_back_notices_what_changed_meanwhile(partitions: int, joins_again: bool) -> None:
    """It is told to skip the assignment (KIP-814), and would watch topics from now on only. Kafka's does that."""
    settings = GroupSettings("g", instance_id="i")
    subscriptions = SubscriptionState(TO_EARLIEST)
    metadata = ConsumerMetadata(Metadata(MetadataSettings()), subscriptions)
    infos = [PartitionInfo(number, 1, 1, [], [], [], 0) for number in range(partitions)]
    description = TopicDescription("a", bytes(16), False, 0, infos)
    metadata.metadata.cluster = Cluster("c", 1, {1: Node(1, "h", 1)}, {"a": description})
    lookup = CoordinatorLookup("g", Backoff(100, 1_000))
    lookup.node = Node(1, "h", 1)
    member = ConsumerCoordinator(settings, subscriptions, metadata, lookup, [by_name("range")])
    subscriptions.subscribe(["a"])
    member.polled(0.0)
    (join,) = member.poll(0.0)
    subscription = encode_subscription(Member(frozenset({"a"})))
    joined = {"member_id": "m", "group_instance_id": "i", "metadata": subscription}
    common = {"error_code": 0, "generation_id": 4, "protocol_type": "consumer", "protocol_name": "range"}
    answer(join, **common, leader="m", member_id="m", skip_assignment=True, members=[joined])
    (sync,) = member.poll(0.0)
    assert sync.api is apis.SYNC_GROUP
    assert sync.fields(sync.api.max_version)["assignments"] == []
    had = [TopicPartition("a", 0), TopicPartition("a", 1)]
    answer(sync, error_code=0, protocol_type="consumer", protocol_name="range", assignment=encode_assignment(had))
    callback = member.next_callback()
    assert callback is not None
    assert callback.partitions == tuple(had)
    member.callback_done(callback, 0.0)
    assert member.state is MemberState.STABLE
    member.poll(0.0)
    assert (member.state is MemberState.PREPARING) == joins_again


def test_who_waits_for_a_coordinator_or_for_metadata_is_not_woken_to_look_for_it() -> None:
    """Both have times of their own; a member that wants to look again at once has the thread do nothing else."""
    subscriptions = SubscriptionState(TO_EARLIEST)
    metadata = ConsumerMetadata(Metadata(MetadataSettings()), subscriptions)
    lookup = CoordinatorLookup("g", Backoff(100, 1_000))
    member = ConsumerCoordinator(GroupSettings("g"), subscriptions, metadata, lookup, [by_name("range")])
    subscriptions.subscribe_pattern(re.compile("a.*"))
    member.polled(0.0)
    assert member.poll(0.0) == []
    assert member.state is MemberState.JOINING
    assert member.wake_ms() > 1_000, "no coordinator is known"
    lookup.node = Node(1, "h", 1)
    assert member.poll(0.0) == []
    assert member.wake_ms() > 1_000, "no topic is known"
    metadata.version = 1
    assert member.wake_ms() == 0.0
    (join,) = member.poll(0.0)
    common = {"error_code": 0, "generation_id": 1, "protocol_type": "consumer", "protocol_name": "range"}
    answer(join, **common, leader="another", member_id="m", members=[])
    (sync,) = member.poll(0.0)
    answer(sync, error_code=0, protocol_type="consumer", protocol_name="range", assignment=encode_assignment([]))
    callback = member.next_callback()
    assert callback is not None
    member.callback_done(callback, 0.0)
    assert member.wake_ms() == 3_000, "the heartbeat"
    lookup.lost(None)
    assert member.poll(4_000.0) == []
    assert member.wake_ms() > 5_000, "it has nobody to send it to"
    lookup.node = Node(2, "h", 2)
    (heartbeat,) = member.poll(5_000.0)
    assert heartbeat.api is apis.HEARTBEAT
