"""The table of wire errors against kio's, against the native codes, and against every use in the source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode

from kcore import errors

ROOT = Path(__file__).resolve().parents[2]
ROWS = {code: (name, retriable) for code, name, retriable, _ in errors.TABLE}


@pytest.mark.parametrize("expected", list(ErrorCode), ids=lambda code: code.name)
def test_every_code_agrees_with_kio(expected: ErrorCode) -> None:
    assert ROWS[int(expected)] == (expected.name.upper(), expected.retriable)


def test_codes_and_names_are_unique_and_without_gaps() -> None:
    assert [code for code, *_ in errors.TABLE] == list(range(-1, len(errors.TABLE) - 1))
    assert len({name for _, name, *_ in errors.TABLE}) == len(errors.TABLE)


def test_native_codes_are_the_same_table() -> None:
    text = (ROOT / "kcore/errors.pxd").read_text()
    native = {name: int(code) for name, code in re.findall(r"^    ([A-Z_]+) = (-?\d+)$", text, re.MULTILINE)}
    assert native == {name: code for code, name, *_ in errors.TABLE}


def test_a_raised_error_carries_its_row() -> None:
    with pytest.raises(errors.UnknownTopicOrPartitionError) as raised:
        raise errors.by_code(3)("topic flights is not here")
    assert (raised.value.code, raised.value.name, raised.value.retriable) == (3, "UNKNOWN_TOPIC_OR_PARTITION", True)
    assert raised.value.message == "topic flights is not here"
    assert errors.InvalidRequestError().message == errors.InvalidRequestError.description
    assert issubclass(errors.NetworkError, errors.KafkaError)


def test_an_unknown_code_is_an_unknown_server_error() -> None:
    assert errors.by_code(9999) is errors.by_code(-1) is errors.UnknownServerError
    assert errors.name_of(9999) == "UNKNOWN_CODE_9999"
    assert errors.name_of(0) == "NONE"
    with pytest.raises(ValueError, match="no error"):
        errors.by_code(0)


def test_every_error_class_that_the_source_names_exists() -> None:
    """The classes are made on demand, so no type checker sees a misspelt one."""
    used = set()
    for package in ("kcore", "kcli"):
        for source in (ROOT / package).rglob("*.py*"):
            text = source.read_text() if source.suffix in (".py", ".pyx") else ""
            if re.search(r"^\s*from kcore import .*\berrors\b", text, re.MULTILINE):
                used |= set(re.findall(r"\berrors\.([A-Z]\w*Error)\b", text))
    missing = sorted(name for name in used if not hasattr(errors, name))
    assert not missing
