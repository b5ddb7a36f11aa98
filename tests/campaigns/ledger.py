"""What a campaign has run so far: one JSON object a line, appended and fsynced, committed with the sources.

    {"time": "2026-11-21T10:00:00Z", "commit": "<40 hex>", "sources": "<64 hex>", "clean": true, "first_seed": 0,
     "seeds": 40, "count": 12000, "seconds": 60.0, "result": "ok"}
    {..., "result": "violation", "seed": 4123, "error": "AssertionError: ..."}

`count` is of cases: one for each seed, unless the campaign tries more.

A campaign that names its build, as fuzzers do, has `"build": "address"` there when that was the sanitizers'.

A campaign that measures something beside, has its `"figures": {...}` there: of the seeds of that line.

`sources` is of the tested packages as committed; what was run counts for as long as they are the same. (A commit's name
goes when its history is written anew; old lines have only that, and count no more.) `clean` tells whether the packages
were as committed. An interrupted run loses at most the seeds since its last
line, which the next run takes up again: seeds are numbered on from the last line.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)


def sources_of(packages: Sequence[str]) -> str:
    """A digest of what the last commit has of the packages."""
    listed = git("ls-tree", "HEAD", "--", *packages)
    listed.check_returncode()
    return hashlib.sha256(listed.stdout.encode()).hexdigest()


@dataclass
class Total:
    seeds: int = 0
    count: int = 0
    violations: int = 0


class Ledger:
    """The committed file of one campaign."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> Iterator[dict[str, object]]:
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                yield json.loads(line)

    def next_seed(self) -> int:
        return max((int(str(line["first_seed"])) + int(str(line["seeds"])) for line in self.lines()), default=0)

    def append(
        self,
        packages: Sequence[str],
        seeds: range,
        count: int,
        seconds: float,
        outcome: dict[str, object],
    ) -> None:
        entry = {
            "time": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "commit": git("rev-parse", "HEAD").stdout.strip(),
            "sources": sources_of(packages),
            "clean": not git("status", "--porcelain", "--", *packages).stdout.strip(),
            "first_seed": seeds.start,
            "seeds": len(seeds),
            "count": count,
            "seconds": round(seconds, 1),
            **outcome,
        }
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def total_since_change(self, packages: Sequence[str]) -> Total:
        """Seeds run on committed sources that are, in the tested packages, what HEAD has."""
        total = Total()
        sources = sources_of(packages)
        for line in self.lines():
            if line.get("sources") == sources and line["clean"]:
                total.seeds += int(str(line["seeds"]))
                total.count += int(str(line["count"]))
                total.violations += line["result"] != "ok"
        return total
