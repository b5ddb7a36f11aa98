"""What members of a group tell each other: bytes of version 0 written out by hand; ranges as RangeAssignor's."""

from __future__ import annotations

import pytest

from kcore.client.cluster import TopicPartition
from kcore.client.consumer_protocol import (
    assign_ranges,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kcore.errors import KafkaError

SUBSCRIPTION = b"\x00\x00\x00\x00\x00\x02\x00\x01a\x00\x01b\xff\xff\xff\xff"
ASSIGNMENT = b"\x00\x00\x00\x00\x00\x01\x00\x01a\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff\xff"


def test_the_bytes_of_version_0() -> None:
    assert encode_subscription(["a", "b"]) == SUBSCRIPTION
    assert encode_assignment([TopicPartition("a", 3), TopicPartition("a", 0)]) == ASSIGNMENT


def test_newer_versions_are_read_for_what_is_known() -> None:
    assert decode_subscription(b"\x00\x09" + SUBSCRIPTION[2:] + b"\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff more") == [
        "a",
        "b",
    ]
    assert decode_assignment(b"\x00\x09" + ASSIGNMENT[2:] + b" more") == [
        TopicPartition("a", 0),
        TopicPartition("a", 3),
    ]


def test_a_member_may_get_nothing() -> None:
    assert decode_assignment(b"") == []
    assert decode_assignment(encode_assignment([])) == []


@pytest.mark.parametrize("size", range(1, len(SUBSCRIPTION) - 4))
def test_bytes_that_are_cut_are_an_error(size: int) -> None:
    with pytest.raises(KafkaError):
        decode_subscription(SUBSCRIPTION[:size])


def test_ranges_of_consecutive_partitions_in_order_of_member_ids() -> None:
    assigned = assign_ranges({"m2": ["a"], "m1": ["a", "b"], "m3": ["a"]}, {"a": 7, "b": 2})
    numbers = {member: [(p.topic, p.partition) for p in partitions] for member, partitions in assigned.items()}
    assert numbers == {
        "m1": [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)],
        "m2": [("a", 3), ("a", 4)],
        "m3": [("a", 5), ("a", 6)],
    }
    assert assign_ranges({"m1": ["a"], "m2": ["a"]}, {"a": 1}) == {"m1": [TopicPartition("a", 0)], "m2": []}
