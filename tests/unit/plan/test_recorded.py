"""A suite is not due while all that it is made of is as it was in its clean run, and due after any change."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.plan import recorded
from tests.plan.closure import Sources
from tests.plan.recorded import State, digests_of, state_of

pytestmark = pytest.mark.needs("git")


class Checkout:
    """One of a suite, tests/a, that is made of kcore/a and kcore/b; kcore/c is none of its business."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "--quiet")
        self.write("kcore/a/one.py", "import kcore.b.two\n")
        self.write("kcore/b/two.py", "")
        self.write("kcore/c/three.py", "")
        self.write("tests/a/test_a.py", "import kcore.a.one\n")
        self.commit()

    def git(self, *arguments: str) -> None:
        who = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
        subprocess.run(["git", *who, *arguments], cwd=self.root, check=True, capture_output=True)
        forget()

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        forget()

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--allow-empty", "--quiet", "-m", "a change")

    def files(self) -> set[Path]:
        return Sources(self.root).closure([self.root / "tests" / "a"])

    def record(self) -> None:
        """As `bin/campaign suites` does."""
        line = {"time": "yesterday", "figures": {"passed": {"a": digests_of(self.files())}}}
        with (self.root / "suites.jsonl").open("a") as ledger:
            ledger.write(json.dumps(line) + "\n")

    def state(self) -> State:
        return state_of("a", self.files(), "suites")


def forget() -> None:
    """What git has said is kept for the time of a run."""
    recorded.committed_files.cache_clear()
    recorded.uncommitted_files.cache_clear()


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    monkeypatch.setattr(recorded, "ROOT", tmp_path)
    monkeypatch.setattr(recorded, "CAMPAIGNS", tmp_path)
    return Checkout(tmp_path)


@pytest.fixture(autouse=True)
def _nothing_is_kept() -> None:
    forget()


def test_without_a_record_it_is_due(there: Checkout) -> None:
    assert there.state() == (True, "no clean run is recorded (bin/campaign suites)")


def test_a_record_counts_while_nothing_of_it_changes(there: Checkout) -> None:
    there.record()
    assert there.state() == (False, "unchanged since the clean run of yesterday")
    there.write("kcore/c/three.py", "changed")
    assert not there.state().is_due, "it is not made of this"
    there.commit()
    assert not there.state().is_due


def test_a_planted_change_makes_it_due(there: Checkout) -> None:
    there.record()
    there.write("kcore/b/two.py", "changed")
    assert there.state() == (True, "uncommitted: kcore/b/two.py")
    there.commit()
    assert there.state() == (True, "changed since the clean run of yesterday: kcore/b")
    there.write("kcore/b/two.py", "")
    there.commit()
    assert not there.state().is_due, "it is as it was"


def test_a_new_file_of_it_makes_it_due(there: Checkout) -> None:
    there.record()
    there.write("tests/a/case.toml", "")
    assert there.state().is_due
    there.commit()
    assert there.state() == (True, "changed since the clean run of yesterday: tests/a")


def test_what_is_no_checkout_of_git_is_due(there: Checkout) -> None:
    there.record()
    (there.root / ".git").rename(there.root / "hidden")
    forget()
    assert there.state().is_due
