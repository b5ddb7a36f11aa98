"""Questions about logs, answered by hand: resets, times, truncation, and what is asked again."""

from __future__ import annotations

from typing import Any

import pytest

from kcore.client.config.auto_offset_reset import BY_DURATION, ResetStrategy
from kcore.client.consumer import codes
from kcore.client.consumer.broker_request import Backoff, BrokerRequest
from kcore.client.consumer.consumer_errors import LogTruncated
from kcore.client.consumer.consumer_metadata import ConsumerMetadata
from kcore.client.consumer.offset_fetcher import OffsetFetcher
from kcore.client.consumer.offset_reset import NO_RESET, TO_LATEST
from kcore.client.consumer.positions import FetchPosition, LeaderAndEpoch, OffsetAndTimestamp
from kcore.client.consumer.subscription_state import SubscriptionState
from kcore.client.errors import ClientTimeout
from kcore.client.metadata.cluster import Cluster, Node, PartitionInfo, TopicDescription, TopicPartition
from kcore.client.metadata.metadata import Metadata, MetadataSettings
from kcore.errors import KafkaError
from kcore.protocol import apis

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
TIME_MS = 1_700_000_000_000


class Scene:
    """A consumer's OffsetFetcher in a cluster of two brokers; broker 1 leads a-0, broker 2 a-1."""

    def __init__(self, strategy: ResetStrategy) -> None:
        self.subscriptions = SubscriptionState(strategy)
        self.metadata = ConsumerMetadata(Metadata(MetadataSettings()), self.subscriptions)
        self.lead(1, 2)
        self.fetcher = OffsetFetcher(self.subscriptions, self.metadata, Backoff(100, 1_000), lambda: TIME_MS)
        self.now_ms = 0.0

    def lead(self, *leaders: int, epoch: int = 5) -> None:
        nodes = {number: Node(number, "h", 9090 + number) for number in (1, 2)}
        partitions = [PartitionInfo(n, leader, epoch, [], [], [], 0) for n, leader in enumerate(leaders)]
        topics = {"a": TopicDescription("a", bytes(16), False, 0, partitions)}
        self.metadata.metadata.cluster = Cluster("c", 1, nodes, topics)

    def poll(self) -> list[BrokerRequest]:
        return self.fetcher.poll(self.now_ms)

    def asked(self, request: BrokerRequest) -> Any:
        version = request.api.max_version
        return request.api.request.decode(version, request.api.request.encode(version, request.fields(version)))

    def answer(self, request: BrokerRequest, **fields: Any) -> None:
        """One topic, one partition for each in the request, all with these fields."""
        name = "name" if request.api is apis.LIST_OFFSETS else "topic"
        number = "partition_index" if request.api is apis.LIST_OFFSETS else "partition"
        topics = [
            {name: getattr(t, name), "partitions": [{number: getattr(p, number), **fields} for p in t.partitions]}
            for t in self.asked(request).topics
        ]
        version = request.api.max_version
        response = request.api.response
        request.finish(response.decode(version, response.encode(version, {"topics": topics})), None, self.now_ms)


def test_a_reset_asks_each_leader_once() -> None:
    scene = Scene(TO_LATEST)
    scene.subscriptions.assign([A0, A1])
    scene.subscriptions.start_at_committed({A0: None, A1: None}, {})
    requests = scene.poll()
    assert [request.node.id for request in requests if request.node] == [1, 2]
    assert scene.poll() == []
    asked = scene.asked(requests[0]).topics[0].partitions[0]
    assert (asked.timestamp, asked.current_leader_epoch) == (-1, 5)
    for request in requests:
        scene.answer(request, error_code=0, offset=42, leader_epoch=4, timestamp=-1)
    assert scene.subscriptions.position(A0) == FetchPosition(42, 4, LeaderAndEpoch(1, 5))
    assert scene.subscriptions.has_all_positions


def test_a_reset_by_duration_goes_to_the_end_where_nothing_is_so_young() -> None:
    scene = Scene(ResetStrategy(BY_DURATION, 60_000))
    scene.subscriptions.assign([A0])
    scene.subscriptions.start_at_committed({A0: None}, {})
    (request,) = scene.poll()
    assert scene.asked(request).topics[0].partitions[0].timestamp == TIME_MS - 60_000
    scene.answer(request, error_code=0, offset=-1, leader_epoch=-1, timestamp=-1)
    (request,) = scene.poll()
    assert scene.asked(request).topics[0].partitions[0].timestamp == -1
    scene.answer(request, error_code=0, offset=7, leader_epoch=1, timestamp=-1)
    assert scene.subscriptions.position(A0) == FetchPosition(7, 1, LeaderAndEpoch(1, 5))


