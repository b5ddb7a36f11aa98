"""Segment files as DataFrames: what a broker of ours or of Apache Kafka's has written is what clients read from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kcore.client.producer import Producer
from kcore.testing.embedded_broker import EmbeddedBroker
from tests.apache_kafka import ApacheKafka
from tests.spark.session import own_name

RECORDS = 3000

pytestmark = pytest.mark.needs("java")


def publish(server: str, topic: str) -> None:
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        with Producer(bootstrap_servers=server, compression_type=codec, batch_size=4096) as producer:
            for number in range(RECORDS // 5):
                headers = [("codec", codec.encode())] if number % 7 == 0 else None
                producer.send(topic, b"%s-%d" % (codec.encode(), number), key=b"%d" % number, headers=headers)


def same_as_the_topic(spark: SparkSession, server: str, topic: str, path: Path) -> None:
    read = spark.read.format("kcli").options(**{"kafka.bootstrap.servers": server}, subscribe=topic)
    expected = read.option("includeHeaders", "true").load()
    found = spark.read.format("kcli-log").options(includeHeaders="true", maxSplitBytes="10000").load(str(path))
    found = found.where(f"topic = '{topic}'")
    assert found.rdd.getNumPartitions() > 2, "split by segments, or by an index"
    columns = expected.columns
    assert sorted(found.select(columns).collect()) == sorted(expected.collect())
    codecs = found.groupBy("compression").count().collect()
    assert {row["compression"]: row["count"] for row in codecs} == dict.fromkeys(
        ("none", "gzip", "snappy", "lz4", "zstd"), RECORDS // 5
    )
    # A record's batch is where its columns say.
    places = found.selectExpr("segment", "batchPosition", "batchBytes", "partition", "magic").distinct().collect()
    for row in places:
        with open(row.segment, "rb") as file:
            file.seek(row.batchPosition + 8)
            assert int.from_bytes(file.read(4)) == row.batchBytes - 12
            file.seek(row.batchPosition + 16)
            assert file.read(1)[0] == row.magic == 2


def test_our_broker_s_files(spark: SparkSession, tmp_path: Path) -> None:
    with EmbeddedBroker({"log.segment.bytes": "10000"}, data_dir=tmp_path) as broker:
        topic = own_name("kept")
        publish(broker.bootstrap_servers, topic)
        same_as_the_topic(spark, broker.bootstrap_servers, topic, tmp_path)
        # And of one partition alone.
        frame = spark.read.format("kcli-log").option("columns", "offset").load(str(tmp_path / f"{topic}-0"))
        assert sorted(row.offset for row in frame.collect()) == list(range(RECORDS))


@pytest.mark.needs("mvn", "setpriv")
def test_apache_kafka_s_files(spark: SparkSession, apache_kafka_4: ApacheKafka) -> None:
    topic = own_name("kept")
    publish(apache_kafka_4.bootstrap_server, topic)
    # Of that broker other tests have topics, which come and go.
    same_as_the_topic(spark, apache_kafka_4.bootstrap_server, topic, apache_kafka_4.directory / f"{topic}-0")


def test_a_path_that_has_none_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match=r"has no segment files\. Pass a log directory"):
        spark.read.format("kcli-log").load(str(tmp_path)).count()
    with pytest.raises(PySparkException, match="Every executor must be able to read it"):
        spark.read.format("kcli-log").load(str(tmp_path / "missing")).count()
