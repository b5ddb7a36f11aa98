"""Writes Arrow batches to topics on an executor. Delivery is at least once, because Spark may repeat a task.

The rows of one topic and partition are passed to the producer in one call. A worker process keeps its producer for the
next task with the same settings.
"""

from __future__ import annotations

from collections import deque

import pyarrow
import pyarrow.compute

from kcore.client.producer import Producer
from kspark.kept_clients import KeptClients

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kcore.client.producer import BatchFuture
    from kspark.sink_options import SinkOptions

# Maximum number of `send_batch` calls in flight. `buffer.memory` limits their bytes.
CALLS_ON_THE_WAY = 256

kept_producers = KeptClients(Producer)


class WriteError(RuntimeError):
    """A row cannot be written. The message names the cause and the remedy."""


def write_rows(options: SinkOptions, batches: Iterator[pyarrow.RecordBatch]) -> int:
    """Write all rows, wait for their acknowledgements, and return their number."""
    with kept_producers.lent(options.client) as producer:
        return _RowWriter(producer, options).write(batches)


class _RowWriter:
    def __init__(self, producer: Producer, options: SinkOptions) -> None:
        self._producer = producer
        self._options = options
        self._on_the_way: deque[BatchFuture] = deque()

    def write(self, batches: Iterator[pyarrow.RecordBatch]) -> int:
        written = 0
        for batch in batches:
            for topic, rows in self._by_topic(batch):
                for partition, part in _by_partition(rows):
                    self._send(topic, partition, part)
            written += batch.num_rows
        self._producer.flush()
        self._wait_until_at_most(0)
        return written

    def _by_topic(self, batch: pyarrow.RecordBatch) -> Iterator[tuple[str, pyarrow.RecordBatch]]:
        if self._options.topic is not None:
            yield self._options.topic, batch
            return
        topics = batch.column("topic")
        if topics.null_count:
            raise WriteError("a row's topic is null. Fill the column, or set the option topic for all rows")
        yield from _groups(batch, topics)

    def _send(self, topic: str, partition: int | None, rows: pyarrow.RecordBatch) -> None:
        columns = self._options.columns
        future = self._producer.send_batch(
            topic,
            rows.column("value"),
            keys=rows.column("key") if "key" in columns else None,
            headers=_headers(rows.column("headers")) if "headers" in columns else None,
            partition=partition,
        )
        self._on_the_way.append(future)
        self._wait_until_at_most(CALLS_ON_THE_WAY)

    def _wait_until_at_most(self, count: int) -> None:
        while len(self._on_the_way) > count:
            self._on_the_way.popleft().result()


def _by_partition(rows: pyarrow.RecordBatch) -> Iterator[tuple[int | None, pyarrow.RecordBatch]]:
    """Group rows by partition; None: the producer chooses the partition."""
    if "partition" not in rows.schema.names:
        yield None, rows
        return
    yield from _groups(rows, rows.column("partition"))


def _groups(rows: pyarrow.RecordBatch, by: pyarrow.Array) -> Iterator[tuple[Any, pyarrow.RecordBatch]]:
    """Yield each value with its rows in order. Rows are not copied if there is only one value."""
    values = by.unique()
    for value in values:
        if len(values) == 1:
            chosen = rows
        elif value.is_valid:
            chosen = rows.filter(pyarrow.compute.equal(by, value))
        else:
            chosen = rows.filter(by.is_null())
        yield value.as_py(), chosen


def _headers(column: pyarrow.Array) -> list[list[tuple[str, bytes | None]] | None]:
    return [None if row is None else [(header["key"], header["value"]) for header in row] for row in column.to_pylist()]