@pytest.mark.parametrize("code", [codes.NOT_LEADER_OR_FOLLOWER, codes.FENCED_LEADER_EPOCH, codes.OFFSET_NOT_AVAILABLE])
def test_an_error_that_passes_is_asked_again_after_a_pause(code: int) -> None:
    scene = Scene(TO_LATEST)
    scene.subscriptions.assign([A0])
    scene.subscriptions.start_at_committed({A0: None}, {})
    (request,) = scene.poll()
    scene.answer(request, error_code=code)
    assert scene.poll() == []
    assert scene.fetcher.error is None
    assert scene.metadata.metadata.next_query(1e6) is not None
    assert 0 < scene.fetcher.wake_ms() <= 200
    scene.now_ms = scene.fetcher.wake_ms()
    (request,) = scene.poll()
    scene.answer(request, error_code=0, offset=1, leader_epoch=-1, timestamp=-1)
    assert scene.subscriptions.position(A0) is not None


def test_one_that_is_on_its_way_holds_up_no_other() -> None:
    """a-1 has no leader yet: it is looked at again after its pause, however long broker 1 is silent about a-0."""
    scene = Scene(TO_LATEST)
    scene.lead(1, -1)
    scene.subscriptions.assign([A0, A1])
    scene.subscriptions.start_at_committed({A0: None, A1: None}, {})
    (silent,) = scene.poll()
    assert silent.node == Node(1, "h", 9091)
    assert 0 < scene.fetcher.wake_ms() <= 200
    scene.lead(1, 2)
    scene.now_ms = scene.fetcher.wake_ms()
    (request,) = scene.poll()
    assert request.node == Node(2, "h", 9092)


def test_an_error_that_stays_is_told() -> None:
    scene = Scene(TO_LATEST)
    scene.subscriptions.assign([A0])
    scene.subscriptions.start_at_committed({A0: None}, {})
    (request,) = scene.poll()
    scene.answer(request, error_code=codes.TOPIC_AUTHORIZATION_FAILED)
    assert isinstance(scene.fetcher.error, KafkaError)
    assert "a-0" in str(scene.fetcher.error)


def test_offsets_for_times_come_from_all_leaders_or_not_at_all() -> None:
    scene = Scene(TO_LATEST)
    outcome = scene.fetcher.offsets_for_times({A0: 1, A1: 2}, 5_000)
    first, second = scene.poll()
    scene.answer(first, error_code=0, offset=10, leader_epoch=3, timestamp=11)
    assert not outcome.is_done
    scene.answer(second, error_code=0, offset=-1, leader_epoch=-1, timestamp=-1)
    assert outcome.take() == {A0: OffsetAndTimestamp(10, 11, 3), A1: None}
    late = scene.fetcher.offsets_for_times({A0: 1}, 5_000)
    (request,) = scene.poll()
    request.finish(None, ClientTimeout("no answer"), 100.0)
    scene.now_ms = 5_000
    scene.poll()
    with pytest.raises(ClientTimeout, match="no offsets of a-0 in time"):
        late.take()


def validated(scene: Scene) -> BrokerRequest:
    """a-0 was read to 10 in epoch 5, and broker 2 leads it now in epoch 6."""
    scene.subscriptions.assign([A0])
    scene.subscriptions.seek(A0, FetchPosition(10, 5, LeaderAndEpoch(1, 5)))
    scene.subscriptions.needing_validation(0)
    (request,) = scene.poll()
    scene.answer(request, error_code=0, leader_epoch=5, end_offset=20)
    assert scene.subscriptions.position(A0) is not None
    scene.lead(2, 2, epoch=6)
    (request,) = scene.poll()
    asked = scene.asked(request).topics[0].partitions[0]
    assert (asked.current_leader_epoch, asked.leader_epoch) == (6, 5)
    assert request.node is not None
    assert request.node.id == 2
    return request


def test_a_new_leader_confirms_or_truncates() -> None:
    scene = Scene(TO_LATEST)
    scene.answer(validated(scene), error_code=0, leader_epoch=5, end_offset=8)
    assert scene.subscriptions.position(A0) == FetchPosition(8, 5, LeaderAndEpoch(2, 6))


def test_truncation_without_a_strategy_is_told_with_where_it_diverges() -> None:
    scene = Scene(NO_RESET)
    scene.answer(validated(scene), error_code=0, leader_epoch=4, end_offset=8)
    error = scene.subscriptions.take_failure()
    assert isinstance(error, LogTruncated)
    assert error.positions == {A0: 10}
    assert error.divergent[A0].offset == 8
    assert scene.subscriptions.position(A0) is None
