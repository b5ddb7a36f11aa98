"""A member under the consumer protocol, answered by hand: what it gives up when the topics behind the names change."""

from __future__ import annotations

from typing import Any

from kcore.client.consumer import codes
from kcore.client.consumer.broker_request import Backoff, BrokerRequest
from kcore.client.consumer.consumer_membership import ConsumerMembership
from kcore.client.consumer.consumer_metadata import ConsumerMetadata
from kcore.client.consumer.coordinator_lookup import CoordinatorLookup
from kcore.client.consumer.group_settings import GroupSettings
from kcore.client.consumer.offset_reset import TO_EARLIEST
from kcore.client.consumer.positions import FetchPosition, OffsetAndMetadata
from kcore.client.consumer.rebalance_callback import CallbackKind
from kcore.client.consumer.subscription_state import SubscriptionState
from kcore.client.metadata.cluster import Node, TopicPartition
from kcore.client.metadata.metadata import Metadata, MetadataSettings

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
BROKER = Node(1, "h", 1)
FORMER, NEW = b"\1" * 16, b"\2" * 16


def answer(request: BrokerRequest, now_ms: float, **fields: Any) -> None:
    version, response = request.api.max_version, request.api.response
    request.finish(response.decode(version, response.encode(version, fields)), None, now_ms)


class Scene:
    """A member that has read a-0 and a-1, of topic id FORMER, to 20. Time goes on by a second a step."""

    def __init__(self) -> None:
        self.subscriptions = SubscriptionState(TO_EARLIEST)
        self.metadata = ConsumerMetadata(Metadata(MetadataSettings()), self.subscriptions)
        self.metadata.on_recreated = self.reset
        lookup = CoordinatorLookup("g", Backoff(100, 1_000))
        lookup.node = BROKER
        self.member = ConsumerMembership(GroupSettings("g"), self.subscriptions, self.metadata, lookup)
        self.now_ms = 0.0
        self.epoch = 0
        self.subscriptions.subscribe(["a"])
        self.member.polled(0.0)
        self.describe(FORMER)
        self.assigned(FORMER)
        self.carry_out()
        for partition in (A0, A1):
            self.subscriptions.seek(partition, FetchPosition(20))

    def reset(self, topics: frozenset[str]) -> None:
        for partition in self.subscriptions.assigned:
            self.subscriptions.request_reset(partition)

    def describe(self, topic_id: bytes | None) -> None:
        """Answers the question for metadata that is due now; None: there is no such topic."""
        self.now_ms += 1_000
        [request] = self.metadata.poll(self.now_ms)
        partitions = [{"partition_index": n, "leader_id": 1, "leader_epoch": 0, "error_code": 0} for n in (0, 1)]
        topic: dict[str, Any] = {"name": "a", "error_code": codes.UNKNOWN_TOPIC_OR_PARTITION, "partitions": []}
        if topic_id is not None:
            topic |= {"topic_id": topic_id, "error_code": 0, "partitions": partitions}
        answer(request, self.now_ms, brokers=[{"node_id": 1, "host": "h", "port": 1}], topics=[topic])

    def assigned(self, topic_id: bytes | None) -> None:
        """The coordinator gives it both partitions of a topic, or none."""
        self.now_ms += 10_000
        [heartbeat] = self.member.poll(self.now_ms)
        self.epoch += 1
        partitions = [] if topic_id is None else [{"topic_id": topic_id, "partitions": [0, 1]}]
        fields = {"error_code": 0, "member_epoch": self.epoch, "heartbeat_interval_ms": 5_000}
        answer(heartbeat, self.now_ms, **fields, assignment={"topic_partitions": partitions})
        self.member.poll(self.now_ms)

    def carry_out(self) -> list[tuple[CallbackKind, dict[TopicPartition, OffsetAndMetadata]]]:
        """What the application does, each with what would be committed when it begins."""
        done = []
        while (callback := self.member.next_callback()) is not None:
            done.append((callback.kind, self.subscriptions.all_consumed))
            self.member.callback_done(callback, self.now_ms)
        return done


def test_a_topic_that_lives_is_given_up_with_its_positions() -> None:
    scene = Scene()
    scene.assigned(None)
    assert scene.carry_out() == [], "only metadata can tell whether the topic is the same"
    scene.describe(FORMER)
    scene.member.poll(scene.now_ms)
    prepared, *_ = scene.carry_out()
    assert prepared == (CallbackKind.PREPARE, {A0: OffsetAndMetadata(20), A1: OffsetAndMetadata(20)})
    assert scene.subscriptions.assigned == []


