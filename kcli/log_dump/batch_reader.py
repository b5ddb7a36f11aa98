"""Steps through the batches of a .log file from its start, in pieces of bounded size.

Batches must follow each other without a gap. The first position without a valid batch ends the walk, and the bytes from
there on are reported as invalid. A file that grows meanwhile is read up to its original size.
"""

from __future__ import annotations

import os

from kcore.errors import KafkaError
from kcore.record.decoder import decode_batches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcore.record.decoder import RecordBatch

LOG_OVERHEAD = 12
READ_BYTES = 1 << 20


class BatchReader:
    """Iterates over positions and batches of a file. `position` is the end of the last valid batch so far."""

    def __init__(self, path: str, max_bytes: int | None = None) -> None:
        self.position = 0
        self._max_bytes = max_bytes
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        size = os.fstat(self._descriptor).st_size
        self.size_bytes = size if max_bytes is None else min(size, max_bytes)

    def __enter__(self) -> BatchReader:
        return self

    def __exit__(self, *exception: object) -> None:
        os.close(self._descriptor)

    @property
    def invalid_bytes(self) -> int:
        """The bytes after the last complete batch. 0 with `max_bytes`, which may cut a batch."""
        return self.size_bytes - self.position if self._max_bytes is None else 0

    def __iter__(self) -> Iterator[tuple[int, RecordBatch]]:
        for position, batch in self.batches_from(0):
            self.position = position + batch.size_bytes
            yield position, batch

    def batches_from(self, position: int) -> Iterator[tuple[int, RecordBatch]]:
        """Batches from the position of an index entry on; empty if no batch starts there."""
        while piece := self._read(position):
            batches = decode_batches(piece, False)
            start = position
            try:
                for batch in batches:
                    position = start + batch.position + batch.size_bytes
                    yield start + batch.position, batch
            except KafkaError:
                return
            if position == start:
                return

    def batch_at(self, position: int) -> RecordBatch | None:
        """The batch that starts at a position."""
        return next((batch for _, batch in self.batches_from(position)), None)

    def _read(self, position: int) -> bytes:
        """A piece of the file that includes the batch at `position`, if that batch is complete."""
        head = self._pread(position, LOG_OVERHEAD)
        if len(head) < LOG_OVERHEAD:
            return b""
        length = int.from_bytes(head[8:], "big", signed=True)
        if length <= 0 or position + LOG_OVERHEAD + length > self.size_bytes:
            return b""
        return self._pread(position, max(LOG_OVERHEAD + length, READ_BYTES))

    def _pread(self, position: int, size: int) -> bytes:
        return os.pread(self._descriptor, max(0, min(size, self.size_bytes - position)), position)
