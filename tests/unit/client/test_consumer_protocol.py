"""What members of a group tell each other: bytes of version 0 written out by hand, and of 3 field by field."""

from __future__ import annotations

import pytest

from kcore.client.consumer.assignors.assignor import Member
from kcore.client.consumer.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kcore.client.metadata.cluster import TopicPartition
from kcore.errors import KafkaError

SUBSCRIPTION = b"\x00\x00\x00\x00\x00\x02\x00\x01a\x00\x01b\xff\xff\xff\xff"
ASSIGNMENT = b"\x00\x00\x00\x00\x00\x01\x00\x01a\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff\xff"
WHOLE = Member(
    frozenset({"a", "b"}), (TopicPartition("a", 0), TopicPartition("a", 3)), 7, "east", None, user_data=b"what for"
)


def test_the_bytes_of_version_0() -> None:
    assert encode_subscription(Member(frozenset({"b", "a"})), 0) == SUBSCRIPTION
    assert encode_assignment([TopicPartition("a", 3), TopicPartition("a", 0)], version=0) == ASSIGNMENT


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, WHOLE._replace(owned=(), generation=-1, rack="")),
        (1, WHOLE._replace(generation=-1, rack="")),
        (2, WHOLE._replace(rack="")),
        (3, WHOLE),
    ],
)
def test_a_version_has_what_it_has(version: int, expected: Member) -> None:
    assert decode_subscription(encode_subscription(WHOLE, version)) == expected


def test_newer_versions_are_read_for_what_is_known() -> None:
    newer = b"\x00\x09" + SUBSCRIPTION[2:] + b"\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff more"
    assert decode_subscription(newer) == Member(frozenset({"a", "b"}))
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
