"""What the tests of Spark share: the session, with Spark's own Kafka connector beside ours, and a broker of ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from kcore.testing.embedded_broker import EmbeddedBroker
from tests.conftest import EVERYTHING_MUST_RUN
from tests.spark.connector import connector_settings, what_is_missing
from tests.spark.session import spark
from tests.spark.steps import CONNECTOR

__all__ = ["broker", "spark", "spark_settings"]


@pytest.fixture(scope="session")
def spark_settings() -> dict[str, str]:
    """Where there is no connector, tests of our source alone still run."""
    return connector_settings() if what_is_missing() is None else {}


@pytest.fixture(scope="session")
def connector(spark: SparkSession) -> str:
    """The name of its format."""
    missing = what_is_missing()
    if missing is not None:
        (pytest.fail if EVERYTHING_MUST_RUN else pytest.skip)(missing)
    return CONNECTOR


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(data_dir=tmp_path_factory.mktemp("data")) as broker:
        yield broker
