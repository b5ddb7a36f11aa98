"""Java's properties syntax; the expected values are those that java.util.Properties gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcore.config.properties import load_properties, numbered_properties, parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\nb = 2\nc:3\nd 4\ne\t5", {"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}),
        ("# comment\n! another\n\n   # indented\nkey=value", {"key": "value"}),
        ("key=a#b!c", {"key": "a#b!c"}),
        ("key=one,\\\n    two,\\\n\tthree", {"key": "one,two,three"}),
        ("key=ends\\\\\nnext=1", {"key": "ends\\", "next": "1"}),
        ("key=unfinished\\", {"key": "unfinished"}),
        ("a\\ b\\=c\\:d=1", {"a b=c:d": "1"}),
        ("key=tab\\there\\nline\\u0041\\q", {"key": "tab\there\nlineAq"}),
        ("key=   leading and trailing   ", {"key": "leading and trailing   "}),
        ("key = = value", {"key": "= value"}),
        ("empty=\nalone", {"empty": "", "alone": ""}),
        ("key=first\nkey=second", {"key": "second"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("# comment \\\nkey=1", {"key": "1"}),
        ("key=a\\\n# not a comment", {"key": "a# not a comment"}),
        ("key=a\\\n\nnext=b", {"key": "a", "next": "b"}),
        ("", {}),
    ],
)
def test_parsing(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


@pytest.mark.parametrize("text", ["key=\\u12", "key=\\u12g4", "key=\\u"])
def test_a_malformed_unicode_escape_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Malformed"):
        parse_properties(text)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_file_may_be_utf8_or_latin1(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "server.properties"
    path.write_bytes("log.dirs=/data/Müll\n".encode(encoding))
    assert load_properties(str(path)) == {"log.dirs": "/data/Müll"}


def test_properties_are_numbered_by_their_first_line() -> None:
    text = "a=1\r\n# comment\n\nb = 2\\\n   3\nc\n"
    assert list(numbered_properties(text)) == [(1, "a", "1"), (4, "b", "23"), (6, "c", "")]
