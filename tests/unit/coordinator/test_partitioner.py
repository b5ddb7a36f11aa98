"""A group's partition of `__consumer_offsets` is the one that Java's `String.hashCode` says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcore.coordinator.group.partitioner import java_hash_code, partition_for


# As java.lang.String gives them; the third hashes to the smallest integer, whose absolute value there is none of.
@pytest.mark.parametrize(
    ("text", "code"),
    [("", 0), ("hello", 99162322), ("polygenelubricants", -(2**31)), ("\U0001f600", 1772899), ("é", 233)],
)
def test_hash_codes_are_those_of_java(text: str, code: int) -> None:
    assert java_hash_code(text) == code


@given(st.text(st.characters(), max_size=200))
def test_hash_runs_over_utf_16_code_units(text: str) -> None:
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for position in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[position : position + 2], "big")) % 2**32
    assert java_hash_code(text) % 2**32 == value
    assert -(2**31) <= java_hash_code(text) < 2**31


@given(st.text(), st.integers(1, 2**31 - 1))
def test_partition_is_one_that_there_is(group_id: str, count: int) -> None:
    code = java_hash_code(group_id)
    assert partition_for(group_id, count) == (0 if code == -(2**31) else abs(code)) % count
    assert partition_for("polygenelubricants", count) == 0
