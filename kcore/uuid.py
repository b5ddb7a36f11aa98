"""Kafka's uuids: 16 bytes, written as 22 characters of url-safe base64 without padding (Kafka's `Uuid` class).

Two ids are reserved: zero means "none", and one is the metadata topic of KRaft. `random_uuid` also avoids ids whose
text begins with a dash, because command lines would take them for options.
"""

from __future__ import annotations

import binascii
import os

SIZE = 16
ZERO = bytes(SIZE)
METADATA_TOPIC = bytes(SIZE - 1) + b"\x01"

_TEXT_LENGTH = 22
_SHOWN_LENGTH = 80
_TO_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_FROM_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def random_uuid() -> bytes:
    """A random id of RFC 4122 version 4. Its version bits distinguish it from the two reserved ids."""
    while True:
        raw = bytearray(os.urandom(SIZE))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        uuid = bytes(raw)
        if not to_text(uuid).startswith("-"):
            return uuid


def to_text(uuid: bytes) -> str:
    """The text of an id; `AAAAAAAAAAAAAAAAAAAAAA` for the zero id."""
    if len(uuid) != SIZE:
        raise ValueError(f"a uuid has {SIZE} bytes, not {len(uuid)}")
    return binascii.b2a_base64(uuid, newline=False)[:_TEXT_LENGTH].translate(_TO_URL_SAFE).decode()


def from_text(text: str) -> bytes:
    """Parses an id, with or without padding. Raises ValueError."""
    try:
        raw = text.rstrip("=").encode("ascii")
        if len(raw) != _TEXT_LENGTH or b"+" in raw or b"/" in raw:
            raise ValueError
        return binascii.a2b_base64(raw.translate(_FROM_URL_SAFE) + b"==", strict_mode=True)
    except ValueError:
        raise ValueError(
            f"{text[:_SHOWN_LENGTH]!r} is not a uuid: 22 characters of url-safe base64 are expected"
        ) from None
