"""Kafka's uuid texts, against the standard library's base64 and ids as Kafka prints them."""

from __future__ import annotations

import base64
import os

import pytest

from kcore import uuid


def test_text_is_url_safe_base64_without_padding() -> None:
    for raw in [
        uuid.ZERO,
        uuid.METADATA_TOPIC,
        b"\xff" * 16,
        b"\xfb\xef\xbe" * 5 + b"\x00",
        *(os.urandom(16) for _ in range(50)),
    ]:
        text = uuid.to_text(raw)
        assert text == base64.urlsafe_b64encode(raw).decode().rstrip("=")
        assert uuid.from_text(text) == uuid.from_text(text + "==") == raw
    assert uuid.to_text(uuid.ZERO) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert uuid.to_text(uuid.METADATA_TOPIC) == "AAAAAAAAAAAAAAAAAAAAAQ"


def test_random_ids_are_version_4_and_may_be_given_on_a_command_line() -> None:
    made = {uuid.random_uuid() for _ in range(2000)}
    assert len(made) == 2000
    assert all(raw[6] >> 4 == 4 and raw[8] >> 6 == 2 for raw in made)
    assert not any(uuid.to_text(raw).startswith("-") for raw in made)


def test_an_id_that_begins_with_a_dash_is_never_made(monkeypatch: pytest.MonkeyPatch) -> None:
    dashed = b"\xfb" + bytes(15)
    answers = iter([dashed, b"\x01" * 16])
    monkeypatch.setattr(os, "urandom", lambda size: next(answers))
    assert uuid.to_text(uuid.random_uuid()).startswith("AQ")


@pytest.mark.parametrize("text", ["", "A", "AAAAAAAAAAAAAAAAAAAAA", "A" * 23, "+" * 22, "A" * 21 + "é", "A" * 21 + " "])
def test_what_is_no_uuid_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is not a uuid"):
        uuid.from_text(text)


@pytest.mark.parametrize("raw", [b"", b"x" * 15, b"x" * 17])
def test_only_16_bytes_have_a_text(raw: bytes) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        uuid.to_text(raw)
