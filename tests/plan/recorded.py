"""Whether something has run without a failure on the sources that are checked out now: the record of the campaigns
`suites` and `sanitized`.

A line of their ledgers has `"figures": {"passed": {NAME: {PACKAGE: DIGEST, ...}, ...}}`: what ran in full without a
failure, and the digests of the files that it is made of (closure.py) as committed, by package. It counts while these
digests are those of HEAD and nothing of it is uncommitted. Anything else, no git among it, counts as changed.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.campaigns.ledger import Ledger

ROOT = Path(__file__).resolve().parents[2]
CAMPAIGNS = ROOT / "tests" / "campaigns"
DIGEST_CHARACTERS = 12
NAMED_CHANGES = 4

Digests = dict[str, str]


class UnknownState(Exception):
    """The sources are not those of a commit; the text says why."""


class State(NamedTuple):
    """`reason` is for people: why it is due, or which clean run makes it not due."""

    is_due: bool
    reason: str


def state_of(name: str, files: Iterable[Path], campaign: str) -> State:
    """Whether `name`, made of `files`, must run in full again."""
    try:
        digests = digests_of(files)
    except UnknownState as unknown:
        return State(True, str(unknown))
    found = last_record(name, CAMPAIGNS / f"{campaign}.jsonl", digests)
    if found is None:
        return State(True, f"no clean run is recorded (bin/campaign {campaign})")
    time, recorded = found
    changed = sorted(key for key in digests.keys() | recorded.keys() if digests.get(key) != recorded.get(key))
    if changed:
        more = f" and {len(changed) - NAMED_CHANGES} more" if len(changed) > NAMED_CHANGES else ""
        return State(True, f"changed since the clean run of {time}: {', '.join(changed[:NAMED_CHANGES])}{more}")
    return State(False, f"unchanged since the clean run of {time}")


def last_record(name: str, ledger: Path, wanted: Digests) -> tuple[str, Digests] | None:
    """The last record of `name`: one of these digests where there is one."""
    last: tuple[str, Digests] | None = None
    for line in Ledger(ledger).lines():
        figures = line.get("figures")
        passed = figures.get("passed", {}) if isinstance(figures, dict) else {}
        if name in passed:
            found = str(line["time"]), passed[name]
            if passed[name] == wanted:
                return found
            last = found
    return last


def digests_of(files: Iterable[Path]) -> Digests:
    """By package, of what HEAD has of the files."""
    committed, uncommitted = committed_files(), uncommitted_files()
    lines = defaultdict(list)
    for file in sorted(files):
        path = str(file.relative_to(ROOT))
        if path in uncommitted:
            raise UnknownState(f"uncommitted: {path}")
        # A file that is neither committed nor reported by git is ignored by git.
        if path in committed:
            lines[package_of(path)].append(f"{path} {committed[path]}")
    if not lines:
        raise UnknownState("nothing of it is committed")
    return {
        package: hashlib.sha256("\n".join(of_package).encode()).hexdigest()[:DIGEST_CHARACTERS]
        for package, of_package in lines.items()
    }


def package_of(path: str) -> str:
    """`kcore/server`, `tests/interop`; files that are in no package of their own count as `kcore`, `setup.py`."""
    parts = path.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


@cache
def committed_files() -> dict[str, str]:
    """Path -> blob."""
    found = {}
    for line in git("ls-tree", "-r", "-z", "HEAD").split("\0"):
        entry, _, path = line.partition("\t")
        if path:
            found[path] = entry.split()[2]
    return found


@cache
def uncommitted_files() -> frozenset[str]:
    listed = git("status", "--porcelain", "--no-renames", "--untracked-files=all", "-z")
    return frozenset(line[3:] for line in listed.split("\0") if line)


def git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise UnknownState(f"git cannot be run: {error.strerror}") from None
    if done.returncode:
        raise UnknownState(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout
