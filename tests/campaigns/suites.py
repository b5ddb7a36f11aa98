"""The suites of tests/plan/suites.py in full, one suite a seed; a case is a test that passed.

The ledger has the digests of what each was made of. While they stay the same, CI plays that suite in its small size.
"""

from __future__ import annotations

from tests.campaigns.recorded_tests import Passed, play_recorded
from tests.plan.suites import SUITES

PACKAGES = ("kcore", "kcli", "kspark")
COMMAND = ("bin/test", "--suites", "full", "-n", "auto", "--maxprocesses", "4", "--dist", "loadfile")

_passed: Passed = {}


def run(seed: int) -> int:
    suite = SUITES[seed % len(SUITES)]
    return play_recorded(suite.name, suite.files(), [*COMMAND, *suite.paths], _passed)


def figures() -> dict[str, object]:
    found: dict[str, object] = {"passed": dict(_passed)}
    _passed.clear()
    return found
