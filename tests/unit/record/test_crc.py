"""CRC-32C against the `crc32c` package and RFC 3720's examples, in hardware and by tables."""

from __future__ import annotations

import random
from collections.abc import Callable

import crc32c as oracle
import pytest

from kcore.record import crc

# RFC 3720, B.4.
EXAMPLES = [
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (bytes(reversed(range(32))), 0x113FDB5C),
    (b"123456789", 0xE3069283),
    (b"", 0),
]
# Around the least and the largest lane of the three-lane loop (8 and 512 words of 8 bytes), and its joins.
SIZES = [*range(260), 1023, 1024, 4095, 12287, 12288, 12289, 12480, 16384, 24576, 40001, 100_003]


@pytest.mark.parametrize("function", [crc.checksum, crc.software_checksum])
@pytest.mark.parametrize(("data", "expected"), EXAMPLES)
def test_examples_of_the_rfc(function: Callable[..., int], data: bytes, expected: int) -> None:
    assert function(data) == expected


@pytest.mark.parametrize("function", [crc.checksum, crc.software_checksum])
def test_every_size_and_alignment_agrees_with_the_oracle(function: Callable[..., int]) -> None:
    data = random.Random(1).randbytes(max(SIZES) + 8)
    view = memoryview(data)
    for size in SIZES:
        for start in (0, 1, 7):
            part = view[start : start + size]
            assert function(part) == oracle.crc32c(bytes(part)), (size, start)


@pytest.mark.parametrize("function", [crc.checksum, crc.software_checksum])
def test_a_checksum_can_be_continued_anywhere(function: Callable[..., int]) -> None:
    data = random.Random(2).randbytes(5000)
    whole = oracle.crc32c(data)
    for split in range(0, len(data), 97):
        assert function(data[split:], function(data[:split])) == whole


def test_only_contiguous_bytes_are_taken() -> None:
    with pytest.raises((ValueError, BufferError)):
        crc.checksum(memoryview(bytes(10))[::2])
    with pytest.raises(TypeError):
        crc.checksum("text")  # type: ignore[arg-type]
