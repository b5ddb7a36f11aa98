"""Records as JSON: whatever they hold comes back, and what people write is read or named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.console.json_records import JsonFormatter, JsonReader
from kcore.client.consumer.consumer_record import CREATE_TIME, ConsumerRecord

CONTENTS = st.none() | st.binary(max_size=12) | st.text(max_size=8).map(str.encode)
NAMES = st.binary(max_size=6) | st.text(max_size=6).map(str.encode)
RECORDS = st.builds(
    lambda topic, partition, offset, timestamp, key, value, headers: ConsumerRecord(
        topic,
        partition,
        offset,
        timestamp=timestamp,
        timestamp_type=CREATE_TIME,
        key=key,
        value=value,
        headers=[(name.decode("utf-8", "surrogateescape"), content) for name, content in headers],
    ),
    st.text(min_size=1, max_size=8),
    st.integers(0, 2**31 - 1),
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**63 - 1),
    CONTENTS,
    CONTENTS,
    st.lists(st.tuples(NAMES, CONTENTS), max_size=4),
)


@given(records=st.lists(RECORDS, max_size=4), binary=st.sampled_from(["base64", "hex"]))
def test_what_is_printed_is_read_back(records: list[ConsumerRecord], binary: str) -> None:
    printed = JsonFormatter(binary).of_records(records)
    lines = printed.split(b"\n")[:-1]
    batch = JsonReader(keep_partitions=True).read(lines, 1)
    nothing: list[Any] = [None] * len(records)
    assert batch.failure is None
    assert batch.values == [record.value for record in records]
    assert (batch.keys or nothing) == [record.key for record in records]
    assert [list(headers) for headers in batch.headers or [()] * len(records)] == [
        [(name.encode("utf-8", "surrogateescape"), value) for name, value in record.headers] for record in records
    ]
    assert (batch.timestamps or []) == [record.timestamp for record in records]
    assert batch.partitions == [record.partition for record in records]


@given(record=RECORDS)
def test_a_line_is_json_to_others_too(record: ConsumerRecord) -> None:
    (line,) = JsonFormatter().of_records([record]).decode().split("\n")[:-1]
    fields = json.loads(line)
    assert list(fields) == ["topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers"]
    assert (fields["topic"], fields["offset"]) == (record.topic, record.offset)
    assert len(fields["headers"]) == len(record.headers)


def test_what_people_write() -> None:
    lines = [b'{"value":"v"}', b"", b'{"key":"k","value":null,"headers":{"a":"1"}}', b' {"value":{"hex":"00 ff"}} ']
    batch = JsonReader().read(lines, 1)
    assert batch.values == [b"v", None, b"\x00\xff"]
    assert batch.keys == [None, b"k", None]
    assert batch.headers == [(), [(b"a", b"1")], ()]
    assert (batch.timestamps, batch.partitions) == (None, None)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"plain", "not JSON: Expecting value"),
        (b"\xff", "not JSON: "),
        (b"[" * 100_000, "not JSON: "),
        (b'["v"]', "must be a JSON object"),
        (b"{}", 'no "value"; write null for a tombstone'),
        (b'{"value":1}', 'value: must be a string, null, {"base64": "..."} or {"hex": "..."}'),
        (b'{"value":{"base64":"*"}}', "value: "),
        (b'{"value":{"hex":"0"}}', "value: "),
        (b'{"value":"\\ud800"}', "value: "),
        (b'{"value":"v","keys":"k"}', "unknown field 'keys'; valid fields: topic, "),
        (b'{"value":"v","headers":["a"]}', "headers: must be a list of pairs [name, value]"),
        (b'{"value":"v","headers":[[null,"1"]]}', "header name: must not be null"),
        (b'{"value":"v","timestamp":-5}', "timestamp -5: must be a whole number"),
        (b'{"value":"v","timestamp":true}', "timestamp True: must be a whole number"),
    ],
)
def test_a_line_that_is_no_record_is_named(line: bytes, message: str) -> None:
    batch = JsonReader().read([b'{"value":"before"}', line, b'{"value":"after"}'], 4)
    assert str(batch.failure).startswith(f"line 5: {message}")
    assert batch.values == [b"before"]
    lenient = JsonReader(ignore_error=True).read([b'{"value":"before"}', line, b'{"value":"after"}'], 4)
    assert lenient.values == [b"before", b"after"]
    assert lenient.failure is None
    assert [reason.startswith(f"line 5: {message}") for reason in lenient.passed_over] == [True]
