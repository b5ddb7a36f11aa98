"""Reads and prints records until the maximum number, the timeout, or the end of the range.

Records that were fetched but not printed count as unread: positions go back to them, so that a group loses nothing.
"""

from __future__ import annotations

import time

from kcli.console.interruption import Interrupted
from kcli.failures import Failure
from kcore.client.consumer.consumer_errors import Woken
from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from kcli.console.output_stream import OutputStream
    from kcli.console.read_range import ReadRange
    from kcli.console.record_filter import Filter
    from kcore.client.consumer.consumer import Consumer
    from kcore.client.consumer.consumer_record import ConsumerRecord
    from kcore.client.consumer.record_columns import RecordColumns

    OfColumns = Callable[[RecordColumns, int, int], bytes]

    class Formatter(Protocol):
        needs_headers: bool

        @property
        def of_columns(self) -> OfColumns | None:
            """None if records are needed."""

        def of_records(self, records: list[ConsumerRecord]) -> bytes: ...


POLL_MS = 500.0
# Limits the rows of a poll, so that they are written quickly.
MAX_ROWS = 65_536


class RecordPrinter:
    def __init__(
        self,
        consumer: Consumer,
        formatter: Formatter,
        output: OutputStream,
        read_range: ReadRange,
        *,
        matches: Filter | None = None,
        max_messages: int | None = None,
        timeout_ms: int | None = None,
        skips_errors: bool = False,
        report: Callable[[str], object] = print,
    ) -> None:
        self.count = 0
        self._consumer = consumer
        self._formatter = formatter
        self._output = output
        self._range = read_range
        self._matches = matches
        self._max_messages = max_messages
        self._timeout_ms = timeout_ms
        self._skips_errors = skips_errors
        self._report = report

    def run(self, begin: Callable[[], None]) -> None:
        """Reads from the position that `begin` sets, to the end or a signal. Raises BrokenPipeError if the reader of
        the output is gone."""
        of_columns = self._formatter.of_columns if self._matches is None else None
        last_s = time.monotonic()
        try:
            begin()
            while not self._has_enough and not self._range.is_over():
                left_ms = POLL_MS
                if self._timeout_ms is not None:
                    left_ms = self._timeout_ms - (time.monotonic() - last_s) * 1000.0
                wait_ms = max(0.0, min(POLL_MS, left_ms))
                if self._print_records(wait_ms) if of_columns is None else self._print_columns(of_columns, wait_ms):
                    last_s = time.monotonic()
                elif left_ms <= 0.0:
                    return
                else:
                    self._output.raise_if_nobody_reads()
        except (Woken, Interrupted):
            return

    @property
    def _has_enough(self) -> bool:
        return self._max_messages is not None and self.count >= self._max_messages

    @property
    def _wanted(self) -> int | None:
        return None if self._max_messages is None else self._max_messages - self.count

    # Columns, without an object per record

    def _print_columns(self, of_columns: OfColumns, timeout_ms: float) -> bool:
        wanted = self._wanted
        columns = self._consumer.poll_columns(
            timeout_ms,
            max_records=MAX_ROWS if wanted is None else min(MAX_ROWS, wanted),
            include_headers=self._formatter.needs_headers,
        )
        sources = columns.sources
        spans = [(source[2], self._cut_rows(columns, *source)) for source in sources]
        text = b"".join([of_columns(columns, start, end) for start, end in _joined(spans)])
        self._write(text, {TopicPartition(t, p): columns.offset_at(start) for t, p, start, _ in reversed(sources)})
        self.count += sum(end - start for start, end in spans)
        return len(columns) > 0

    def _cut_rows(self, columns: RecordColumns, topic: str, partition: int, start: int, end: int) -> int:
        """The end of the rows of a partition that are within the range."""
        place = TopicPartition(topic, partition)
        bound = self._range.end_of(topic, partition)
        if bound is None:
            return end
        cut = columns.first_row_from(bound, start, end)
        if cut < end:
            self._range.close(place)
        return cut

    # Records, one by one

    def _print_records(self, timeout_ms: float) -> bool:
        records = self._consumer.poll(timeout_ms)
        chosen, rest = self._choose(records)
        text, failure = self._text_of(chosen)
        self._write(text, _first_offsets(records))
        self.count += len(chosen)
        if failure is not None:
            raise failure
        for partition, offset in _first_offsets(rest).items():
            self._consumer.seek(partition, offset)
        return bool(records)

    def _choose(self, records: list[ConsumerRecord]) -> tuple[list[ConsumerRecord], list[ConsumerRecord]]:
        """The records to print, and the records beyond the maximum number."""
        chosen: list[ConsumerRecord] = []
        beyond: set[TopicPartition] = set()
        wanted, matches, end_of = self._wanted, self._matches, self._range.end_of
        for number, record in enumerate(records, 1):
            bound = end_of(record.topic, record.partition)
            if bound is not None and record.offset >= bound:
                beyond.add(TopicPartition(record.topic, record.partition))
            elif matches is None or matches(record):
                chosen.append(record)
                if len(chosen) == wanted:
                    return chosen, records[number:]
        for partition in beyond:
            self._range.close(partition)
        return chosen, []

    def _text_of(self, records: list[ConsumerRecord]) -> tuple[bytes, Failure | None]:
        """The text of the records, up to the first one that cannot be formatted, unless such records are skipped."""
        try:
            return self._formatter.of_records(records), None
        except (ValueError, TypeError):
            pass
        pieces = []
        for record in records:
            try:
                pieces.append(self._formatter.of_records([record]))
            except (ValueError, TypeError) as error:
                message = f"{record.topic}-{record.partition}, offset {record.offset}: {error}"
                if not self._skips_errors:
                    return b"".join(pieces), Failure(f"{message}. Skip such records with --skip-message-on-error")
                self._report(message)
        return b"".join(pieces), None

    def _write(self, text: bytes, begins: dict[TopicPartition, int]) -> None:
        """If a signal interrupts the write, all of its records count as unread."""
        try:
            self._output.write(text)
        except Interrupted:
            for partition, offset in begins.items():
                self._consumer.seek(partition, offset)
            raise


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins spans of rows that are adjacent."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            start = joined.pop()[0]
        joined.append((start, end))
    return joined


def _first_offsets(records: Sequence[ConsumerRecord]) -> dict[TopicPartition, int]:
    return {TopicPartition(record.topic, record.partition): record.offset for record in reversed(records)}
