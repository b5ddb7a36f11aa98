"""kill -9 of a broker in mid-write under a workload of real clients (tests/workload/kill_rounds.py); a case is a kill.

A seed has twenty kills of one directory, or `KCLI_KILLS`. Every fifth seed has Apache Kafka's own dump tool look at the
files as well.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.workload.kill_rounds import run_kills

PACKAGES = ("kcore/platform", "kcore/record", "kcore/storage", "kcore/replication", "kcore/coordinator", "kcore/server")
KILLS = 20
KAFKAS_TOOL_EVERY = 5


def run(seed: int) -> int:
    kills = int(os.environ.get("KCLI_KILLS", KILLS))
    with tempfile.TemporaryDirectory() as directory:
        run_kills(Path(directory) / "data", seed, kills, with_kafkas_tool=seed % KAFKAS_TOOL_EVERY == 0)
    return kills
