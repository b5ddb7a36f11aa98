"""Ways to read and to write the same rows, by the formats' names; each is one turn, and says how long it took."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator

import pyarrow
import pyarrow.compute
from pyspark.sql import DataFrame, SparkSession

from perf.spark.arrow_source import FORMAT as ARROW
from perf.spark.rows import PARTITIONS, Rows

OURS, CONNECTOR = "kcli", "kafka"
SOURCES = (OURS, CONNECTOR, ARROW)
STEP, NO_STEP = "Python step", "no step"


def python_step(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """What a pipeline in Python does at least: it looks at each value, and hands something on."""
    for batch in batches:
        length = pyarrow.compute.binary_length(batch.column("value"))
        yield pyarrow.RecordBatch.from_arrays([length], names=["length"])


def stepped(frame: DataFrame, step: str) -> DataFrame:
    return frame.mapInArrow(python_step, "length int") if step == STEP else frame


def options_of(source: str, servers: str, rows: Rows) -> dict[str, str]:
    if source == ARROW:
        return {"path": str(rows.arrow)}
    return {"kafka.bootstrap.servers": servers, "subscribe": rows.topic, "startingOffsets": "earliest"}


def read_batch(spark: SparkSession, source: str, servers: str, rows: Rows, step: str) -> float:
    """Seconds, from the call to the last row: planning is a part of it."""
    began = time.perf_counter()
    frame = spark.read.format(source).options(**options_of(source, servers, rows)).load()
    stepped(frame, step).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def read_stream(spark: SparkSession, source: str, servers: str, rows: Rows, step: str) -> float:
    """One batch with all there is, checkpoint and start of the query among it."""
    with tempfile.TemporaryDirectory(prefix="kcli-perf-spark-") as directory:
        began = time.perf_counter()
        frame = spark.readStream.format(source).options(**options_of(source, servers, rows)).load()
        writer = stepped(frame, step).writeStream.format("noop").option("checkpointLocation", directory)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        elapsed = time.perf_counter() - began
        read = sum(progress["numInputRows"] for progress in query.recentProgress)
    assert read == rows.records, f"{source} has read {read} of {rows.records} rows"
    return elapsed


def write_batch(spark: SparkSession, sink: str, servers: str, rows: Rows, topic: str) -> float:
    """Rows that Spark makes itself, in as many tasks as there are partitions of topics."""
    value = f"CAST(repeat('x', {rows.size}) AS BINARY) AS value"
    frame = spark.range(0, rows.records, 1, PARTITIONS).selectExpr("CAST(CAST(id AS STRING) AS BINARY) AS key", value)
    began = time.perf_counter()
    writer = frame.write.format(sink).mode("append").option("kafka.bootstrap.servers", servers)
    writer.option("topic", topic).save()
    return time.perf_counter() - began


def micro_batch_ms(
    spark: SparkSession, source: str, servers: str, topic: str, send: Callable[[], None], batches: int
) -> list[float]:
    """How long each batch of a few records took (`triggerExecution`), of a query that runs on and on."""
    with tempfile.TemporaryDirectory(prefix="kcli-perf-spark-") as directory:
        options = {"kafka.bootstrap.servers": servers, "subscribe": topic}
        frame = spark.readStream.format(source).options(**options).load()
        query = frame.writeStream.format("noop").option("checkpointLocation", directory).start()
        query.processAllAvailable()
        for _ in range(batches):
            send()
            query.processAllAvailable()
        query.stop()
        done = [progress for progress in query.recentProgress if progress["numInputRows"]]
    # The first one has everything to open.
    return [float(progress["durationMs"]["triggerExecution"]) for progress in done[1:]]
