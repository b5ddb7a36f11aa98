"""The same cases through our source and through Spark's own connector: equal rows, offsets and errors.

Here are those of CI, against our broker, and a few against Apache Kafka; the small size of the suite is SMALL_NAMES.
`bin/campaign spark_sources` plays all of them, with either source against either broker.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from kcore.testing.embedded_broker import EmbeddedBroker
from tests.apache_kafka import ApacheKafka
from tests.conftest import APACHE_KAFKA
from tests.spark.cases.all import CASES, QUICK, QUICK_BEFORE_KAFKA, QUICK_BEFORE_KAFKA_NAMES, QUICK_NAMES, SMALL_NAMES
from tests.spark.comparison import Case, compare

pytestmark = [pytest.mark.needs(*APACHE_KAFKA), pytest.mark.release_build, pytest.mark.usefixtures("connector")]


def named(cases: list[Case]) -> list[object]:
    """As parameters of a test: those of the small size are played in any case."""
    return [
        pytest.param(case, id=case.name, marks=[] if case.name in SMALL_NAMES else [pytest.mark.full_size])
        for case in cases
    ]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """A client that a case has left, the connector's too, would bring a deleted topic back by asking for it."""
    configs = {"auto.create.topics.enable": "false"}
    with EmbeddedBroker(configs, data_dir=tmp_path_factory.mktemp("data")) as broker:
        yield broker


@pytest.mark.parametrize("case", named(QUICK))
def test_before_our_broker(case: Case, spark: SparkSession, broker: EmbeddedBroker) -> None:
    assert compare(case, spark, broker.bootstrap_servers) == []


@pytest.mark.parametrize("case", named(QUICK_BEFORE_KAFKA))
def test_before_apache_kafka(case: Case, spark: SparkSession, apache_kafka_4: ApacheKafka) -> None:
    assert compare(case, spark, apache_kafka_4.bootstrap_server) == []


def test_cases_have_names_of_their_own() -> None:
    names = {case.name for case in CASES}
    assert len(names) == len(CASES)
    assert {*QUICK_NAMES, *QUICK_BEFORE_KAFKA_NAMES} <= names
    assert {*SMALL_NAMES} <= {*QUICK_NAMES, *QUICK_BEFORE_KAFKA_NAMES}
