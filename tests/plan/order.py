"""Which worker plays which files, and in which order.

Under `--dist loadfile` a worker takes one unit after another: a file, or the files of UNITS, which share something that
is dear to start. The units that take longest (tests/durations.json) come first, so that no worker ends with a long one.

`--random-order` plays the units in random order and prints the seed; `--random-order-seed SEED` repeats an order.
"""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pytest

from tests.plan.durations import UNKNOWN_S, read_durations

# The beginning of a file's path -> its unit. A worker that plays tests/spark has a Spark session of its own, and what
# pip has installed serves the two other files.
UNITS = {
    "tests/spark/": "spark",
    "tests/integration/test_sample_project.py": "installed",
    "tests/integration/test_testing_page.py": "installed",
}
# Files whose tests share nothing that is dear to start: every test function, with its parameters, is a unit.
DIVIDED = ("tests/unit/test_campaigns.py",)


def unit_of(nodeid: str) -> str:
    name = nodeid.partition("::")[0]
    if name in DIVIDED:
        return nodeid
    return next((unit for start, unit in UNITS.items() if name.startswith(start)), name)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--random-order", action="store_true", help="play test files in random order; the seed is printed")
    parser.addoption("--random-order-seed", metavar="SEED", help="play test files in the random order of this seed")


def pytest_configure(config: pytest.Config) -> None:
    option = config.option
    if hasattr(config, "workerinput"):
        option.random_order_seed = config.workerinput["random_order_seed"]
    elif option.random_order and option.random_order_seed is None:
        option.random_order_seed = str(random.SystemRandom().randrange(1_000_000))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["random_order_seed"] = node.config.option.random_order_seed


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.option.random_order_seed
    return None if seed is None else f"files in random order, repeat with: --random-order-seed {seed}"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed = config.option.random_order_seed
    if seed is not None:
        shuffle(items, seed)
    elif hasattr(config, "workerinput"):
        longest_first(items)


def shuffle(items: list[pytest.Item], seed: str) -> None:
    """Shuffles the units; the tests of a unit keep their order."""
    units = sorted({unit_of(item.nodeid) for item in items})
    random.Random(seed).shuffle(units)
    places = {unit: place for place, unit in enumerate(units)}
    items.sort(key=lambda item: places[unit_of(item.nodeid)])


def longest_first(items: list[pytest.Item]) -> None:
    """All workers must come to the same order."""
    durations = read_durations()
    files = {(unit_of(item.nodeid), item.nodeid.partition("::")[0]) for item in items}
    seconds: dict[str, float] = defaultdict(float)
    for unit, name in files:
        seconds[unit] += durations[name][0] if name in durations else UNKNOWN_S
    items.sort(key=lambda item: (-seconds[unit := unit_of(item.nodeid)], unit))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    # Its own order is that of the number of tests.
    config.option.loadscopereorder = False
    scheduling = LoadFileScheduling(config, log)
    scheduling._split_scope = unit_of
    return scheduling
