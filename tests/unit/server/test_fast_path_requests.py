"""The native readers of produce and fetch requests agree with the codec, on all shapes and on broken bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcore.protocol import apis
from kcore.server.fast_path.fetch_request import parse_fetch_request
from kcore.server.fast_path.produce_request import parse_produce_request

PRODUCE_VERSIONS = range(3, 12)
FETCH_VERSIONS = range(4, 18)

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
NAMES = st.text(min_size=0, max_size=20)

PRODUCE = st.fixed_dictionaries(
    {
        "transactional_id": st.none() | NAMES,
        "acks": st.integers(-(2**15), 2**15 - 1),
        "timeout_ms": INT32,
        "topic_data": st.lists(
            st.fixed_dictionaries(
                {
                    "name": NAMES,
                    "partition_data": st.lists(
                        st.fixed_dictionaries({"index": INT32, "records": st.none() | st.binary(max_size=200)}),
                        max_size=4,
                    ),
                }
            ),
            max_size=4,
        ),
    }
)


def fetch_requests(version: int) -> st.SearchStrategy[dict]:
    partition = {"partition": INT32, "fetch_offset": INT64, "partition_max_bytes": INT32}
    if version >= 9:
        partition["current_leader_epoch"] = INT32
    if version >= 12:
        partition["last_fetched_epoch"] = INT32
    if version >= 17:
        partition["replica_directory_id"] = st.binary(min_size=16, max_size=16)
    name = {"topic_id": st.binary(min_size=16, max_size=16)} if version >= 13 else {"topic": NAMES}
    fields = {
        "max_wait_ms": INT32,
        "min_bytes": INT32,
        "max_bytes": INT32,
        "isolation_level": st.integers(0, 1),
        "topics": st.lists(
            st.fixed_dictionaries({**name, "partitions": st.lists(st.fixed_dictionaries(partition), max_size=4)}),
            max_size=4,
        ),
    }
    if version >= 7:
        fields["session_id"] = INT32
        fields["session_epoch"] = INT32
        forgotten = st.fixed_dictionaries({**name, "partitions": st.lists(INT32, max_size=3)})
        fields["forgotten_topics_data"] = st.lists(forgotten, max_size=2)
    if version >= 11:
        fields["rack_id"] = NAMES
    if version >= 12:
        fields["cluster_id"] = st.none() | NAMES
    if version >= 15:
        fields["replica_state"] = st.fixed_dictionaries({"replica_id": INT32, "replica_epoch": INT64})
    else:
        fields["replica_id"] = INT32
    return st.fixed_dictionaries(fields)


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
@settings(max_examples=40, deadline=None)
@given(request=PRODUCE)
def test_produce_reader_sees_what_the_codec_wrote(version: int, request: dict) -> None:
    body = apis.PRODUCE.request.encode(version, request)
    assert parse_produce_request(body, version) == (
        request["transactional_id"] is not None,
        request["acks"],
        request["timeout_ms"],
        [
            (
                topic["name"].encode(),
                [(partition["index"], partition["records"]) for partition in topic["partition_data"]],
            )
            for topic in request["topic_data"]
        ],
    )


@pytest.mark.parametrize("version", FETCH_VERSIONS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_fetch_reader_sees_what_the_codec_wrote(version: int, data: st.DataObject) -> None:
    request = data.draw(fetch_requests(version))
    parsed = parse_fetch_request(apis.FETCH.request.encode(version, request), version)
    assert parsed is not None
    for field in ("max_wait_ms", "min_bytes", "max_bytes", "isolation_level"):
        assert parsed[field] == request[field]
    assert parsed["session_id"] == request.get("session_id", 0)
    assert parsed["session_epoch"] == request.get("session_epoch", -1)
    assert parsed["replica_id"] == request.get("replica_id", request.get("replica_state", {}).get("replica_id"))
    assert parsed["topics"] == [
        (
            topic["topic_id"] if version >= 13 else topic["topic"].encode(),
            [
                (
                    partition["partition"],
                    partition.get("current_leader_epoch", -1),
                    partition["fetch_offset"],
                    partition.get("last_fetched_epoch", -1),
                    partition["partition_max_bytes"],
                )
                for partition in topic["partitions"]
            ],
        )
        for topic in request["topics"]
    ]
    assert parsed["forgotten_topics"] == [
        (topic["topic_id"] if version >= 13 else topic["topic"].encode(), topic["partitions"])
        for topic in request.get("forgotten_topics_data", [])
    ]


@pytest.mark.parametrize("version", [3, 8, 9, 11])
@settings(max_examples=25, deadline=None)
@given(request=PRODUCE)
def test_produce_reader_refuses_every_truncation(version: int, request: dict) -> None:
    body = apis.PRODUCE.request.encode(version, request)
    for size in range(len(body)):
        assert parse_produce_request(body[:size], version) is None


@pytest.mark.parametrize("version", [4, 7, 11, 12, 13, 17])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_fetch_reader_refuses_every_truncation(version: int, data: st.DataObject) -> None:
    body = apis.FETCH.request.encode(version, data.draw(fetch_requests(version)))
    for size in range(len(body)):
        assert parse_fetch_request(body[:size], version) is None


@settings(max_examples=500, deadline=None)
@given(body=st.binary(max_size=120), version=st.sampled_from([*PRODUCE_VERSIONS]))
def test_produce_reader_survives_any_bytes(body: bytes, version: int) -> None:
    parsed = parse_produce_request(body, version)
    if parsed is not None:
        assert apis.PRODUCE.request.decode(version, body).acks == parsed[1]


@settings(max_examples=500, deadline=None)
@given(body=st.binary(max_size=120), version=st.sampled_from([*FETCH_VERSIONS]))
def test_fetch_reader_survives_any_bytes(body: bytes, version: int) -> None:
    parsed = parse_fetch_request(body, version)
    if parsed is not None:
        assert apis.FETCH.request.decode(version, body).max_bytes == parsed["max_bytes"]


def test_array_that_claims_more_than_there_is_costs_no_memory() -> None:
    claims_two_billion_topics = b"\xff\xff" + b"\x00\x01" + bytes(4) + b"\x7f\xff\xff\xff" + bytes(64)
    assert parse_produce_request(claims_two_billion_topics, 3) is None
