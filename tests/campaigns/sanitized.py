"""The tests of native code on the sanitizer build, one directory a seed; a case is a test that passed.

The ledger has the digests of what each was made of. While they stay the same, CI leaves that directory out.
"""

from __future__ import annotations

from tests.campaigns.recorded_tests import Passed, play_recorded
from tests.plan.sanitized import directories, files_of

PACKAGES = ("kcore",)
COMMAND = (
    *("bin/test-sanitized", "-n", "auto", "--maxprocesses", "4", "--dist", "loadfile", "--max-worker-restart", "0"),
    *("-m", "not release_build"),
)

_passed: Passed = {}


def run(seed: int) -> int:
    there = directories()
    directory = there[seed % len(there)]
    return play_recorded(directory, files_of(directory), [*COMMAND, directory], _passed)


def figures() -> dict[str, object]:
    found: dict[str, object] = {"passed": dict(_passed)}
    _passed.clear()
    return found
