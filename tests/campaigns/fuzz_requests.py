"""Mutated requests to a running broker (tests/fuzz/requests), in turn on four builds; the figures are by build.

A case is a request that was sent. Every fourth group of seeds is of the sanitizer build.
"""

from __future__ import annotations

from tests.fuzz.requests.broker import Build
from tests.fuzz.requests.session import run_seed

PACKAGES = ("kcore", "kcli/server_process.py", "tests/fuzz/requests")
BUILDS = (
    *(Build(), Build(native=False), Build(), Build(native=False), Build(), Build(native=False)),
    *(Build(sanitized=True), Build(sanitized=True, native=False)),
)
# Seeds that one broker lives through: what leaks over seeds is seen, and a build is not started for each.
SEEDS_OF_A_BROKER = 16
COUNTS: dict[str, object] = {}


def run(seed: int) -> int:
    chosen = BUILDS[seed // SEEDS_OF_A_BROKER % len(BUILDS)]
    sent = run_seed(chosen, seed, is_last=seed % SEEDS_OF_A_BROKER == SEEDS_OF_A_BROKER - 1)
    before = COUNTS.get(chosen.name, 0)
    assert isinstance(before, int)
    COUNTS[chosen.name] = before + sent
    return sent


def figures() -> dict[str, object]:
    """Requests of this line by build."""
    counted = dict(COUNTS)
    COUNTS.clear()
    return counted
