"""Streaming under faults (tests/spark/faults): a seed is a query with five of them, or `KCLI_SPARK_ROUNDS`. A case
is a fault.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.spark.faults.rounds import Rounds, faults_of

PACKAGES = ("kspark", "kcore/client", "kcore/server", "tests/spark")
ROUNDS = int(os.environ.get("KCLI_SPARK_ROUNDS", "5"))


def run(seed: int) -> int:
    with tempfile.TemporaryDirectory(prefix="kcli-spark-faults-") as directory:
        Rounds(Path(directory), seed).run(faults_of(seed, ROUNDS))
    return ROUNDS
