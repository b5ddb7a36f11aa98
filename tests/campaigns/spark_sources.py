"""The pipeline suite: every case of tests/spark with our source and with Spark's own connector, before our broker and
before Apache Kafka 4, all four equal. A case is one with one source before one broker; a seed plays all of them.

One Spark session, one broker of each kind. `KCLI_SPARK_CASES` are names of cases, with | between, to play alone.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from kcore.testing.embedded_broker import EmbeddedBroker
from kspark.session import close_session, open_session
from tests.apache_kafka import ApacheKafka
from tests.spark.cases.all import CASES
from tests.spark.comparison import Case, differences, expected_of_ours, played_by_both
from tests.spark.connector import connector_settings
from tests.spark.session import modest_settings
from tests.spark.steps import CONNECTOR, OURS

PACKAGES = ("kspark", "kcore/client", "kcore/server", "tests/spark")
CHOSEN = tuple(name for name in os.environ.get("KCLI_SPARK_CASES", "").split("|") if name)
# Topics are compacted soon.
KAFKA_PROPERTIES = {"log.cleaner.backoff.ms": "200", "log.segment.delete.delay.ms": "1000"}


def run(seed: int) -> int:
    cases = [case for case in CASES if not CHOSEN or case.name in CHOSEN]
    with tempfile.TemporaryDirectory(prefix="kcli-spark-") as name:
        directory = Path(name)
        settings = {**modest_settings(directory), "spark.driver.memory": "1g", **connector_settings()}
        session = open_session("spark_sources", "local[2]", settings)
        try:
            with (
                EmbeddedBroker(data_dir=directory / "ours") as ours,
                ApacheKafka("4", directory / "kafka", KAFKA_PROPERTIES) as kafka,
            ):
                played = [wrong(case, session, ours.bootstrap_servers, kafka.bootstrap_server) for case in cases]
        finally:
            close_session(session)
    told = [line for count, lines in played for line in lines]
    assert not told, "\n".join(told)
    return sum(count for count, _ in played)


def wrong(case: Case, session: SparkSession, ours: str, kafka: str) -> tuple[int, list[str]]:
    """How often it was played, and where it differs from what Spark's connector found before Apache Kafka."""
    by_kafka = played_by_both(case, session, kafka)
    expected = by_kafka[CONNECTOR]
    told = _named(case, "ours before Apache Kafka", differences(by_kafka[OURS], expected_of_ours(case, expected)))
    if case.needs_kafka:
        return 2, told
    by_ours = played_by_both(case, session, ours)
    told += _named(case, "the connector before our broker", differences(by_ours[CONNECTOR], expected))
    told += _named(case, "ours before our broker", differences(by_ours[OURS], expected_of_ours(case, expected)))
    return 4, told


def _named(case: Case, which: str, told: list[str]) -> list[str]:
    return [f"{case.name}, {which}:", *told] if told else []
