"""A campaign goes on where it stopped, keeps what it found, and says how to see a violation again."""

from __future__ import annotations

import importlib
import json
import subprocess
from pathlib import Path

import pytest

from tests.campaigns.__main__ import campaign_names
from tests.campaigns.ledger import Ledger
from tests.campaigns.runner import Campaign, run_campaign


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "sample.jsonl")


def run_of(seen: list[int], broken: int = -1) -> Campaign:
    def run(seed: int) -> None:
        seen.append(seed)
        assert seed != broken, "the invariant"

    return Campaign("sample", ["setup.py"], run)


def entries(ledger: Ledger) -> list[dict[str, object]]:
    return [json.loads(line) for line in ledger.path.read_text().splitlines()]


@pytest.mark.needs("git")
def test_seeds_go_on_from_the_last_line(ledger: Ledger) -> None:
    seen: list[int] = []
    assert run_campaign(run_of(seen), ledger, 60, 3)
    assert run_campaign(run_of(seen), ledger, 60, 2)
    assert seen == [0, 1, 2, 3, 4]
    kept = [(line["first_seed"], line["count"], line["result"]) for line in entries(ledger)]
    assert kept == [(0, 3, "ok"), (3, 2, "ok")]


@pytest.mark.needs("git")
def test_figures_are_those_of_the_seeds_of_a_line(ledger: Ledger) -> None:
    seen: list[int] = []

    def figures() -> dict[str, object]:
        told: dict[str, object] = {"largest": max(seen)}
        seen.clear()
        return told

    campaign = Campaign("sample", ["setup.py"], run_of(seen).run, figures=figures)
    assert run_campaign(campaign, ledger, 60, 3)
    assert run_campaign(campaign, ledger, 60, 2)
    assert [line["figures"] for line in entries(ledger)] == [{"largest": 2}, {"largest": 4}]


@pytest.mark.needs("git")
def test_violation_is_kept_with_its_seed(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    assert not run_campaign(run_of([], broken=2), ledger, 60, 10)
    (line,) = entries(ledger)
    assert (line["count"], line["result"], line["seed"]) == (3, "violation", 2)
    assert "the invariant" in str(line["error"])
    assert "bin/campaign sample --seed 2" in capsys.readouterr().err


@pytest.mark.needs("git")
def test_only_seeds_of_unchanged_packages_count(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.chdir(tmp_path)
    git("init")
    (tmp_path / "setup.py").write_text("1")
    git("add", "setup.py")
    git("commit", "-m", "one")
    run_campaign(run_of([]), ledger, 60, 5)
    git("commit", "--allow-empty", "-m", "elsewhere")
    run_campaign(run_of([]), ledger, 60, 7)
    assert ledger.total_since_change(["setup.py"]).count == 12
    (tmp_path / "setup.py").write_text("2")
    run_campaign(run_of([]), ledger, 60, 2)
    assert ledger.total_since_change(["setup.py"]).count == 12, "what is not committed does not count"
    git("commit", "-am", "two")
    assert ledger.total_since_change(["setup.py"]).count == 0


@pytest.mark.parametrize("name", campaign_names())
def test_registered_campaign_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCLI_INTEROP_RECORDS", "5000")  # the full size takes ten minutes
    monkeypatch.setenv("KCLI_KILLS", "1")
    monkeypatch.setenv("KCLI_FUZZ_BUILD", "here")
    module = importlib.import_module(f"tests.campaigns.{name}")
    for path in module.PACKAGES:
        assert Path(path).exists(), f"{name} tests {path}, which is not there"
    module.run(0)
