"""Runs a pipeline: starts its sinks, watches them, and stops them between two batches.

Spark's `stop` interrupts the running batch. So the runner first tells the kcli sources to report no new data
(`drainFile`). It stops a query between two triggers. Other sources may start a batch at that moment;
the next run repeats it from the checkpoint.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import NamedTuple

from pyspark import InheritableThread
from pyspark.sql import functions

from kspark.pipeline.definition import AVAILABLE_NOW, ONCE
from kspark.pipeline.part_options import TOPICS
from kspark.pipeline.progress import ROWS_OUT
from kspark.pipeline.spark_errors import blamed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from kspark.pipeline.definition import Pipeline, Sink
    from kspark.pipeline.frames import Frames
    from kspark.pipeline.metrics import Totals

UPDATE = "update"
LOOK_S = 0.25
# How long a running batch may take to end when the pipeline stops.
PATIENCE_S = 60.0
# Error if the Python process of a stream's source did not start within Spark's fixed limit of ten seconds, for example
# on a busy machine. Nothing was read at that point, so the query can be started again.
WORKER_IS_LATE = "Python worker failed to connect back"
MOST_LATE_STARTS = 10
# Start of a query's status message until its sources are ready.
STARTS = "Initializing"


class Running(NamedTuple):
    sink: Sink
    query: StreamingQuery


class Run:
    """One run of a pipeline whose DataFrames are built."""

    def __init__(self, pipeline: Pipeline, frames: Frames, totals: Totals | None = None) -> None:
        self._pipeline = pipeline
        self._frames = frames
        self._totals = totals
        self._running: list[Running] = []
        self._stops = threading.Event()
        self._is_cut_off = False
        self._late_starts_left = MOST_LATE_STARTS

    def start(self) -> None:
        """Write the sinks of batch data and start the queries of streams. Returns early after `end_soon`."""
        for sink in self._pipeline.sinks:
            frame = self._frames.of_sink(sink)
            if self._stops.is_set():
                return
            with blamed(f"sinks.{sink.name}"):
                if frame.isStreaming:
                    self._running.append(self._begun(sink))
                    self._await_sources(self._running[-1].query)
                else:
                    self._write_once(sink, frame)

    def _begun(self, sink: Sink) -> Running:
        return Running(sink, self._writer(sink, self._frames.of_sink(sink)).start())

    def _await_sources(self, query: StreamingQuery) -> None:
        """Wait until a query's sources have started, so that no two queries start at once.

        Spark's Python sources share one map of environment variables per session, and each start fills it without a
        lock (`PythonStreamingSourceRunner.init`). Concurrent starts can corrupt its size. Then no task of the session
        can be serialized.
        """
        while is_starting(query) and not self._stops.is_set():
            self._stops.wait(LOOK_S / 10)

    def _write_once(self, sink: Sink, frame: DataFrame) -> None:
        """Write on another thread: a signal handler cannot run, or raise, during a call to Spark."""
        failures: list[Exception] = []

        def write() -> None:
            try:
                _write(sink, frame)
            except Exception as error:
                failures.append(error)

        thread = InheritableThread(write)
        thread.start()
        while thread.is_alive() and not self._stops.is_set():
            thread.join(LOOK_S)
        if thread.is_alive():
            self._is_cut_off = True
            frame.sparkSession.sparkContext.cancelAllJobs()
            thread.join()
        elif failures:
            raise failures[0]

    def _writer(self, sink: Sink, frame: DataFrame) -> DataStreamWriter:
        checkpoint = os.path.join(self._pipeline.checkpoint, sink.name)
        frame = frame.observe(ROWS_OUT, functions.count(functions.lit(1)).alias(ROWS_OUT))
        writer = frame.writeStream.queryName(sink.name).outputMode(sink.mode).option("checkpointLocation", checkpoint)
        if sink.format == TOPICS and sink.mode == UPDATE:
            # Updates can be written to a topic, but a Python sink cannot declare that it supports update mode.
            writer = writer.foreachBatch(lambda batch, _: _write(sink, batch))
        else:
            writer = writer.format(sink.format).options(**sink.options)
        if sink.path is not None:
            writer = writer.option("path", sink.path)
        if sink.partition_by:
            writer = writer.partitionBy(*sink.partition_by)
        if sink.trigger == AVAILABLE_NOW:
            return writer.trigger(availableNow=True)
        if sink.trigger == ONCE:
            return writer.trigger(once=True)
        return writer if sink.trigger is None else writer.trigger(processingTime=sink.trigger)

    def end_soon(self) -> None:
        """Make `watch` return. Safe in signal handlers, because it does not call Spark."""
        self._stops.set()

    def watch(self) -> Iterator[list[Running]]:
        """Yield the queries whenever a batch has ended, until all queries have ended or `end_soon` is called.

        If a query fails, raises PipelineError with the name of its sink.
        """
        seen: list[int] = []
        while self._goes_on() and not self._stops.is_set():
            batches = self._look()
            if batches != seen:
                seen = batches
                yield self._running
            self._stops.wait(LOOK_S)
        if self._running and self._look() != seen:
            yield self._running

    def _look(self) -> list[int]:
        """Update the totals and return the last batch id of each query."""
        if self._totals is not None:
            for one in self._running:
                self._totals.take(one.sink.name, one.query)
        return [_last_batch(one.query) for one in self._running]

    def _goes_on(self) -> bool:
        """Return whether a query runs. Restarts queries whose worker started late; raises any other failure."""
        runs = False
        for number, one in enumerate(self._running):
            if one.query.isActive:
                runs = True
            elif (failure := one.query.exception()) is not None:
                with blamed(f"sinks.{one.sink.name}"):
                    if WORKER_IS_LATE not in str(failure) or not self._late_starts_left:
                        one.query.awaitTermination()
                    elif not self._stops.is_set():
                        self._late_starts_left -= 1
                        self._running[number] = self._begun(one.sink)
                        runs = True
        return runs

    def stop(self) -> bool:
        """Stop every query after its running batch. Returns False if a batch had to be interrupted."""
        drain = Path(self._frames.drain_file)
        drain.touch()
        try:
            return self._stop_between_batches()
        finally:
            drain.unlink()

    def _stop_between_batches(self) -> bool:
        before = {one.sink.name: _last_batch(one.query) for one in self._running}
        deadline = time.monotonic() + PATIENCE_S
        left = [one for one in self._running if one.query.isActive]
        while left and time.monotonic() < deadline:
            for one in left:
                if not one.query.status["isTriggerActive"] or (
                    not self._frames.is_drained and _last_batch(one.query) != before[one.sink.name]
                ):
                    one.query.stop()
            left = [one for one in left if one.query.isActive]
            if left:
                time.sleep(LOOK_S / 10)
        for one in left:
            one.query.stop()
        return not left and not self._is_cut_off


def is_starting(query: StreamingQuery) -> bool:
    """Return whether a query has not started its sources yet."""
    return query.isActive and query.status["message"].startswith(STARTS)


def _last_batch(query: StreamingQuery) -> int:
    progress: Any = query.lastProgress
    return -1 if progress is None else int(progress["batchId"])


def _write(sink: Sink, frame: DataFrame) -> None:
    writer = frame.write.format(sink.format).mode("append").options(**sink.options)
    if sink.partition_by:
        writer = writer.partitionBy(*sink.partition_by)
    writer.save(sink.path)
