"""The hash of a group's topics: XXH3 as the library has it that Kafka uses, and the hash that Kafka 4.3.1 wrote."""

from __future__ import annotations

import pytest

from kcore.coordinator.group.consumer.subscription import metadata_hash, topic_hash, xxh3
from kcore.metadata.image import MetadataImage, PartitionState, TopicImage

# hash4j 0.22, Hashing.xxh3_64().hashBytesToLong of so many bytes.
VECTORS = {
    0: 3244421341483603138,
    1: -4302098779834749733,
    3: -4375086123124740706,
    4: -3182342801937314167,
    8: -5148196600006350464,
    9: 245602082024904742,
    16: -7088041056029983202,
    17: -915289979429514543,
    33: -4577992220865291042,
    64: 7997116401300239713,
    128: 7346429547323666821,
    129: 2884094242154568485,
    200: 8963557101830269290,
    240: 5266862303063109335,
    241: 6060465359239009000,
    256: -46693030393586759,
    512: -648991930387029524,
    777: 6686077737730971084,
    1000: 1201669616488073264,
}


@pytest.mark.parametrize("size", VECTORS)
def test_xxh3_is_that_of_hash4j(size: int) -> None:
    data = bytes(number * 7 & 0xFF for number in range(1000))
    assert xxh3(data[:size]) == VECTORS[size]


def image(*topics: TopicImage) -> MetadataImage:
    return MetadataImage(topics={topic.name: topic for topic in topics})


def topic(name: str, topic_id: bytes, partitions: int) -> TopicImage:
    states = [PartitionState(name, number, (1,), (1,), 1) for number in range(partitions)]
    return TopicImage(name, topic_id, states)


ORDERS = topic("orders", bytes.fromhex("580aaac5af38497e888bb8b3bcbceccb"), 3)


def test_the_hash_is_what_kafka_wrote_of_the_same_topic() -> None:
    assert metadata_hash({"orders"}, image(ORDERS)) == -8283504609287258907


def test_a_topic_that_is_not_there_counts_for_nothing() -> None:
    assert metadata_hash({"orders", "later"}, image(ORDERS)) == metadata_hash({"orders"}, image(ORDERS))
    assert metadata_hash({"later"}, image(ORDERS)) == 0


def test_another_number_of_partitions_or_id_is_another_hash() -> None:
    hashes = {
        topic_hash(one, image(one))
        for one in (
            ORDERS,
            topic("orders", ORDERS.topic_id, 4),
            topic("orders", bytes(16), 3),
            topic("order", bytes(16), 3),
        )
    }
    assert len(hashes) == 4
