"""CRC-32C of random buffers, cut and aligned at random: our two implementations against the `crc32c` package."""

from __future__ import annotations

import random

import crc32c as oracle

from kcore.record import crc

PACKAGES = ("kcore/record/crc.pyx", "kcore/record/crc.pxd", "kcore/record/crc32c.h")


def run(seed: int) -> None:
    source = random.Random(seed)
    # Most sizes are small, where tails and alignment matter; some pass the thresholds of the striped loops.
    size = source.choice([source.randrange(64), source.randrange(4096), source.randrange(1 << 17)])
    data = source.randbytes(size + 16)
    start = source.randrange(16)
    view = memoryview(data)[start : start + size]
    expected = oracle.crc32c(bytes(view))
    assert crc.checksum(view) == expected
    assert crc.software_checksum(view) == expected
    cut = source.randrange(size + 1)
    assert crc.checksum(view[cut:], crc.checksum(view[:cut])) == expected
