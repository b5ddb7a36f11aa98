"""Java's properties syntax, as java.util.Properties reads it.

    name=value   name: value   name value      the first unescaped `=`, `:` or blank ends the name
    # comment    ! comment
    \\ at the end of a line continues it; the next line's leading blanks are dropped
    \\t \\n \\r \\f \\uXXXX \\<any other character> are escapes in names and values

A file is read as UTF-8, and as Latin-1 (Java's own choice) where it is not valid UTF-8. A later value replaces an
earlier one of the same name.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BLANKS = " \t\f"
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def load_properties(path: str) -> dict[str, str]:
    """The properties of a file; OSError when it cannot be read."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return parse_properties(text)


def parse_properties(text: str) -> dict[str, str]:
    """The properties of a text; ValueError on a malformed \\u escape."""
    properties: dict[str, str] = {}
    for line in _logical_lines(text):
        end = _end_of_name(line)
        value = line[end:].lstrip(BLANKS)
        if value[:1] in ("=", ":"):
            value = value[1:].lstrip(BLANKS)
        properties[_unescape(line[:end])] = _unescape(value)
    return properties


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and blank ones, continuations joined."""
    pending: str | None = None
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        content = line.lstrip(BLANKS)
        if pending is None:
            if not content or content[0] in "#!":
                continue
            pending = ""
        pending += content
        trailing = len(content) - len(content.rstrip("\\"))
        if trailing % 2 == 1:
            pending = pending[:-1]
            continue
        yield pending
        pending = None
    if pending:
        yield pending


def _end_of_name(line: str) -> int:
    position = 0
    while position < len(line):
        character = line[position]
        if character == "\\":
            position += 2
            continue
        if character in "=:" or character in BLANKS:
            return position
        position += 1
    return len(line)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    parts: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character != "\\" or position == len(text):
            parts.append(character)
            continue
        escaped = text[position]
        position += 1
        if escaped == "u":
            digits = text[position : position + 4]
            if len(digits) < 4 or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
                raise ValueError(f"Malformed \\uxxxx encoding: \\u{digits}")
            parts.append(chr(int(digits, 16)))
            position += 4
        else:
            parts.append(ESCAPES.get(escaped, escaped))
    return "".join(parts)
