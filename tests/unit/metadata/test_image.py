"""The metadata image: what a change makes of it, and that the old one stays."""

from __future__ import annotations

import pytest

from kcore.metadata.image import (
    TOPIC_RESOURCE,
    BrokerRegistration,
    ConfigChange,
    Endpoint,
    MetadataDelta,
    MetadataImage,
    PartitionState,
    TopicImage,
)

ORDERS_ID = bytes(15) + b"\x07"


def topic(name: str = "orders", partitions: int = 2, topic_id: bytes = ORDERS_ID) -> TopicImage:
    return TopicImage(name, topic_id, (PartitionState(name, index, (1,), (1,), 1) for index in range(partitions)))


def test_a_created_topic_is_found_by_name_and_by_id() -> None:
    empty = MetadataImage("cluster")
    image = empty.apply(MetadataDelta(topics_created=[topic()]))
    assert image.topics["orders"] is image.topics_by_id[ORDERS_ID]
    assert image.partition("orders", 1) == PartitionState("orders", 1, (1,), (1,), 1)
    assert image.partition("orders", 2) is None
    assert image.partition("orders", -1) is None
    assert image.partition("payments", 0) is None
    assert empty.topics == {}


def test_a_deleted_topic_takes_its_overrides_along() -> None:
    change = ConfigChange(TOPIC_RESOURCE, "orders", {"retention.ms": "1"})
    image = MetadataImage("cluster").apply(MetadataDelta(topics_created=[topic()], configs_changed=[change]))
    assert image.topic_configs("orders") == {"retention.ms": "1"}
    after = image.apply(MetadataDelta(topics_deleted=[image.topics["orders"]]))
    assert after == MetadataImage("cluster")


def test_changed_and_added_partitions_belong_to_both_views_of_the_topic() -> None:
    image = MetadataImage("cluster").apply(MetadataDelta(topics_created=[topic()]))
    changed = PartitionState("orders", 0, (1,), (1,), 1, leader_epoch=4, partition_epoch=1)
    added = PartitionState("orders", 2, (1,), (1,), 1)
    image = image.apply(MetadataDelta(partitions_changed=[changed], partitions_added=[added]))
    assert image.topics["orders"].partitions[0] == changed
    assert image.topics_by_id[ORDERS_ID].partitions[2] == added
    assert list(image.partitions()) == list(image.topics["orders"].partitions)


def test_an_image_is_the_delta_that_makes_it() -> None:
    broker = BrokerRegistration(1, [Endpoint("PLAINTEXT", "localhost", 9092)], rack="r1", broker_epoch=3)
    image = MetadataImage("cluster").apply(
        MetadataDelta(
            topics_created=[topic()],
            brokers_registered=[broker],
            configs_changed=[ConfigChange(TOPIC_RESOURCE, "orders", {"retention.ms": "1"})],
            controller_id=1,
        )
    )
    assert MetadataImage("cluster").apply(image.as_delta()) == image
    assert image.brokers[1].endpoint("PLAINTEXT") == Endpoint("PLAINTEXT", "localhost", 9092)
    assert image.brokers[1].endpoint("SSL") is None


def test_brokers_come_and_go() -> None:
    image = MetadataImage().apply(MetadataDelta(brokers_registered=[BrokerRegistration(1), BrokerRegistration(2)]))
    assert sorted(image.brokers) == [1, 2]
    assert sorted(image.apply(MetadataDelta(brokers_unregistered=[1])).brokers) == [2]


def test_an_override_that_is_emptied_is_gone() -> None:
    change = ConfigChange(TOPIC_RESOURCE, "orders", {"retention.ms": "1"})
    image = MetadataImage().apply(MetadataDelta(configs_changed=[change]))
    assert image.apply(MetadataDelta(configs_changed=[change.replace(overrides={})])).configs == {}


def test_values_compare_by_content_and_by_kind() -> None:
    state = PartitionState("orders", 0, [1, 2], [1], 1)
    assert state == PartitionState("orders", 0, (1, 2), (1,), 1)
    assert hash(state) == hash(PartitionState("orders", 0, (1, 2), (1,), 1))
    assert state != state.replace(leader_epoch=1)
    assert state != Endpoint("a", "b", 1)
    assert "leader_epoch=0" in repr(state)
    with pytest.raises(TypeError):
        hash(MetadataImage())


@pytest.mark.parametrize(
    ("name", "internal"), [("__consumer_offsets", True), ("__transaction_state", True), ("a", False)]
)
def test_internal_topics_are_known_by_name(name: str, internal: bool) -> None:
    assert topic(name).is_internal is internal
