"""Records of `__consumer_offsets`: what is packed by hand is what the codec makes, and every version is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcore.coordinator.group import records
from kcore.coordinator.group.offsets import CommittedOffset
from kcore.errors import KafkaError
from kcore.protocol.records import GROUP_METADATA_VALUE, OFFSET_COMMIT_KEY, OFFSET_COMMIT_VALUE

INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
TEXT = st.text(max_size=40)


@given(TEXT, TEXT, INT32, INT64, INT32, TEXT, INT64, st.sampled_from([-1, 0, 5]))
def test_commits_packed_by_hand_are_what_the_codec_makes(
    group: str, topic: str, partition: int, offset: int, epoch: int, metadata: str, time_ms: int, expiry_ms: int
) -> None:
    committed = CommittedOffset(offset, epoch, metadata, time_ms, expiry_ms)
    ((key, value),) = records.offset_commits(group, {(topic, partition): committed})
    assert key == OFFSET_COMMIT_KEY.encode(1, {"group": group, "topic": topic, "partition": partition})
    assert value is not None
    version, fields = OFFSET_COMMIT_VALUE.decode(value)
    assert version == (3 if expiry_ms == -1 else 1)
    assert (fields.offset, fields.metadata, fields.commit_timestamp) == (offset, metadata, time_ms)
    assert fields.leader_epoch == (epoch if expiry_ms == -1 else -1)
    assert fields.expire_timestamp == expiry_ms
    assert value == records.offset_commit_value(committed)
    assert records.decode_offset_commit_key(key) == (group, (topic, partition))
    assert records.decode_offset_commit_value(value, 3).record_offset == 3


def test_name_that_no_record_can_hold_is_refused_by_the_codec() -> None:
    with pytest.raises(KafkaError):
        records.offset_commits("g" * 40_000, {("read", 0): CommittedOffset(1, -1, "", 0)})


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_an_offset_is_read(version: int) -> None:
    fields = {"offset": 7, "leader_epoch": 3, "metadata": "note", "commit_timestamp": 11, "expire_timestamp": 13}
    committed = records.decode_offset_commit_value(OFFSET_COMMIT_VALUE.encode(version, fields), 0)
    assert (committed.offset, committed.metadata, committed.commit_timestamp_ms) == (7, "note", 11)
    assert committed.leader_epoch == (3 if version >= 3 else -1)
    assert committed.expire_timestamp_ms == (13 if version == 1 else -1)


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_a_group_is_read(version: int) -> None:
    member = {
        "member_id": "m-1",
        "group_instance_id": "i-1",
        "client_id": "client",
        "client_host": "/127.0.0.1",
        "rebalance_timeout": 60_000,
        "session_timeout": 10_000,
        "subscription": b"topics",
        "assignment": b"all",
    }
    fields = {
        "protocol_type": "consumer",
        "generation": 7,
        "protocol": "range",
        "leader": "m-1",
        "current_state_timestamp": 99,
        "members": [member],
    }
    group = records.decode_group_metadata_value(GROUP_METADATA_VALUE.encode(version, fields))
    assert (group.protocol_type, group.generation_id, group.protocol_name, group.leader_id) == (
        "consumer",
        7,
        "range",
        "m-1",
    )
    assert group.current_state_timestamp_ms == (99 if version >= 2 else -1)
    (kept,) = group.members
    assert (kept.member_id, kept.client_id, kept.client_host) == ("m-1", "client", "/127.0.0.1")
    assert (kept.subscription, kept.assignment, kept.session_timeout_ms) == (b"topics", b"all", 10_000)
    assert kept.rebalance_timeout_ms == (60_000 if version >= 1 else 10_000)
    assert kept.group_instance_id == ("i-1" if version >= 3 else None)


def test_group_comes_back_as_it_was_kept() -> None:
    member = records.MemberMetadata("m-1", None, "client", "/127.0.0.1", 60_000, 10_000, b"topics", b"all")
    key, value = records.group_metadata("readers", records.GroupMetadata("consumer", 7, "range", "m-1", 99, [member]))
    assert value is not None
    assert value[:2] == b"\x00\x03"
    assert records.decode_group_metadata_key(key) == "readers"
    assert records.group_metadata_tombstone("readers") == (key, None)
    again = records.decode_group_metadata_value(value)
    assert records.group_metadata("readers", again) == (key, value)
