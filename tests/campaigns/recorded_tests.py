"""Plays tests for a campaign that records what they are made of: see tests/plan/recorded.py."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.plan.recorded import ROOT, Digests, UnknownState, digests_of

PASSED = re.compile(r"(\d+) passed")
SHOWN_LINES = 60

Passed = dict[str, Digests]


def play_recorded(name: str, files: Iterable[Path], command: Sequence[str], passed: Passed) -> int:
    """Runs the tests; how many passed. A run on uncommitted sources is not recorded."""
    digests: Digests | None
    try:
        digests = digests_of(files)
    except UnknownState as unknown:
        digests = None
        print(f"{name}: not recorded: {unknown}", file=sys.stderr)
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "KCLI_TEST_ALL": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, "\n".join([f"{name} failed:", *lines[-SHOWN_LINES:], done.stderr[-4_000:]])
    last = lines[-1] if lines else ""
    if digests is not None:
        passed[name] = digests
    found = PASSED.search(last)
    return int(found[1]) if found else 0
