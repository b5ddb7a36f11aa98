"""One Spark session for all tests of a process of pytest: a JVM takes seconds to start, and a case in it less than one.

`spark` is opened by the first test that asks for it and closed, with its JVM and its Python workers, at the end of the
run. Tests leave nothing in it: names of views and queries are their own (`own_name`). What the session needs besides is
set before it is opened: `spark_settings` may be overridden by a conftest.py, for jars.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kspark.session import close_session, open_session
from tests.leftovers import Leftovers

_numbers = itertools.count()


def modest_settings(directory: Path) -> dict[str, str]:
    """Of a session that takes little and writes below `directory` alone."""
    return {
        "spark.driver.memory": "640m",
        "spark.driver.extraJavaOptions": f"-XX:-UsePerfData -Djava.io.tmpdir={directory} -XX:TieredStopAtLevel=1",
        "spark.local.dir": str(directory),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


@pytest.fixture(scope="session")
def spark_settings() -> dict[str, str]:
    """Beside those that are modest."""
    return {}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, spark_settings: dict[str, str]) -> Iterator[SparkSession]:
    """In `local[2]`; formats kcli and kcli-log are found as PySpark finds them, without registering."""
    directory = tmp_path_factory.mktemp("spark")
    leftovers = Leftovers(directory)
    # The session's processes inherit it; nobody else's do.
    with _environment(leftovers.environment, without=("PYTHONPATH", "PYSPARK_PYTHON")):
        session = open_session("tests", "local[2]", {**modest_settings(leftovers.temporary), **spark_settings})
    yield session
    close_session(session)
    leftovers.await_ends()


@contextmanager
def _environment(wanted: Mapping[str, str], without: Sequence[str]) -> Iterator[None]:
    """Ends as it began, whatever was set meanwhile."""
    before = dict(os.environ)
    os.environ.update(wanted)
    for name in without:
        os.environ.pop(name, None)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


def own_name(kind: str) -> str:
    """For a view, a query or a topic, once in a process of pytest."""
    return f"{kind}_{next(_numbers)}"
