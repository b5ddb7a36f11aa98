"""Runs Hypothesis' properties of the test suite as campaign seeds: one seed runs one property with its own examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import seed as with_seed
from hypothesis import settings

Property = Callable[..., Any]


def run_property(properties: Sequence[Property], seed: int) -> int:
    """Runs one of the properties, taken in turn, from that seed; raises what it finds, and gives the examples tried."""
    chosen = properties[seed % len(properties)]
    with_seed(seed)(chosen)()
    used: settings = vars(chosen)["_hypothesis_internal_use_settings"]
    return used.max_examples
