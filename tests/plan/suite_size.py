"""Plays the suites of suites.py in full or in their small size, and says which and why.

`--suites changed` runs those in full that have changed since their last recorded clean run; it is the default under
KCLI_TEST_ALL=1. `--suites small` is the default elsewhere. A suite that is named on the command line runs in full.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.plan.recorded import State
from tests.plan.suites import SUITES, Suite, described, suite_of

MARKER = "full_size"
FULL, CHANGED, SMALL = "full", "changed", "small"
DESCRIBED = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    wanted = os.environ.get("KCLI_TEST_ALL", "") not in ("", "0")
    parser.addoption(
        "--suites",
        choices=(FULL, CHANGED, SMALL),
        default=CHANGED if wanted else SMALL,
        help="size of the suites of tests/plan/suites.py (default: small; under KCLI_TEST_ALL=1: changed)",
    )
    # Names with commas between.
    parser.addoption("--small-suites", default="", help="the suites to run in small size, whatever has changed")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARKER}: not played when the suite runs in its small size")
    if hasattr(config, "workerinput"):
        config.option.small_suites = config.workerinput["small_suites"]
        return
    # To read the sources takes seconds: only for suites that may be played.
    states = [(suite, decided(suite, config)) for suite in SUITES if may_be_played(suite, config)]
    if not config.option.small_suites:
        config.option.small_suites = ",".join(suite.name for suite, state in states if not state.is_due)
    config.stash[DESCRIBED] = described(states)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["small_suites"] = node.config.option.small_suites


def decided(suite: Suite, config: pytest.Config) -> State:
    if suite.name in config.option.small_suites.split(","):
        return State(False, "--small-suites")
    if is_named(suite, config):
        return State(True, "named on the command line")
    if config.option.suites == CHANGED:
        return suite.state()
    return State(config.option.suites == FULL, f"--suites {config.option.suites}")


def asked_for(config: pytest.Config) -> list[Path]:
    """The files and directories of the command line, or of `testpaths`."""
    return [Path(config.invocation_params.dir, one.partition("::")[0]) for one in config.args]


def may_be_played(suite: Suite, config: pytest.Config) -> bool:
    paths = [config.rootpath / path for path in suite.paths]
    return is_named(suite, config) or any(
        path.is_relative_to(argument) for argument in asked_for(config) for path in paths
    )


def is_named(suite: Suite, config: pytest.Config) -> bool:
    root = config.rootpath
    return any(
        argument.is_relative_to(root) and suite.has(str(argument.relative_to(root))) for argument in asked_for(config)
    )


def pytest_report_header(config: pytest.Config) -> list[str]:
    return config.stash.get(DESCRIBED, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.option.small_suites:
        terminalreporter.section("suites")
        for line in config.stash.get(DESCRIBED, []):
            terminalreporter.line(line)


def is_small(config: pytest.Config, path: str) -> bool:
    """Whether the file belongs to a suite that runs in its small size."""
    suite = suite_of(path)
    return suite is not None and suite.name in config.option.small_suites.split(",")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [
        item
        for item in items
        if item.get_closest_marker(MARKER) is not None and is_small(config, item.nodeid.partition("::")[0])
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        chosen = set(left_out)
        items[:] = [item for item in items if item not in chosen]


@pytest.fixture(scope="session")
def small_suites(pytestconfig: pytest.Config) -> frozenset[str]:
    """The names of the suites that run in their small size: a fixture may make less then."""
    return frozenset(pytestconfig.option.small_suites.split(","))
