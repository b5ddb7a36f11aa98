"""What two brokers made of a scenario, held against each other; `differences.toml` lists what may differ.

The notation of the list, and what an entry covers, is that of tests/interop/admin_scenario/differences.py. A step is
called by its scenario and its own name there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from tests.groups.player import StepResult
from tests.interop.admin_scenario.differences import Difference, Expected, differences, expected, unexpected

LIST = Path(__file__).with_name("differences.toml")

# By the names of steps.
Results: TypeAlias = dict[str, StepResult]


def unlisted(scenario: str, ours: Results, kafka: Results, entries: list[Expected]) -> list[str]:
    """The differences that no entry of the list covers, each with its step."""
    found = found_differences(scenario, ours, kafka)
    return [f"{step}: {one}" for step, ones in found.items() for one in unexpected(step, ones, entries)]


def listed() -> list[Expected]:
    return expected(LIST)


def found_differences(scenario: str, ours: Results, kafka: Results) -> dict[str, list[Difference]]:
    assert ours.keys() == kafka.keys()
    return {f"{scenario}: {step}": differences(ours[step].seen, kafka[step].seen) for step in ours}
