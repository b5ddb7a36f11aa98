"""The native Fetch against the codec: what one writes the other reads, in every version, and no bytes do harm."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcore.client.consumer.fetch_request import encode_fetch_request, parse_fetch_answer
from kcore.protocol import apis
from kcore.protocol.headers import decode_request_header
from tests.property.protocol.test_codec_properties import struct_of

VERSIONS = st.integers(4, 17)
HEAD_BYTES = 12
FIRST_FLEXIBLE, FIRST_BY_ID, FIRST_WITH_SESSION, FIRST_WITH_RACK = 12, 13, 7, 11
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
NAMES = st.text("abcdefgh-._\N{SNOWMAN}", min_size=1, max_size=20)
IDS = st.binary(min_size=16, max_size=16)
PARTITIONS = st.lists(st.tuples(INT32, INT32, INT64, INT32, INT32), max_size=4)


@settings(deadline=None)
@given(
    VERSIONS,
    st.none() | st.text(max_size=5),
    st.fixed_dictionaries(
        {
            "max_wait_ms": INT32,
            "min_bytes": INT32,
            "max_bytes": INT32,
            "isolation_level": st.integers(0, 1),
            "session_id": INT32,
            "session_epoch": INT32,
        }
    ),
    st.text(max_size=4),
    st.lists(st.tuples(NAMES, IDS, PARTITIONS), max_size=3),
    st.lists(st.tuples(NAMES, IDS, st.lists(INT32, max_size=4)), max_size=3),
)
def test_requests_are_what_the_codec_reads(
    version: int,
    client_id: str | None,
    scalars: dict[str, int],
    rack: str,
    topics: list[tuple[str, bytes, list[tuple[int, int, int, int, int]]]],
    forgotten: list[tuple[str, bytes, list[int]]],
) -> None:
    frame = encode_fetch_request(version, client_id=client_id, rack=rack, topics=topics, forgotten=forgotten, **scalars)
    assert frame[:HEAD_BYTES] == bytes(HEAD_BYTES)
    # The connection writes size, key, version and correlation id into the head.
    frame = (1).to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(4) + frame[HEAD_BYTES:]
    header, position = decode_request_header(frame)
    assert header.client_id == client_id
    request = apis.FETCH.request.decode(version, frame, position)
    for name, value in scalars.items():
        if version >= FIRST_WITH_SESSION or not name.startswith("session"):
            assert getattr(request, name) == value
    if version >= FIRST_WITH_RACK:
        assert request.rack_id == rack
    by_id = version >= FIRST_BY_ID
    assert [topic.topic_id if by_id else topic.topic for topic in request.topics] == [row[by_id] for row in topics]
    for topic, (_, _, partitions) in zip(request.topics, topics, strict=True):
        for partition, (index, leader_epoch, offset, fetched_epoch, max_bytes) in zip(
            topic.partitions, partitions, strict=True
        ):
            assert (partition.partition, partition.fetch_offset) == (index, offset)
            assert partition.partition_max_bytes == max_bytes
            assert version < 9 or partition.current_leader_epoch == leader_epoch
            assert version < FIRST_FLEXIBLE or partition.last_fetched_epoch == fetched_epoch
            assert version < 5 or partition.log_start_offset == -1
    if version >= FIRST_WITH_SESSION:
        named = [
            (topic.topic_id if by_id else topic.topic, topic.partitions) for topic in request.forgotten_topics_data
        ]
        assert named == [(row[by_id], row[2]) for row in forgotten]
    assert getattr(request, "replica_id", -1) == -1


def as_parsed(message: Any, version: int) -> dict[str, Any]:
    """An answer of the codec in the words of `parse_fetch_answer`."""
    topics = []
    for topic in message.responses:
        partitions = []
        for row in topic.partitions:
            flexible = version >= FIRST_FLEXIBLE
            aborted = row.aborted_transactions or []
            partitions.append(
                {
                    "partition_index": row.partition_index,
                    "error_code": row.error_code,
                    "high_watermark": row.high_watermark,
                    "last_stable_offset": row.last_stable_offset,
                    "log_start_offset": row.log_start_offset if version >= 5 else -1,
                    "aborted": [(entry.producer_id, entry.first_offset) for entry in aborted],
                    "preferred_read_replica": row.preferred_read_replica if version >= FIRST_WITH_RACK else -1,
                    "records": None if row.records is None else bytes(row.records),
                    "diverging_epoch": (row.diverging_epoch.epoch, row.diverging_epoch.end_offset)
                    if flexible
                    else (-1, -1),
                    "current_leader": (row.current_leader.leader_id, row.current_leader.leader_epoch)
                    if flexible
                    else (-1, -1),
                }
            )
        topics.append((topic.topic_id if version >= FIRST_BY_ID else topic.topic.encode(), partitions))
    endpoints = message.node_endpoints if version >= 16 else []
    return {
        "throttle_time_ms": message.throttle_time_ms,
        "error_code": message.error_code if version >= FIRST_WITH_SESSION else 0,
        "session_id": message.session_id if version >= FIRST_WITH_SESSION else 0,
        "topics": topics,
        "endpoints": [(node.node_id, node.host, node.port) for node in endpoints],
    }


@st.composite
def answers(draw: st.DrawFn) -> tuple[int, bytes]:
    version = draw(VERSIONS)
    response = apis.FETCH.response
    fields = draw(struct_of(response.struct, version, version >= response.first_flexible))
    return version, bytes(response.encode(version, fields))


@settings(deadline=None)
@given(answers())
def test_answers_are_read_as_the_codec_reads_them(answer: tuple[int, bytes]) -> None:
    version, body = answer
    assert parse_fetch_answer(body, version) == as_parsed(apis.FETCH.response.decode(version, body), version)


@settings(deadline=None)
@given(answers(), st.data())
def test_an_answer_cut_short_or_with_bytes_behind_it_is_refused(answer: tuple[int, bytes], data: st.DataObject) -> None:
    version, body = answer
    assert parse_fetch_answer(body[: data.draw(st.integers(0, len(body) - 1))], version) is None
    assert parse_fetch_answer(body + b"\0", version) is None


@settings(deadline=None)
@given(answers(), st.data())
def test_one_changed_byte_does_no_harm(answer: tuple[int, bytes], data: st.DataObject) -> None:
    version, body = answer
    changed = bytearray(body)
    changed[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    parse_fetch_answer(bytes(changed), version)


@settings(deadline=None)
@given(st.binary(max_size=200), VERSIONS)
def test_any_bytes_are_an_answer_or_refused(body: bytes, version: int) -> None:
    parse_fetch_answer(body, version)


@pytest.mark.parametrize("version", [4, 11, 12, 17])
def test_counts_that_the_bytes_cannot_hold_are_refused(version: int) -> None:
    count = b"\xff\xff\xff\xff\x0f" if version >= FIRST_FLEXIBLE else b"\x7f\xff\xff\xff"
    head = bytes(4) + (bytes(6) if version >= FIRST_WITH_SESSION else b"")
    assert parse_fetch_answer(head + count + bytes(100), version) is None
