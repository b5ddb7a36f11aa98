"""From a finding to the shortest list of requests that still shows it, each list on a broker of its own."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.requests.arena import arena
from tests.fuzz.requests.broker import Build
from tests.fuzz.requests.findings import Finding, described
from tests.fuzz.requests.source import Request

MOST_TRIES = 24
MOST_SHOWN = 5


def found_with(build: Build, seed: int, indexes: Sequence[int]) -> Finding | None:
    """What these requests of a seed show on a new broker."""
    with arena(build) as runner:
        try:
            runner.run(seed, only=indexes)
        except Finding as finding:
            return finding
    return None


def shrunk(build: Build, seed: int, finding: Finding) -> Finding:
    """The finding with as few suspects as a bounded number of tries leaves; the first suspect is tried alone."""
    tries = 1
    if (smaller := narrowed(build, seed, finding.suspects[:1])) is not None:
        return smaller
    pieces = 2
    while len(finding.suspects) > 1 and tries < MOST_TRIES:
        size = -(-len(finding.suspects) // pieces)
        for first in range(0, len(finding.suspects), size):
            tries += 1
            smaller = narrowed(build, seed, finding.suspects[first : first + size])
            if smaller is not None:
                finding, pieces = smaller, 2
                break
        else:
            if pieces >= len(finding.suspects):
                break
            pieces = min(len(finding.suspects), pieces * 2)
    return finding


def narrowed(build: Build, seed: int, suspects: Sequence[Request]) -> Finding | None:
    """The finding of fewer suspects, or None where they show nothing alone."""
    smaller = found_with(build, seed, [request.index for request in suspects]) if suspects else None
    if smaller is not None:
        blamed = {request.index for request in smaller.suspects}
        smaller.suspects = [request for request in suspects if request.index in blamed] or list(suspects)
    return smaller


def report(build: Build, seed: int, finding: Finding) -> str:
    """What was found, by which requests, and the command that plays them again."""
    indexes = [str(request.index) for request in finding.suspects]
    only = ["--only", *indexes] if 0 < len(indexes) <= MOST_SHOWN else []
    command = ["python -m tests.fuzz.requests", "--seed", str(seed), *build.options, *only]
    return "\n".join(
        (
            f"finding of seed {seed} ({build.name}): {finding.what}",
            *(described(request) for request in finding.suspects[:MOST_SHOWN]),
            f"again: {' '.join(command)}",
        )
    )
