"""The broker imports kcore.record at its start: nothing slow may come along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = [
    "asyncio",
    "collections",
    "cramjam",
    "dataclasses",
    "inspect",
    "logging",
    "lz4",
    "numpy",
    "typing",
    "zstandard",
]
MODULES = "batch, compression, crc, decoder, encoder, validator"


def test_nothing_heavy_comes_along(checkout: Path) -> None:
    # Typed memoryviews, for one, make Cython import collections.abc. -S: what `site` brings is not ours.
    code = f"import sys; sys.path.insert(0, {str(checkout)!r}); from kcore.record import {MODULES}; "
    code += f"print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []
