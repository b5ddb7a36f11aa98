"""What counts as a difference, and what an entry of the list covers: the scenario is worth no more than this."""

from __future__ import annotations

import pytest

from tests.interop.admin_scenario.differences import (
    Difference,
    Expected,
    differences,
    lasting_differences,
    matches,
    unexpected,
)
from tests.interop.admin_scenario.plain import Normaliser, in_order, plain


def test_leaves_that_differ_are_found_where_they_are() -> None:
    ours = {"topics": [{"name": "a", "error_code": 3}, {"name": "b", "ids": []}], "same": 1}
    kafka = {"topics": [{"name": "a", "error_code": 0}, {"name": "b", "ids": [7]}], "same": 1}
    assert differences(ours, kafka) == [
        Difference("topics/0/error_code", "3", "0"),
        Difference("topics/1/ids", "[]", "(nothing)"),
        Difference("topics/1/ids/0", "(nothing)", "7"),
    ]


@pytest.mark.parametrize(
    ("ours", "kafka"),
    [
        *(({}, []), (None, {}), ("", None), ("1", 1), (True, 1), ("null", None), ("[]", [])),
        *(({"a": None}, {}), ([[]], []), ({"error": "X"}, "created")),
    ],
)
def test_what_is_nearly_the_same_differs(ours: object, kafka: object) -> None:
    assert differences(ours, kafka)


def test_what_is_the_same_does_not_differ() -> None:
    assert differences({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}) == []


def test_what_either_result_may_be_is_no_lasting_difference() -> None:
    ours = [{"errors": {"m1": "late"}, "generations": 1}, {"errors": {}, "generations": 1}]
    kafka = [{"errors": {"m2": "late"}, "generations": 2}, {"errors": {"m1": "late"}, "generations": 3}]
    assert lasting_differences(ours[:1], kafka[:1]) == differences(ours[0], kafka[0])
    assert lasting_differences(ours, kafka) == [Difference("generations", "1", "2")]


def test_an_entry_covers_its_step_place_and_values_only() -> None:
    found = [Difference("topics/0/error_code", "3", "0"), Difference("topics/0/error_message", "gone", "null")]
    entry = Expected("wire: ask*", "topics/*/error_code", "3", "*", "because")
    assert unexpected("wire: ask for it", found, [entry]) == found[1:]
    assert unexpected("java: ask for it", found, [entry]) == found
    assert unexpected("wire: ask for it", found, [entry._replace(ours="4")]) == found


def test_patterns_have_no_other_magic_than_the_star() -> None:
    assert matches("a.b[0]*", "a.b[0] and more\nlines")
    assert not matches("a.b", "axb")
    assert not matches("a", "ab")


def test_what_belongs_to_one_broker_is_replaced() -> None:
    topic_id, other = "4L6g3nShT-eMCtK--X86sw", "kIcRKZLVR0mGQgPoLSbJ3g"
    normalise = Normaliser(9092, "/data", {topic_id: "orders"})
    value = {
        "port": 9092,
        "host": "127.0.0.1:9092",
        "file": "/data/orders-0",
        "text": f"id {topic_id}",
        "topic_id": other,
    }
    assert normalise(plain(value)) == {
        "port": "<port>",
        "host": "<broker>",
        "file": "<directory>/orders-0",
        "text": "id <id of orders>",
        "topic_id": "<uuid>",
    }
    assert normalise({"port": 9093, "size": 9092}) == {"port": 9093, "size": 9092}


def test_only_lists_of_named_items_are_sorted() -> None:
    assert in_order([{"name": "b"}, {"name": "a"}]) == [{"name": "a"}, {"name": "b"}]
    assert in_order(["b", "a"]) == ["b", "a"]
    assert in_order([{"value": 2}, {"value": 1}]) == [{"value": 2}, {"value": 1}]