def test_a_topic_that_is_gone_leaves_nothing_to_commit() -> None:
    scene = Scene()
    scene.assigned(None)
    scene.describe(None)
    scene.member.poll(scene.now_ms)
    prepared, *_ = scene.carry_out()
    assert prepared == (CallbackKind.PREPARE, {})
    assert scene.subscriptions.assigned == []


def test_a_topic_made_anew_is_given_up_where_the_new_one_begins() -> None:
    """The coordinator assigns the new one before metadata knows it: offsets of the former one are not its own."""
    scene = Scene()
    scene.assigned(NEW)
    assert scene.carry_out() == []
    scene.describe(NEW)
    scene.member.poll(scene.now_ms)
    kinds = [kind for kind, committed in scene.carry_out() if committed]
    assert kinds == []
    for partition in (A0, A1):
        scene.subscriptions.finish_reset(partition, TO_EARLIEST, FetchPosition(0))
    scene.member.poll(scene.now_ms)
    scene.carry_out()
    assert scene.subscriptions.all_consumed == {A0: OffsetAndMetadata(0), A1: OffsetAndMetadata(0)}


def test_a_topic_made_anew_waits_for_its_reset_before_it_is_given_up() -> None:
    """The commit that goes with it puts one right that was made for the former topic and met the new one."""
    scene = Scene()
    scene.assigned(None)
    scene.describe(NEW)
    scene.member.poll(scene.now_ms)
    assert scene.carry_out() == []
    for partition in (A0, A1):
        scene.subscriptions.finish_reset(partition, TO_EARLIEST, FetchPosition(0))
    scene.member.poll(scene.now_ms)
    prepared, *_ = scene.carry_out()
    assert prepared == (CallbackKind.PREPARE, {A0: OffsetAndMetadata(0), A1: OffsetAndMetadata(0)})
    assert scene.subscriptions.assigned == []


def test_a_partition_of_a_topic_that_stays_is_given_up_at_once() -> None:
    scene = Scene()
    scene.now_ms += 10_000
    [heartbeat] = scene.member.poll(scene.now_ms)
    target = {"topic_partitions": [{"topic_id": FORMER, "partitions": [1]}]}
    answer(heartbeat, scene.now_ms, error_code=0, member_epoch=2, heartbeat_interval_ms=5_000, assignment=target)
    scene.member.poll(scene.now_ms)
    prepared, *_ = scene.carry_out()
    assert prepared == (CallbackKind.PREPARE, {A0: OffsetAndMetadata(20), A1: OffsetAndMetadata(20)})
    assert scene.subscriptions.assigned == [A1]


def heartbeat(scene: Scene, after_ms: float, **news: Any) -> dict[str, Any] | None:
    """What it says then, answered with these news; None: nothing."""
    scene.now_ms += after_ms
    said = scene.member.poll(scene.now_ms)
    if not said:
        return None
    scene.epoch += "assignment" in news
    answer(said[0], scene.now_ms, error_code=0, member_epoch=scene.epoch, heartbeat_interval_ms=5_000, **news)
    return dict(said[0].fields(0))


def test_what_was_given_up_before_the_coordinator_wants_it_back_is_told_again() -> None:
    """Only what is said after its word counts: it gave nothing of the new topic for five minutes."""
    scene = Scene()
    assert heartbeat(scene, 1_000) is not None
    for _ in range(2):
        scene.metadata.request_update()
        scene.describe(NEW)
        for partition in (A0, A1):
            scene.subscriptions.finish_reset(partition, TO_EARLIEST, FetchPosition(0))
        scene.member.poll(scene.now_ms)
    scene.carry_out()
    assert scene.subscriptions.assigned == []
    told = heartbeat(scene, 0)
    assert told is not None
    assert told["topic_partitions"] == []

    plain = heartbeat(scene, 5_000, assignment={"topic_partitions": []})
    assert plain is not None
    assert "topic_partitions" not in plain
    told = heartbeat(scene, 0, assignment={"topic_partitions": [{"topic_id": NEW, "partitions": [0, 1]}]})
    assert told is not None
    assert told["topic_partitions"] == []

    scene.member.poll(scene.now_ms)
    scene.carry_out()
    assert scene.subscriptions.assigned == [A0, A1]
    told = heartbeat(scene, 0)
    assert told is not None
    assert told["topic_partitions"] == [{"topic_id": NEW, "partitions": [0, 1]}]
    assert heartbeat(scene, 1_000) is None


def test_an_assignment_that_answers_what_is_owned_is_not_answered_again() -> None:
    """Brokers before 4 repeat it each time."""
    scene = Scene()
    same = {"topic_partitions": [{"topic_id": FORMER, "partitions": [0, 1]}]}
    assert heartbeat(scene, 0, assignment=same) is not None
    assert heartbeat(scene, 0, assignment=same) is None
