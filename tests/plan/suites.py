"""The suites that need Java or Spark and matter when what they exercise has changed. This is their declaration.

A suite runs in full when a file of its closure (closure.py) differs from that of its last recorded clean run, or when
that is not known. Otherwise it runs in its small size: without the tests that are marked `full_size`.
`bin/campaign suites` runs them in full, one suite a seed, and records the result.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.plan.closure import Sources
from tests.plan.recorded import ROOT, State, state_of

CAMPAIGN = "suites"
# Every native module is made with the one, every test with the libraries that the other names.
ALWAYS = ("setup.py", "pyproject.toml", "tests/kafka_jars", "bin/kafka-jars", "bin/kafka-run", "bin/maven-jars")

REQUESTS_OF_OTHERS = (
    *("test_admin_clients", "test_group_configs_against_kafka", "test_group_requests_against_kafka"),
    "test_java_consumer_groups",
)


class Suite(NamedTuple):
    """`paths` are its test files and directories; `runs` is what they run besides what they import."""

    name: str
    paths: tuple[str, ...]
    runs: tuple[str, ...] = ()

    def has(self, path: str) -> bool:
        return any(path == own or path.startswith(own + "/") for own in self.paths)

    def files(self) -> set[Path]:
        roots = (*self.paths, *self.runs, *ALWAYS)
        return sources().closure(ROOT / root for root in roots)

    def state(self) -> State:
        return state_of(self.name, self.files(), CAMPAIGN)


SUITES = (
    Suite(
        "interop",
        (
            *("tests/interop", "tests/groups", "tests/oracle"),
            *(f"tests/integration/{name}.py" for name in REQUESTS_OF_OTHERS),
        ),
        runs=("kcli/__main__.py",),
    ),
    Suite(
        "clients",
        (
            "tests/scenarios",
            *(f"tests/integration/{name}.py" for name in ("test_consumer", "test_fetcher", "test_admin")),
        ),
    ),
    Suite("campaigns", ("tests/unit/test_campaigns.py",), runs=("kcli/__main__.py", "kspark", "tests/spark_jars")),
    Suite(
        "installed",
        ("tests/integration/test_sample_project.py", "tests/integration/test_testing_page.py"),
        runs=("kcore/testing", "tests/integration/sample_project", "docs/testing.md", "README.md", "MANIFEST.in"),
    ),
    Suite("faults", ("tests/fault",)),
    Suite("growth", ("tests/growth",)),
    Suite("interchange", ("tests/interchange",), runs=("kcli/__main__.py",)),
    Suite("dropin", ("tests/dropin",), runs=("kcli/__main__.py", "bin/kcli", "bin/kafka-tool")),
    Suite(
        "spark",
        ("tests/spark",),
        runs=("kcli/__main__.py", "kspark", "pyspark_kcli.py", "pyspark_kcli_log.py", "tests/spark_jars"),
    ),
)


@cache
def sources() -> Sources:
    return Sources(ROOT)


def suite_of(path: str) -> Suite | None:
    """The suite of a file, given by its path in the checkout."""
    return next((suite for suite in SUITES if suite.has(path)), None)


def described(states: Iterable[tuple[Suite, State]]) -> list[str]:
    return [
        f"suite {suite.name}: {'in full' if state.is_due else 'small size'} ({state.reason})" for suite, state in states
    ]


if __name__ == "__main__":
    print(*described((suite, suite.state()) for suite in SUITES), sep="\n", file=sys.stdout)
