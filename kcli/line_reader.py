"""Lines of a stream as records, as kafka-console-producer reads them (LineMessageReader).

    [headers <headers.delimiter>] [key <key.separator>] value
    headers: name <headers.key.separator> value, one after another with <headers.separator> between

Bytes are taken as they are. A line ends with a line feed, which a carriage return may precede; the last one need not
end at all. A part that equals `null.marker` is null.
"""

from __future__ import annotations

import os
import select
import sys
from typing import NamedTuple

from kcli.failures import UsageFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

READ_BYTES = 65_536
READER_PROPERTIES = (
    "parse.key",
    "parse.headers",
    "key.separator",
    "headers.delimiter",
    "headers.separator",
    "headers.key.separator",
    "null.marker",
    "ignore.error",
)


class Line(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


class LineReader:
    def __init__(self, properties: dict[str, str]) -> None:
        unknown = [name for name in properties if name not in READER_PROPERTIES]
        if unknown:
            raise UsageFailure(f"--property {unknown[0]}: must be one of {', '.join(READER_PROPERTIES)}")
        self._parse_key = properties.get("parse.key", "false").lower() == "true"
        self._parse_headers = properties.get("parse.headers", "false").lower() == "true"
        self._key_separator = _separator(properties, "key.separator", "\t")
        self._headers_delimiter = _separator(properties, "headers.delimiter", "\t")
        self._headers_separator = _separator(properties, "headers.separator", ",")
        self._headers_key_separator = _separator(properties, "headers.key.separator", ":")
        self._null_marker = properties["null.marker"].encode() if "null.marker" in properties else None
        self._ignore_error = properties.get("ignore.error", "false").lower() == "true"

    def parse(self, line: bytes, number: int) -> Line:
        """UsageFailure for a line that lacks a separator, unless errors are to be ignored."""
        headers: list[tuple[str, bytes | None]] = []
        key: bytes | None = None
        rest = line
        if self._parse_headers:
            head, rest = self._split(rest, self._headers_delimiter, "headers delimiter", number)
            headers = self._headers(head, number) if head else []
        if self._parse_key:
            key, rest = self._split(rest, self._key_separator, "key separator", number)
        return Line(self._or_null(key), self._or_null(rest), headers)

    def _split(self, text: bytes, separator: bytes, what: str, number: int) -> tuple[bytes | None, bytes]:
        head, found, rest = text.partition(separator)
        if found:
            return head, rest
        if self._ignore_error:
            return None, text
        shown = text[:80].decode("utf-8", "replace")
        raise UsageFailure(
            f"no {what} {separator.decode()!r} in line {number}: {shown!r}; set ignore.error=true to go on"
        )

    def _headers(self, text: bytes, number: int) -> list[tuple[str, bytes | None]]:
        if text == self._null_marker:
            return []
        headers = []
        for pair in text.split(self._headers_separator):
            name, value = self._split(pair, self._headers_key_separator, "header key separator", number)
            if name is not None:
                headers.append((name.decode("utf-8", "surrogateescape"), self._or_null(value)))
        return headers

    def _or_null(self, part: bytes | None) -> bytes | None:
        return None if part == self._null_marker else part


def _separator(properties: dict[str, str], name: str, default: str) -> bytes:
    separator = properties.get(name, default).encode()
    if not separator:
        raise UsageFailure(f"{name}: must not be empty")
    return separator


def read_lines(descriptor: int, prompt: str = "") -> Iterator[tuple[list[bytes], bool]]:
    """Whole lines as they come, with whether more is there already; the last one may lack its end."""
    rest = b""
    while True:
        if prompt and not rest:
            sys.stderr.write(prompt)
            sys.stderr.flush()
        piece = os.read(descriptor, READ_BYTES)
        if not piece:
            break
        *lines, rest = (rest + piece).split(b"\n")
        if lines:
            yield [line.removesuffix(b"\r") for line in lines], _has_more(descriptor)
    if rest:
        yield [rest], False


def _has_more(descriptor: int) -> bool:
    try:
        return bool(select.select([descriptor], [], [], 0)[0])
    except (OSError, ValueError):
        # Not every stream can be watched; a regular file can always be read on.
        return True
