"""`python -m tests.plan.sanitized [changed|full]`: prints the directories whose tests the sanitizer build must run.

A directory is due when native code that its tests reach, or its tests themselves, changed since its last recorded clean
run, or when that is not known. `bin/campaign sanitized` runs one directory a seed and records the result. Which is due
and why goes to stderr.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.plan.closure import NATIVE_SUFFIXES
from tests.plan.recorded import ROOT, State, state_of
from tests.plan.suites import sources

CAMPAIGN = "sanitized"
ALWAYS = ("setup.py", "bin/sanitized", "bin/test-sanitized", "tests/instrumented_build.py")
FUZZ = "tests/fuzz"


def directories() -> list[str]:
    """The unit tests of every package that has native code, and the fuzzers."""
    packages = sorted(path for path in (ROOT / "tests" / "unit").iterdir() if path.is_dir())
    native = [path for path in packages if any((ROOT / "kcore" / path.name).rglob("*.pyx"))]
    return [*(str(path.relative_to(ROOT)) for path in native), FUZZ]


def files_of(directory: str) -> set[Path]:
    """The native code that its tests reach, its tests, and what makes the build."""
    # The fixtures of tests/conftest.py start brokers and Java: most tests use none of them, and name what they run.
    leaves = [ROOT / "tests" / "conftest.py"]
    found = sources().closure([ROOT / directory], leaves)
    own = ROOT / directory
    return {
        *(file for file in found if file.suffix in NATIVE_SUFFIXES or file.is_relative_to(own)),
        *(ROOT / name for name in ALWAYS),
    }


def state(directory: str) -> State:
    return state_of(directory, files_of(directory), CAMPAIGN)


def main() -> int:
    full = sys.argv[1:] == ["full"]
    for directory in directories():
        found = State(True, "all were asked for") if full else state(directory)
        print(f"sanitizers, {directory}: {'tested' if found.is_due else 'left out'} ({found.reason})", file=sys.stderr)
        if found.is_due:
            print(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
