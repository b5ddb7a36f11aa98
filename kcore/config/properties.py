"""Java's properties syntax, as java.util.Properties reads it.

    name=value   name: value   name value      the first unescaped `=`, `:` or blank ends the name
    # comment    ! comment
    \\ at the end of a line continues it; the next line's leading blanks are dropped
    \\t \\n \\r \\f \\uXXXX \\<any other character> are escapes in names and values

A file is read as UTF-8, or as Latin-1 (Java's encoding) if it is not valid UTF-8. A later value replaces an earlier one
of the same name.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BLANKS = " \t\f"
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def load_properties(path: str) -> dict[str, str]:
    """The properties of a file. Raises OSError if it cannot be read, and ValueError for a malformed \\u escape."""
    return parse_properties(load_text(path))


def load_text(path: str) -> str:
    """The text of a properties file. Raises OSError if it cannot be read."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def parse_properties(text: str) -> dict[str, str]:
    """The properties of a text. Raises ValueError for a malformed \\u escape."""
    return {name: value for _, name, value in numbered_properties(text)}


def numbered_properties(text: str) -> Iterator[tuple[int, str, str]]:
    """Yields (1-based number of the first line, name, value) per property. Raises ValueError as `parse_properties`."""
    for number, line in _logical_lines(text):
        end = _end_of_name(line)
        value = line[end:].lstrip(BLANKS)
        if value[:1] in ("=", ":"):
            value = value[1:].lstrip(BLANKS)
        yield number, _unescape(line[:end]), _unescape(value)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Joins continuation lines and skips comments and blank lines. Yields (number of the first line, line)."""
    pending: str | None = None
    first = 0
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        content = line.lstrip(BLANKS)
        if pending is None:
            if not content or content[0] in "#!":
                continue
            pending, first = "", number
        pending += content
        trailing = len(content) - len(content.rstrip("\\"))
        if trailing % 2 == 1:
            pending = pending[:-1]
            continue
        yield first, pending
        pending = None
    if pending:
        yield first, pending


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
