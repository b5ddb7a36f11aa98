"""The clients' scenarios, all of them, before one broker a seed: ours, Apache Kafka 3.9 and 4, three brokers of either.

`KCLI_SCENARIOS` names one broker for every seed instead. Prints each case as it ends; what failed is printed again at
the end, with its error. The ledger has, for each broker, how many cases passed and which did not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGES = ("kcore/client", "tests/scenarios")
ROOT = Path(__file__).resolve().parents[2]
BROKERS = ("kcli", "apache-kafka-3.9", "apache-kafka-4", "three-apache-kafka-3.9", "three-apache-kafka-4")
CASE_TIMEOUT_S = 400
SUBJECTS = ("tests/scenarios",)

# By broker: cases that passed, and the names of those that did not.
passed: dict[str, int] = {}
failed: dict[str, list[str]] = {}


def run(seed: int) -> int:
    broker = os.environ.get("KCLI_SCENARIOS") or BROKERS[seed % len(BROKERS)]
    with tempfile.TemporaryDirectory(prefix="kcli-scenarios-") as directory:
        results = Path(directory) / "results.jsonl"
        environment = {**os.environ, "KCLI_SCENARIOS": broker, "KCLI_SCENARIO_RESULTS": str(results)}
        subprocess.run(
            [sys.executable, "-m", "pytest", "-v", f"--timeout={CASE_TIMEOUT_S}", *SUBJECTS],
            cwd=ROOT,
            env=environment,
            check=False,
        )
        lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    assert lines, f"no scenario ran before {broker}"
    passed[broker] = passed.get(broker, 0) + sum(line["outcome"] == "passed" for line in lines)
    wrong = [line["case"].rpartition("::")[2] for line in lines if line["outcome"] == "failed"]
    failed.setdefault(broker, []).extend(wrong)
    assert not wrong, f"{broker}: {', '.join(wrong)}"
    return len(lines)


def figures() -> dict[str, object]:
    found: dict[str, object] = {
        broker: {"passed": count, "failed": failed.get(broker, [])} for broker, count in passed.items()
    }
    passed.clear()
    failed.clear()
    return found
