"""The data plane under stress, a minute a seed: fifty connections, their content judged (tests/stress)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.stress.broker import Build
from tests.stress.run import stress

PACKAGES = (
    "kcore/network",
    "kcore/platform",
    "kcore/purgatory",
    "kcore/quota",
    "kcore/record",
    "kcore/replication",
    "kcore/server",
    "kcore/storage",
    "tests/stress",
)
SECONDS = 55.0


def run(seed: int) -> int:
    """A case is a batch that was acknowledged and found where it was said to be."""
    with tempfile.TemporaryDirectory(prefix="kcli-stress-") as directory:
        return stress(Path(directory), seed, SECONDS, Build())["batches acknowledged"]
