"""A campaign goes on where it stopped, keeps what it found, and says how to see a violation again."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaigns.__main__ import campaign_names
from tests.campaigns.ledger import Ledger
from tests.campaigns.runner import Campaign, run_campaign
from tests.dropin.command_lines import LINES
from tests.groups.scenario import RANGE, Member, Scenario, join, leave, step
from tests.groups.scenarios import CONFLUENT
from tests.plan.suites import Suite

# Two members of one client join and leave: nobody waits for a session to end.
SHORT_LIFE = Scenario(
    "two come and go",
    {"a": Member(CONFLUENT, RANGE), "b": Member(CONFLUENT, RANGE)},
    (step("a joins", join("a")), step("b joins", join("b")), step("a leaves", leave("a"))),
)
# What makes a full seed, which takes minutes, one of seconds. All clients, and Kafka's tools, are tests/interop's own
# business; with fewer records the first member of a group leaves nothing for the others, who then wait.
SMALL: dict[str, dict[str, object]] = {
    "admin_races": {"SECONDS": 1.0},
    "client_scenarios": {"SUBJECTS": ("tests/scenarios/test_contents.py::test_every_codec_in_one_partition",)},
    "disk_faults": {"ROUNDS": 1},
    "group_scenarios": {"ALL": (SHORT_LIFE,)},
    # As many as tests/growth creates, where a planted leak is found.
    "growth": {"ITEMS": 2_000},
    "interop": {"FULL_RECORDS": 10_000, "CLIENTS": ("confluent-kafka",), "VERSIONS": ()},
    "kill": {"KILLS": 1},
    "machine_crash": {"ROUNDS": 1},
    # On the release build, one file of tests.
    "sanitized": {"COMMAND": ("bin/test",), "directories": lambda: ["tests/unit/plan/test_unsteady.py"]},
    "spark_faults": {"ROUNDS": 1},
    "stress": {"SECONDS": 1.0},
    "suites": {"COMMAND": ("bin/test",), "SUITES": (Suite("unsteady", ("tests/unit/plan/test_unsteady.py",)),)},
}
# The command lines that `dropin` is left with: one that writes, two that read, one that fails.
COMMAND_LINES = ("quick start: create", "quick start: describe", "list", "delete unknown")
# With what environment. A process has one Spark session, which in this one is that of tests/spark.
IN_A_PROCESS = {"spark_sources": {"KCLI_SPARK_CASES": "two topics"}}
# The smallest of these still take tens of seconds: the small size of the suite is without them.
LONG = ("dropin", "group_scenarios", "interop", "spark_faults", "spark_sources")


def registered() -> list[object]:
    marks = {name: [pytest.mark.full_size] for name in LONG}
    return [pytest.param(name, marks=marks.get(name, [])) for name in campaign_names()]


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
    git("commit", "--amend", "--allow-empty", "-m", "elsewhere, by another name")
    assert ledger.total_since_change(["setup.py"]).count == 12, "the commit's name is no matter"
    (tmp_path / "setup.py").write_text("2")
    run_campaign(run_of([]), ledger, 60, 2)
    assert ledger.total_since_change(["setup.py"]).count == 12, "what is not committed does not count"
    git("commit", "-am", "two")
    assert ledger.total_since_change(["setup.py"]).count == 0


# On a busy machine one takes minutes.
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", registered())
def test_registered_campaign_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCLI_FUZZ_BUILD", "here")
    monkeypatch.setenv("KCLI_FUZZ_CASES", "200")
    module = importlib.import_module(f"tests.campaigns.{name}")
    for attribute, value in SMALL.get(name, {}).items():
        monkeypatch.setattr(module, attribute, value)
    if name == "dropin":
        for line in LINES.keys() - set(COMMAND_LINES):
            monkeypatch.delitem(LINES, line)
    for path in module.PACKAGES:
        assert Path(path).exists(), f"{name} tests {path}, which is not there"
    if name in IN_A_PROCESS:
        command = [sys.executable, "-m", "tests.campaigns", name, "--seed", "0"]
        subprocess.run(command, env={**os.environ, **IN_A_PROCESS[name]}, check=True)
    else:
        module.run(0)
