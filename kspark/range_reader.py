"""Reads a range of offsets on an executor, as Arrow batches: native from the socket to the columns.

A worker process keeps its consumer for the next range with the same settings. Offsets that are missing in a range are
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

# Positions move past gaps without a record: how often they are looked at meanwhile.
LOOK_MS = 50.0
DEFAULT_SETTINGS = {
    # A topic that was deleted stays so: whoever reads it late must not be the one who makes it anew.
    "allow.auto.create.topics": "false",
    # What is read was there when it was planned. A fetch ahead that waits behind the last record would only hold up the
    # worker's next range, whose fetch has to wait for its end.
    "fetch.max.wait.ms": "10",
}
SOURCE_SETTINGS = {"enable.auto.commit": "false", "auto.offset.reset": "none"}
GROUP_SETTINGS = ("group.id", "group.instance.id", "group.protocol")

kept_consumers = KeptClients(Consumer)


def read_range(options: SourceOptions, wanted: OffsetRange) -> Iterator[pyarrow.RecordBatch]:
    """The range's records in order. DataLoss for those that are gone; ClientTimeout and the like as they come."""
    with kept_consumers.lent(consumer_settings(options.client)) as consumer:
        yield from _RangeReader(consumer, options, wanted).batches()
        consumer.unsubscribe()


def consumer_settings(client: dict[str, str]) -> dict[str, str]:
    """Nobody joins a group to read a range."""
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
        """Whether the broker is there, and has nothing more: then waiting longer is of no use.

        It has `default.api.timeout.ms` to say so: its answer stands behind that of a fetch that waits."""
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
        """None when no record of the range came for a moment."""
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
        # There was a gap: some of it lies behind the range.
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
            # It ends before them: a topic that was made anew, or a log that was cut.
            self._position = wanted.end
            return
        self._position = min(first, wanted.end)
        self._consumer.seek(wanted.partition, first)
