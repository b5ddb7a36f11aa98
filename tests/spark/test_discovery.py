"""PySpark finds the formats by itself, and they have the columns of its own Kafka source."""

from __future__ import annotations

import os
import signal
import time

import pytest
from pyspark.sql import SparkSession

from kcore.client.producer import Producer
from kcore.testing.embedded_broker import EmbeddedBroker
from tests.spark.session import own_name

# What Spark's documentation says of the columns of its Kafka source.
COLUMNS = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
}

pytestmark = pytest.mark.needs("java")


def test_a_topic_is_a_data_frame(spark: SparkSession, broker: EmbeddedBroker) -> None:
    topic, now_ms = own_name("greetings"), time.time_ns() // 1_000_000
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for number in range(100):
            producer.send(topic, b"hello %d" % number, key=b"%d" % number, timestamp=now_ms + number)
    reader = spark.read.format("kcli").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    frame = reader.option("subscribe", topic).load()
    assert {field.name: field.dataType.simpleString() for field in frame.schema.fields} == COLUMNS
    rows = frame.orderBy("offset").collect()
    assert [(row.key, row.value, row.offset) for row in rows] == [
        (b"%d" % number, b"hello %d" % number, number) for number in range(100)
    ]
    assert {(row.topic, row.partition, row.timestampType) for row in rows} == {(topic, 0, 0)}
    first, last = frame.selectExpr("unix_millis(min(timestamp))", "unix_millis(max(timestamp))").first() or (0, 0)
    assert (first, last) == (now_ms, now_ms + 99)


def test_a_session_leaves_the_process_as_it_was(spark: SparkSession) -> None:
    assert "PYSPARK_PYTHON" not in os.environ
    handler = signal.getsignal(signal.SIGINT)
    assert not getattr(handler, "__module__", "").startswith("pyspark"), "Ctrl-C is not to cancel batches"
