"""Reads an offset range on an executor as Arrow batches, with the consumer's native decoder.

A worker process keeps its consumer for the next range with the same settings. Missing offsets within a range are
normal: compaction and transactions leave gaps.
"""

from __future__ import annotations

import time

import pyarrow

from kcore.client.consumer.consumer import Consumer
from kcore.client.consumer.consumer_errors import LogTruncated, OffsetOutOfRange
from kcore.client.errors import ClientTimeout
from kspark import data_loss
from kspark.kept_clients import KeptClients
from kspark.schema import BATCH_ROWS, HEADERS, with_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kspark.offset_range import OffsetRange
    from kspark.source_options import SourceOptions

# Timeout of one poll. Between polls the position is checked, because it moves past gaps without any record.
LOOK_MS = 50.0
DEFAULT_SETTINGS = {
    # A late read must not re-create a deleted topic.
    "allow.auto.create.topics": "false",
    # The records existed when the range was planned. A fetch beyond the last record would only delay the worker's next
    # range, whose fetch must wait for it.
    "fetch.max.wait.ms": "10",
}
SOURCE_SETTINGS = {"enable.auto.commit": "false", "auto.offset.reset": "none"}
GROUP_SETTINGS = ("group.id", "group.instance.id", "group.protocol")

kept_consumers = KeptClients(Consumer)


def read_range(options: SourceOptions, wanted: OffsetRange) -> Iterator[pyarrow.RecordBatch]:
    """Yield the range's records in order.

    Raises DataLoss if records no longer exist, TimeoutError if none arrives in time, and errors of the consumer.
    """
    with kept_consumers.lent(consumer_settings(options.client)) as consumer:
        yield from _RangeReader(consumer, options, wanted).batches()
        consumer.unsubscribe()


def consumer_settings(client: dict[str, str]) -> dict[str, str]:
    """Return the settings of the consumer, without those of a group: reading a range needs no group."""
    given = {name: value for name, value in client.items() if name not in GROUP_SETTINGS}
    return DEFAULT_SETTINGS | given | SOURCE_SETTINGS


class _RangeReader:
    def __init__(self, consumer: Consumer, options: SourceOptions, wanted: OffsetRange) -> None:
        self._consumer = consumer
        self._options = options
        self._wanted = wanted
        self._position = wanted.start
        self._patience_s = options.poll_timeout_ms / 1000

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        wanted, columns = self._wanted, self._options.columns
        self._consumer.assign([wanted.partition])
        self._consumer.seek(wanted.partition, wanted.start)
        deadline = time.monotonic() + self._patience_s
        while self._position < wanted.end:
            batch = self._next_batch()
            if batch is not None:
                yield with_columns(batch, columns)
                deadline = time.monotonic() + self._patience_s
            elif self._position < wanted.end and time.monotonic() > deadline:
                if self._is_at_end():
                    self._skip_what_never_was()
                    return
                raise TimeoutError(
                    f"{wanted.partition}: no record at offset {self._position} within "
                    f"{self._options.poll_timeout_ms} ms (range up to {wanted.end}). "
                    "Is its leader running? Otherwise raise kafkaConsumer.pollTimeoutMs"
                )

    def _is_at_end(self) -> bool:
        """Return whether the broker answers and the log ends at the position, so that waiting longer is useless.

        The answer may take `default.api.timeout.ms`, because it queues behind a waiting fetch."""
        partition = self._wanted.partition
        try:
            end = self._consumer.end_offsets([partition])[partition]
        except ClientTimeout:
            return False
        return end <= self._position

    def _skip_what_never_was(self) -> None:
        data_loss.report(
            f"{self._wanted.partition}: the log ends at offset {self._position}, but the query needs records up to "
            f"{self._wanted.end}",
            fails=self._options.fail_on_data_loss,
        )

    def _next_batch(self) -> pyarrow.RecordBatch | None:
        """Return the next records of the range; None if none arrived within LOOK_MS."""
        wanted = self._wanted
        most = min(wanted.end - self._position, BATCH_ROWS)
        try:
            columns = self._consumer.poll_arrow(
                LOOK_MS, max_records=most, include_headers=HEADERS in self._options.columns
            )
            position = self._consumer.position(wanted.partition)
        except (OffsetOutOfRange, LogTruncated) as error:
            self._skip_what_is_gone(error)
            return None
        self._position = max(position, self._position)
        if not len(columns):
            return None
        batch = pyarrow.record_batch(columns)
        if self._position <= wanted.end:
            return batch
        # The poll went past a gap: some records are beyond the range.
        inside = int((columns.offset < wanted.end).sum())
        return batch.slice(0, inside) if inside else None

    def _skip_what_is_gone(self, error: Exception) -> None:
        wanted = self._wanted
        first = self._consumer.beginning_offsets([wanted.partition])[wanted.partition]
        data_loss.report(
            f"{wanted.partition}: the log starts at offset {first}, but the query needs records from {self._position} "
            f"to {wanted.end} ({error})",
            fails=self._options.fail_on_data_loss,
        )
        if first <= self._position:
            # The log ends before these records: the topic was re-created, or the log was truncated.
            self._position = wanted.end
            return
        self._position = min(first, wanted.end)
        self._consumer.seek(wanted.partition, first)
