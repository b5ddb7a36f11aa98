"""Mutated Produce, Fetch and Heartbeat requests to the native path and the Python path, which must agree."""

from __future__ import annotations

from tests.fuzz.requests.broker import Build
from tests.fuzz.requests.session import run_seed

PACKAGES = (
    "kcore/network",
    "kcore/protocol",
    "kcore/record",
    "kcore/replication",
    "kcore/server",
    "kcore/storage",
    "tests/fuzz/requests",
)
BOTH = Build(both_paths=True)
SEEDS_OF_A_BROKER = 16


def run(seed: int) -> int:
    """A case is a request that both brokers got."""
    return run_seed(BOTH, seed, is_last=seed % SEEDS_OF_A_BROKER == SEEDS_OF_A_BROKER - 1)
