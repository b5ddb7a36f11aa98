"""Lines to records, as LineMessageReader reads them, and lines out of a stream."""

from __future__ import annotations

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.console.input_lines import READ_BYTES, read_lines
from kcli.console.line_reader import LineReader
from kcli.failures import UsageFailure

ALL = {"parse.key": "true", "parse.headers": "true", "null.marker": "NULL"}


def rows(properties: dict[str, str], *lines: bytes) -> list[tuple[object, object, object]]:
    """Headers, key and value of each line."""
    batch = LineReader(properties).read(list(lines), 1)
    assert batch.failure is None
    nothing = [None] * len(batch.values)
    headers = nothing if batch.headers is None else [list(each) for each in batch.headers]
    return list(zip(headers, batch.keys or nothing, batch.values, strict=True))


def failure(properties: dict[str, str], *lines: bytes) -> str:
    batch = LineReader(properties).read(list(lines), 7)
    assert batch.failure is not None
    assert batch.last_line == 6 + len(batch.values), "what stands before it is sent"
    return str(batch.failure)


def test_a_line_is_a_value() -> None:
    assert rows({}, b"a\tb", b"", b"\xff") == [(None, None, b"a\tb"), (None, None, b""), (None, None, b"\xff")]


def test_all_parts() -> None:
    assert rows(ALL, b"a:1,b:NULL,a:\tkey\tvalue") == [([(b"a", b"1"), (b"b", None), (b"a", b"")], b"key", b"value")]
    assert rows(ALL, b"NULL\tNULL\tNULL", b"\t\t") == [([], None, None), ([], b"", b"")]
    assert rows(ALL, b"a:b:c\tk\tv\tw") == [([(b"a", b"b:c")], b"k", b"v\tw")], "a separator counts once"


def test_separators_of_more_than_one_character() -> None:
    own = {
        **ALL,
        "key.separator": "->",
        "headers.delimiter": "||",
        "headers.separator": ";;",
        "headers.key.separator": "==",
    }
    assert rows(own, b"a==1;;b==2||k->v->w") == [([(b"a", b"1"), (b"b", b"2")], b"k", b"v->w")]


def test_a_separator_that_is_missing() -> None:
    assert failure({"parse.key": "true"}, b"k\tv", b"none") == (
        "line 8: no key separator '\\t' in 'none'. Set ignore.error=true to accept this"
    )
    assert failure(ALL, b"none").startswith("line 7: no headers delimiter '\\t' in")
    assert failure(ALL, b"a\tk\tv").startswith("line 7: no header key separator ':' in 'a'")
    assert failure(ALL, b"NULL:1\tk\tv").startswith("line 7: a header name equals null.marker")


def test_errors_may_be_ignored() -> None:
    lenient = {**ALL, "ignore.error": "TRUE "}
    assert rows(lenient, b"none", b"a\tk\tv") == [([], None, b"none"), ([(b"a", None)], b"k", b"v")]
    assert rows({"parse.key": "true", "ignore.error": "true"}, b"none") == [(None, None, b"none")]


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"key.separator": ""}, "key.separator: must not be empty"),
        ({"headers.delimiter": ","}, "headers.delimiter and headers.separator: must not be equal"),
        ({"headers.separator": ":"}, "headers.separator and headers.key.separator: must not be equal"),
        ({"null.marker": "\t"}, "null.marker and key.separator: must not be equal"),
        ({"parse.keys": "true"}, "--property parse.keys: unknown property. Valid properties: parse.key, "),
    ],
)
def test_properties_that_make_no_sense(properties: dict[str, str], message: str) -> None:
    with pytest.raises(UsageFailure) as raised:
        LineReader(properties)
    assert str(raised.value).startswith(message)


@given(
    lines=st.lists(
        st.binary(max_size=20).filter(lambda line: b"\n" not in line and not line.endswith(b"\r")), max_size=6
    ),
    ends=st.sampled_from([b"\n", b"\r\n"]),
    is_ended=st.booleans(),
)
def test_lines_come_as_they_are_and_the_last_one_needs_no_end(lines: list[bytes], ends: bytes, is_ended: bool) -> None:
    text = ends.join(lines) + (ends if is_ended and lines else b"")
    expected = lines if is_ended or (lines and lines[-1]) else lines[:-1]
    source, target = os.pipe()
    os.write(target, text)
    os.close(target)
    try:
        assert [line for piece in read_lines(source) for line in piece] == expected
    finally:
        os.close(source)


def test_a_line_of_many_reads() -> None:
    line = b"x" * (3 * READ_BYTES + 17)
    source, target = os.pipe()

    def write() -> None:
        with os.fdopen(target, "wb") as file:
            file.write(b"first\n" + line + b"\nlast")

    writer = threading.Thread(target=write)
    writer.start()
    assert [each for piece in read_lines(source) for each in piece] == [b"first", line, b"last"]
    writer.join()
    os.close(source)
