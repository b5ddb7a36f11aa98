"""Messages with their version before them: as aiokafka writes them, and what is not known."""

from __future__ import annotations

import pytest
from aiokafka.coordinator.protocol import (  # type: ignore[import-untyped]
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)

from kcore import errors
from kcore.protocol import records
from kcore.protocol.protocol_errors import ProtocolError


def test_keys_are_told_apart_by_their_version() -> None:
    offset = records.OFFSET_COMMIT_KEY.encode(1, {"group": "g", "topic": "t", "partition": 3})
    group = records.GROUP_METADATA_KEY.encode(2, {"group": "g"})
    assert offset.hex(" ") == "00 01 00 01 67 00 01 74 00 00 00 03"
    assert group.hex(" ") == "00 02 00 01 67"
    assert (records.version_of(offset), records.version_of(group)) == (1, 2)
    version, key = records.OFFSET_COMMIT_KEY.decode(offset)
    assert (version, key.group, key.topic, key.partition) == (1, "g", "t", 3)
    with pytest.raises(errors.UnsupportedVersionError, match="GroupMetadataKey has no version 1"):
        records.GROUP_METADATA_KEY.decode(offset)


def test_the_consumer_protocol_is_that_of_aiokafka() -> None:
    theirs = ConsumerProtocolMemberMetadata(0, ["flights", "planes"], b"data").encode()
    version, subscription = records.CONSUMER_PROTOCOL_SUBSCRIPTION.decode(theirs)
    assert (version, subscription.topics, subscription.user_data) == (0, ["flights", "planes"], b"data")
    assert records.CONSUMER_PROTOCOL_SUBSCRIPTION.encode(0, subscription) == theirs
    theirs = ConsumerProtocolMemberAssignment(0, [("flights", [0, 2]), ("planes", [])], b"").encode()
    version, assignment = records.CONSUMER_PROTOCOL_ASSIGNMENT.decode(theirs)
    owned = [(owned.topic, owned.partitions) for owned in assignment.assigned_partitions]
    assert owned == [("flights", [0, 2]), ("planes", [])]
    assert records.CONSUMER_PROTOCOL_ASSIGNMENT.encode(0, assignment) == theirs


def test_a_value_of_a_version_from_the_future_is_refused() -> None:
    with pytest.raises(errors.UnsupportedVersionError, match="OffsetCommitValue has no version 5"):
        records.OFFSET_COMMIT_VALUE.decode(b"\x00\x05whatever")


def test_a_subscription_from_the_future_is_read_as_the_newest_known() -> None:
    fields = {"topics": ["a"], "owned_partitions": [{"topic": "a", "partitions": [0]}], "rack_id": "r"}
    data = records.CONSUMER_PROTOCOL_SUBSCRIPTION.encode(3, fields)
    version, subscription = records.CONSUMER_PROTOCOL_SUBSCRIPTION.decode(b"\x00\x09" + data[2:] + b"more")
    assert (version, subscription.topics, subscription.rack_id) == (9, ["a"], "r")


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x01\x00", b"\x00\x01\x00\x01g"])
def test_what_is_cut_is_a_clean_error(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        records.OFFSET_COMMIT_KEY.decode(data)
