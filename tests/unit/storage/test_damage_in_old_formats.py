"""Damage in a log of magic 0 and 1: what follows it soundly is found, saved and named, and nothing else is.

The segments are Apache Kafka 2.8's. An old message has no length of its own to be trusted and starts anywhere, so that
what looks like one is believed only with its checksum.
"""

from __future__ import annotations

import struct

import pytest

from tests.unit.storage.log_place import LogPlace, file_name
from tests.vectors.kafka.make import HERE

MESSAGE_OVERHEAD = 12
SEGMENTS = ["v0-0", "v1-0", "v1-append-time-0", "upgraded-0"]


def entries(content: bytes) -> list[tuple[int, int, int]]:
    """Position, offset and end of each message, as an offset and a size before each say."""
    found, position = [], 0
    while position < len(content):
        offset, size = struct.unpack_from(">qi", content, position)
        found.append((position, offset, position + MESSAGE_OVERHEAD + size))
        position = found[-1][2]
    return found


def segment(name: str) -> bytes:
    return (HERE / "2.8" / name / file_name(0)).read_bytes()


@pytest.mark.parametrize("name", SEGMENTS)
def test_sound_messages_behind_damage_are_saved_and_named(
    place: LogPlace, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    content = segment(name)
    messages = entries(content)
    place.disk.mkdirs(place.directory)
    for damaged, (position, offset, end) in enumerate(messages[:-1]):
        for saved in place.names(".corrupt"):
            place.disk.unlink(place.path(saved))
        place.write_file(file_name(0), content[: end - 1] + bytes([content[end - 1] ^ 1]) + content[end:])
        log = place.open()
        assert log.end_offset == (messages[damaged - 1][1] + 1 if damaged else 0)
        assert log.size_bytes == position
        told = capsys.readouterr().err
        assert f"Valid batches from offset {messages[damaged + 1][1]} on" in told, offset
        (saved,) = place.names(".corrupt")
        assert place.read_file(saved)[end - position :] == content[end:]
        del log
        place.let_go()


@pytest.mark.parametrize("name", SEGMENTS)
@pytest.mark.parametrize("tail", ["nothing", "zeros", "half a message", "damaged messages"])
def test_what_is_not_sound_behind_damage_is_not_saved(
    place: LogPlace, capsys: pytest.CaptureFixture[str], name: str, tail: str
) -> None:
    content = segment(name)
    _, (position, offset, end), (_, _, next_end), *_ = entries(content)
    damaged = content[position : end - 1] + bytes([content[end - 1] ^ 1])
    following = {
        "nothing": b"",
        # Zeros are what a loss of power leaves, and make a message of size 0 at every byte.
        "zeros": bytes(4096),
        "half a message": content[end : next_end - 1],
        "damaged messages": damaged * 3,
    }
    place.disk.mkdirs(place.directory)
    place.write_file(file_name(0), content[:position] + damaged + following[tail])
    log = place.open()
    assert (log.end_offset, log.size_bytes) == (offset, position)
    assert place.names(".corrupt") == []
    assert "Valid batches" not in capsys.readouterr().err
    assert place.read_file(file_name(0)) == content[:position]
