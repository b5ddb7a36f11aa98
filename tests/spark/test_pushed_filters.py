"""Filters that Spark pushes down: what is left out is not read, and what comes is what Spark itself would choose."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from kcore.client.admin.admin import Admin
from kcore.client.admin.topics import NewTopic
from kcore.client.producer import Producer
from kcore.testing.embedded_broker import EmbeddedBroker
from tests.spark.session import own_name

RECORDS = 400

pytestmark = pytest.mark.needs("java")


class Written:
    """Two topics of two partitions; a record a second in each, the last one now."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self.server = broker.bootstrap_servers
        self.topics = [own_name("filtered") for _ in range(2)]
        self.first_ms = time.time_ns() // 1_000_000_000 * 1000 - RECORDS * 1000
        with Admin(bootstrap_servers=self.server) as admin:
            admin.create_topics([NewTopic(name, 2, 1) for name in self.topics])
        with Producer(bootstrap_servers=self.server) as producer:
            for number in range(RECORDS):
                for topic in self.topics:
                    # Every tenth is an hour late: records are not in the order of their times.
                    late_ms = 3_600_000 if number % 10 == 9 else 0
                    stamp = self.first_ms + number * 1000 - late_ms
                    producer.send(topic, b"%d" % number, partition=number % 2, timestamp=stamp)

    def frame(self, spark: SparkSession, *, pushes: bool) -> DataFrame:
        reader = spark.read.format("kcli").option("kafka.bootstrap.servers", self.server)
        return reader.options(subscribe=",".join(self.topics), pushFilters=str(pushes).lower()).load()


@pytest.fixture(scope="module")
def written(broker: EmbeddedBroker) -> Written:
    return Written(broker)


@pytest.fixture(scope="module", autouse=True)
def other_time_zone(spark: SparkSession) -> Iterator[None]:
    """Times in filters are moments, whatever the session's zone."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    yield
    spark.conf.set("spark.sql.session.timeZone", before or "UTC")


@pytest.mark.parametrize(
    "condition",
    [
        "partition = 1 and offset >= 10 and offset < 20",
        "offset = 5",
        "offset > 190 and offset <= 195",
        "offset between 20 and 10",
        "topic = '{topic}' and partition in (0, 7)",
        "topic in ('{topic}', 'none')",
        "topic like 'filtered%' and offset < 3",
        "topic = '{topic}' and offset < 100 and value = cast('7' as binary)",
        "timestamp >= timestamp_millis({middle})",
        "timestamp > timestamp_millis({middle}) and timestamp < timestamp_millis({middle} + 20000)",
        "timestamp = timestamp_millis({middle})",
        "timestamp < timestamp_millis({middle})",
        "timestamp >= timestamp_millis({middle}) and offset > 150",
        "offset < 5 or partition = 1",
        "not (partition = 1)",
        "offset is not null and key is null and offset < 4",
    ],
)
def test_what_comes_is_what_spark_would_choose(spark: SparkSession, written: Written, condition: str) -> None:
    text = condition.format(topic=written.topics[0], middle=written.first_ms + RECORDS * 500)
    expected, found = (written.frame(spark, pushes=pushes).where(text).collect() for pushes in (False, True))
    assert sorted(found) == sorted(expected)
    assert found or text == "offset between 20 and 10"


def test_what_is_left_out_is_not_read(spark: SparkSession, broker: EmbeddedBroker, written: Written) -> None:
    """The tasks are as few as the partitions that are wanted."""
    frame = written.frame(spark, pushes=True)
    assert frame.rdd.getNumPartitions() == 4
    assert frame.where(f"topic = '{written.topics[1]}'").rdd.getNumPartitions() == 2
    assert frame.where(f"topic = '{written.topics[1]}' and partition = 1").rdd.getNumPartitions() == 1
