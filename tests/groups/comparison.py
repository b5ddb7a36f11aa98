"""What two brokers made of a scenario, held against each other; `differences.toml` lists what may differ.

Where a race of its clients goes either way, a scenario is played again, PLAYS times at most before each broker: a
difference is what no play before ours has in common with any before Kafka's.

The notation of the list, and what an entry covers, is that of tests/interop/admin_scenario/differences.py. A step is
called by its scenario and its own name there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from tests.groups.player import StepResult
from tests.interop.admin_scenario.differences import Difference, Expected, expected, lasting_differences, unexpected

LIST = Path(__file__).with_name("differences.toml")

# By the names of steps.
Results: TypeAlias = dict[str, StepResult]


# A difference that lasts for so many is one.
PLAYS = 4


def unlisted(scenario: str, ours: Sequence[Results], kafka: Sequence[Results], entries: list[Expected]) -> list[str]:
    """The differences of all plays that no entry of the list covers, each with its step."""
    found = found_differences(scenario, ours, kafka)
    return [f"{step}: {one}" for step, ones in found.items() for one in unexpected(step, ones, entries)]


def listed() -> list[Expected]:
    return expected(LIST)


def found_differences(scenario: str, ours: Sequence[Results], kafka: Sequence[Results]) -> dict[str, list[Difference]]:
    """By the names of steps; a play has the same steps as any other."""
    return {
        f"{scenario}: {step}": lasting_differences(
            [play[step].seen for play in ours], [play[step].seen for play in kafka]
        )
        for step in ours[0]
    }
