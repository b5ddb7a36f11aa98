"""Records of one client are read exactly by every other: key, value, headers, time and offset, in all codecs."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import APACHE_KAFKA, require
from tests.scenarios.clients import (
    AIOKAFKA,
    CONFLUENT,
    JAVA,
    KAFKA_PYTHON,
    KCLI,
    LIBRARIES,
    Java,
    ReadRow,
    Row,
    read,
    write,
)
from tests.scenarios.scene import FIRST_TIME, Scene

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# They refuse to send a record that has neither.
NEED_KEY_OR_VALUE = (KAFKA_PYTHON, AIOKAFKA)
OTHERS = (CONFLUENT, KAFKA_PYTHON, AIOKAFKA, JAVA)


@pytest.fixture(scope="module")
def java(checkout: Path) -> Iterator[Java]:
    require(APACHE_KAFKA)
    jars = subprocess.run([checkout / "bin/kafka-jars", "3.9"], stdout=subprocess.PIPE, text=True, check=True)
    found = Java(jars.stdout.strip())
    yield found
    found.close()


def rows(seed: int) -> list[Row]:
    """Records of every shape; times go back and forth, as they may."""
    chance = random.Random(seed)
    found = [
        Row(None, b"", FIRST_TIME, ()),
        Row(b"", b"empty key", FIRST_TIME - 5, ()),
        Row(b"tombstone", None, FIRST_TIME + 5, ()),
        Row(None, None, FIRST_TIME, (("only", b"a header"),)),
        Row(b"k", b"v", FIRST_TIME, (("a", b"1"), ("b", None), ("a", b""), ("schlüssel", b"\x00\xff"))),
        Row(b"big", chance.randbytes(90_000), FIRST_TIME, ()),
        Row(b"flat", bytes(200_000), FIRST_TIME, (("big", b"h" * 5_000),)),
    ]
    for number in range(150):
        key = chance.choice((None, b"", b"key-%d" % chance.randrange(9), chance.randbytes(chance.randrange(40))))
        value = chance.choice((None, b"", b"ab" * chance.randrange(300), chance.randbytes(chance.randrange(900))))
        headers = tuple((f"h{chance.randrange(3)}", chance.choice((None, b"", b"x" * 9))) for _ in range(number % 4))
        found.append(Row(key, value, FIRST_TIME + chance.randrange(-9_999, 9_999), headers))
    return found


def exchange(scene: Scene, writer: str, readers: tuple[str, ...], codec: str, java: Java) -> None:
    topic = scene.topic(message_timestamp_type="CreateTime")
    expected = rows(CODECS.index(codec))
    if writer in NEED_KEY_OR_VALUE:
        expected = [row for row in expected if row.key is not None or row.value is not None]
    if writer == KAFKA_PYTHON:
        # And this one headers without a value.
        expected = [row for row in expected if all(value is not None for _, value in row.headers)]
    write(writer, scene.servers, topic, codec, expected, java)
    for library in readers:
        found = read(library, scene.servers, topic, len(expected), java)
        assert found == [ReadRow(offset, row) for offset, row in enumerate(expected)], library


@pytest.mark.everywhere
@pytest.mark.parametrize("codec", CODECS)
def test_what_we_write_all_read(scene: Scene, codec: str, java: Java) -> None:
    exchange(scene, KCLI, LIBRARIES, codec, java)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("writer", OTHERS)
def test_what_others_write_we_read(scene: Scene, writer: str, codec: str, java: Java) -> None:
    exchange(scene, writer, (KCLI,), codec, java)
