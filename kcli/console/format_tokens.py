r"""`-f` formats: text with tokens, as in kcat, as the parts of a RecordText.

    %t topic  %p partition  %o offset  %T timestamp in ms  %h headers, name=value,name=value
    %k key    %K its size   %s value   %S its size (-1 for null)   %R its size as four bytes, big endian   %% a percent
    \n \r \t \\ \0 and \xHH

Nothing is added: a format for lines must end with \n.
"""

from __future__ import annotations

from kcli.failures import UsageFailure

TOKENS = {
    "t": "topic",
    "p": "partition",
    "o": "offset",
    "T": "timestamp",
    "h": "headers",
    "k": "key",
    "K": "key_size",
    "s": "value",
    "S": "value_size",
    "R": "value_size_int32",
}
HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
ESCAPES = {"n": b"\n", "r": b"\r", "t": b"\t", "0": b"\0", "\\": b"\\"}


def parse_format(text: str) -> list[bytes | str]:
    """The parts: literals as bytes, fields by name. Raises UsageFailure for an unknown token."""
    parts: list[bytes | str] = []
    literal = bytearray()
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character == "\\":
            piece, position = _escape(text, position)
            literal += piece
        elif character != "%":
            literal += character.encode("utf-8", "surrogateescape")
        elif text[position : position + 1] == "%":
            literal += b"%"
            position += 1
        else:
            if literal:
                parts.append(bytes(literal))
                literal.clear()
            parts.append(_field(text[position : position + 1]))
            position += 1
    if literal:
        parts.append(bytes(literal))
    return parts


def _field(letter: str) -> str:
    if letter not in TOKENS:
        known = ", ".join(f"%{token} {name}" for token, name in TOKENS.items())
        raise UsageFailure(f"-f: unknown token %{letter}. Valid tokens: {known}, and %% for a percent sign")
    return TOKENS[letter]


def _escape(text: str, position: int) -> tuple[bytes, int]:
    letter = text[position : position + 1]
    if letter == "x":
        digits = text[position + 1 : position + 3]
        if len(digits) != 2 or not set(digits) <= HEXADECIMAL:
            raise UsageFailure(f"-f: \\x{digits}: \\x must be followed by two hexadecimal digits")
        return bytes.fromhex(digits), position + 3
    if letter not in ESCAPES:
        raise UsageFailure(f"-f: unknown escape \\{letter}. Valid escapes: \\n, \\r, \\t, \\0, \\\\ and \\xHH")
    return ESCAPES[letter], position + 1
