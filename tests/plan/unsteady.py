"""The committed list of unsteady tests, tests/unsteady.txt: tests that failed once and passed when replayed.

    python -m tests.plan.unsteady add NAME...    # .ci/run, after the replays passed
    python -m tests.plan.unsteady check          # fails when a name is listed twice, or more than five names are

A line is the date and the test's name with a tab between. Remove the lines of a test when its fault is found and fixed.
"""

from __future__ import annotations

import datetime
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

LIST = Path(__file__).resolve().parents[1] / "unsteady.txt"
NAMES_AT_MOST = 5
COMMENT = "#"


def names_of(path: Path) -> list[str]:
    """One for each time that a test was unsteady."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [line.partition("\t")[2] for line in lines if line and not line.startswith(COMMENT)]


def add(path: Path, names: Sequence[str]) -> None:
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    with path.open("a") as file:
        file.writelines(f"{day}\t{name}\n" for name in names)


def faults_of(names: Sequence[str]) -> list[str]:
    """Why a run with this list fails."""
    counts = Counter(names)
    faults = [f"unsteady {count} times: {name}" for name, count in counts.items() if count > 1]
    if len(counts) > NAMES_AT_MOST:
        faults.append(f"{len(counts)} unsteady tests, more than {NAMES_AT_MOST}")
    return faults


def main(words: Sequence[str], path: Path = LIST) -> int:
    if words[:1] == ["add"]:
        add(path, words[1:])
    elif words != ["check"]:
        print(__doc__, file=sys.stderr)
        return 2
    faults = faults_of(names_of(path))
    for fault in faults:
        print(f"{fault}; fix it and remove it from {path.name}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
