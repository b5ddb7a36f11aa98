"""Races of administration, half a minute a seed: all pairs of APIs that change something (tests/stress)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.stress.administration.run import race_administration
from tests.stress.broker import Build

PACKAGES = (
    "kcore/config",
    "kcore/controller",
    "kcore/coordinator",
    "kcore/metadata",
    "kcore/replication",
    "kcore/server",
    "kcore/storage",
    "tests/stress",
)
SECONDS = 25.0


def run(seed: int) -> int:
    """A case is a request that was answered as it may be."""
    with tempfile.TemporaryDirectory(prefix="kcli-admin-races-") as directory:
        return race_administration(Path(directory), seed, SECONDS, Build())["requests"]
