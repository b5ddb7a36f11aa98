"""`--filter`: which records match, and expressions that are none."""

from __future__ import annotations

import pytest

from kcli.console.record_filter import filter_of
from kcli.failures import UsageFailure
from kcore.client.consumer.consumer_record import ConsumerRecord

RECORDS = [
    ConsumerRecord("t", 0, 10, timestamp=100, key=b"abc", value=b"one", headers=[("a", b"1"), ("a", b"2")]),
    ConsumerRecord("t", 1, 11, timestamp=200, key=None, value=b"two=2", headers=[("a", None), ("b.c", b"x>y")]),
    ConsumerRecord("t", 0, 12, timestamp=300, key=b"", value=None),
]


@pytest.mark.parametrize(
    ("expressions", "offsets"),
    [
        ([], [10, 11, 12]),
        (["key=abc"], [10]),
        (["key!=abc"], [11, 12]),
        (["key="], [12]),
        (["key~^a.c$"], [10]),
        (["key!~b"], [11, 12]),
        (["key"], [10, 12]),
        (["!key"], [11]),
        (["!value"], [12]),
        (["value=two=2"], [11]),
        (["value~[ow]"], [10, 11]),
        (["header.a"], [10]),
        (["!header.a"], [11, 12]),
        (["header.a=2"], [10]),
        (["header.a!=2"], [11, 12]),
        (["header.b.c=x>y"], [11]),
        (["offset>=11"], [11, 12]),
        (["offset > 10", "offset<12"], [11]),
        (["offset=10"], [10]),
        (["partition!=0"], [11]),
        (["timestamp<= 200", "partition=0"], [10]),
    ],
)
def test_which_records_match(expressions: list[str], offsets: list[int]) -> None:
    matches = filter_of(expressions)
    assert [record.offset for record in RECORDS if matches is None or matches(record)] == offsets


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("topic=t", "--filter 'topic=t': not FIELD, !FIELD or FIELD OPERATOR VALUE"),
        ("offset", "--filter 'offset': not FIELD"),
        ("offset>=x", "--filter 'offset>=x': compare offset by"),
        ("offset~1", "--filter 'offset~1': compare offset by"),
        ("key>a", "--filter 'key>a': compare keys, values and headers by"),
        ("key~(", "--filter 'key~(': invalid regular expression (missing )"),
        ("header.=1", "--filter 'header.=1': not FIELD"),
    ],
)
def test_expressions_that_make_no_sense(expression: str, message: str) -> None:
    with pytest.raises(UsageFailure) as raised:
        filter_of([expression])
    assert str(raised.value).startswith(message)
