"""The metadata cache: what readers see, and what subscribers hear."""

from __future__ import annotations

import pytest

from kcore.metadata.cache import MetadataCache
from kcore.metadata.image import (
    NO_LEADER,
    BrokerRegistration,
    MetadataDelta,
    MetadataImage,
    PartitionState,
    TopicImage,
)

TOPIC_ID = bytes(15) + b"\x01"
STATE = PartitionState("orders", 0, (1, 2), (1, 2), 1)
CREATION = MetadataDelta(
    topics_created=[TopicImage("orders", TOPIC_ID, [STATE])], brokers_registered=[BrokerRegistration(1)]
)


def published(cache: MetadataCache, delta: MetadataDelta) -> None:
    cache.publish(cache.image.apply(delta), delta)


def test_a_subscriber_hears_of_everything_there_is_first() -> None:
    cache = MetadataCache()
    published(cache, CREATION)
    heard: list[PartitionState] = []
    cache.subscribe(lambda image, delta: heard.extend(delta.created_partitions()))
    assert heard == [STATE]


def test_subscribers_hear_created_changed_and_deleted_partitions_in_order() -> None:
    cache = MetadataCache()
    heard: list[tuple[str, PartitionState]] = []

    def listen(image: MetadataImage, delta: MetadataDelta) -> None:
        heard.extend(("created", state) for state in delta.created_partitions())
        heard.extend(("changed", state) for state in delta.changed_partitions())
        heard.extend(("deleted", state) for state in delta.deleted_partitions())

    cache.subscribe(listen)
    published(cache, CREATION)
    changed = STATE.replace(leader=2, leader_epoch=1, partition_epoch=1)
    published(cache, MetadataDelta(partitions_changed=[changed]))
    added = PartitionState("orders", 1, (1,), (1,), 1)
    published(cache, MetadataDelta(partitions_added=[added]))
    published(cache, MetadataDelta(topics_deleted=[cache.image.topics["orders"]]))
    assert heard == [
        ("created", STATE),
        ("changed", changed),
        ("created", added),
        ("deleted", changed),
        ("deleted", added),
    ]


def test_the_image_is_current_when_a_subscriber_hears_of_it() -> None:
    cache = MetadataCache()
    current: list[bool] = []
    cache.subscribe(lambda image, delta: current.append(cache.image is image))
    published(cache, CREATION)
    assert current == [True, True]


def test_a_subscriber_that_fails_does_not_keep_the_change_from_others() -> None:
    cache = MetadataCache()
    heard: list[MetadataDelta] = []

    def fail(image: MetadataImage, delta: MetadataDelta) -> None:
        if delta is CREATION:
            raise ValueError("first")

    cache.subscribe(fail)
    cache.subscribe(lambda image, delta: heard.append(delta))
    with pytest.raises(ValueError, match="first"):
        published(cache, CREATION)
    assert heard[-1] is CREATION
    assert cache.topic("orders") is not None


def test_look_ups() -> None:
    cache = MetadataCache()
    published(cache, CREATION)
    assert cache.topic_by_id(TOPIC_ID) is cache.topic("orders")
    assert cache.partition("orders", 0) == STATE
    assert cache.broker(1) == BrokerRegistration(1)
    assert cache.broker(2) is None
    assert cache.topic_configs("orders") == {}


@pytest.mark.parametrize(("leader", "expected"), [(1, BrokerRegistration(1)), (2, None), (NO_LEADER, None)])
def test_the_leader_is_a_broker_that_is_alive(leader: int, expected: BrokerRegistration | None) -> None:
    cache = MetadataCache()
    published(cache, CREATION)
    published(cache, MetadataDelta(partitions_changed=[STATE.replace(leader=leader)]))
    assert cache.leader_of("orders", 0) == expected
    assert cache.leader_of("orders", 9) is None
