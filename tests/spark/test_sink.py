"""Rows become records by the rules of Spark's Kafka sink, in batches and in streams."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from kcore.client.admin.admin import Admin
from kcore.client.admin.topics import NewTopic
from kcore.testing.embedded_broker import EmbeddedBroker
from tests.spark.queries import begun
from tests.spark.reading import Record, records
from tests.spark.session import own_name

pytestmark = pytest.mark.needs("java")


@pytest.fixture
def topics(broker: EmbeddedBroker) -> list[str]:
    """Two, of three partitions each."""
    names = [own_name("written") for _ in range(2)]
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(name, 3, 1) for name in names])
    return names


def write(frame: DataFrame, broker: EmbeddedBroker, **options: str) -> None:
    writer = frame.write.format("kcli").mode("append").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    writer.options(**options).save()


def test_each_row_says_where_it_goes(spark: SparkSession, broker: EmbeddedBroker, topics: list[str]) -> None:
    first, second = topics
    frame = spark.sql(
        f"""
        select if(id % 2 = 0, '{first}', '{second}') as topic,
               if(id % 5 = 0, null, concat('k', id)) as key,
               if(id = 7, null, cast(concat('v', id) as binary)) as value,
               if(id % 3 = 0, null, cast(id % 3 as int)) as partition,
               if(id % 4 = 0, array(named_struct('key', 'h', 'value', cast(string(id) as binary))), null) as headers
        from range(0, 200, 1, 4)
        """
    )
    write(frame, broker)
    found = {record.value: record for topic in topics for record in records(broker, topic)}
    assert len(found) == 200
    for number in range(200):
        value = None if number == 7 else b"v%d" % number
        key = None if number % 5 == 0 else b"k%d" % number
        headers = [("h", b"%d" % number)] if number % 4 == 0 else []
        record = found[value]
        assert record == Record(topics[number % 2], record.partition, key, value, headers)
        assert number % 3 == 0 or record.partition == number % 3


def test_the_option_outdoes_the_column(spark: SparkSession, broker: EmbeddedBroker, topics: list[str]) -> None:
    write(spark.sql(f"select '{topics[0]}' as topic, 'x' as value"), broker, topic=topics[1])
    assert [len(list(records(broker, topic))) for topic in topics] == [0, 1]


@pytest.mark.parametrize(
    ("query", "options", "says"),
    [
        ("select 'k' as key", {"topic": "t"}, "the rows must have a column value; their columns are key"),
        ("select 5 as value", {"topic": "t"}, "column value must be binary or string, not int: cast it"),
        ("select 'v' as value", {}, "topic must be given, as an option or as a column"),
        ("select 'v' as value, 'p' as partition", {"topic": "t"}, "column partition must be int, not string"),
        ("select 'v' as value, string(null) as topic", {}, "a row's topic is null"),
        (
            "select 'v' as value",
            {"topic": "t", "kafka.transactional.id": "x"},
            "transactional.id is not supported",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(
    spark: SparkSession, broker: EmbeddedBroker, query: str, options: dict[str, str], says: str
) -> None:
    with pytest.raises(PySparkException, match=says):
        write(spark.sql(query), broker, **options)


def test_a_topic_is_not_overwritten(spark: SparkSession, broker: EmbeddedBroker, topics: list[str]) -> None:
    writer = spark.sql("select 'v' as value").write.format("kcli").mode("overwrite")
    with pytest.raises(PySparkException, match="append"):
        writer.options(**{"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": topics[0]}).save()


def test_a_stream_goes_on_from_its_checkpoint(
    spark: SparkSession, broker: EmbeddedBroker, topics: list[str], tmp_path: Path
) -> None:
    source, target = topics
    server = {"kafka.bootstrap.servers": broker.bootstrap_servers}

    def run() -> None:
        stream = spark.readStream.format("kcli").options(**server, subscribe=source, startingOffsets="earliest").load()
        writer = stream.select("key", "value", "partition").writeStream.format("kcli").options(**server, topic=target)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        begun(writer.trigger(availableNow=True)).awaitTermination()

    for round_ in range(2):
        values = f"select concat('{round_}-', id) as value, concat('k', id) as key from range(0, 100, 1, 2)"
        write(spark.sql(values), broker, topic=source)
        run()
    read, written = (sorted(records(broker, topic)) for topic in topics)
    assert len(read) == 200
    assert [record._replace(topic=source) for record in written] == read
