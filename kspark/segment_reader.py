"""Reads a split of a segment file on an executor as Arrow batches, with columns from the record batch headers.

Records are decoded natively, as from a Fetch response. A corrupt batch fails the task with its path and offset. With
`skipCorrupt`, the rest of the split is skipped instead. Control batches yield no records.
"""

from __future__ import annotations

import mmap
import os

import numpy
import pyarrow

from kcore.client.consumer.partition_reader import PartitionReader
from kcore.errors import KafkaError
from kcore.record.compression import NAMES as CODECS
from kcore.record.decoder import decode_batches
from kspark import data_loss
from kspark.schema import BATCH_COLUMNS, BATCH_ROWS, HEADERS, with_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kspark.log_options import LogOptions
    from kspark.log_segments import SegmentSplit


def read_split(options: LogOptions, split: SegmentSplit) -> Iterator[pyarrow.RecordBatch]:
    descriptor = os.open(split.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        file = mmap.mmap(descriptor, os.fstat(descriptor).st_size, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)
    # The memoryview keeps the mapping alive.
    data = memoryview(file)[split.start : split.end]
    heads = _BatchHeads(data, split) if options.needs_batches else None
    reader = PartitionReader(data, split.topic, split.partition, check_crcs=options.checks_crcs)
    try:
        while len(
            columns := reader.take_columns(BATCH_ROWS, for_arrow=True, include_headers=HEADERS in options.columns)
        ):
            batch = pyarrow.record_batch(columns)
            if heads is not None:
                batch = heads.beside(batch)
            yield with_columns(batch, options.columns)
    except KafkaError as error:
        data_loss.report(
            f"{split.path}: records after offset {reader.next_offset - 1} cannot be read ({error})",
            fails=not options.skips_corrupt,
        )


class _BatchHeads:
    """Header fields of each batch in a split, to add as columns to its records."""

    def __init__(self, data: memoryview, split: SegmentSplit) -> None:
        self._path = split.path
        rows = []
        try:
            for batch in decode_batches(data, False):
                rows.append(
                    (
                        batch.last_offset,
                        split.start + batch.position,
                        batch.size_bytes,
                        batch.partition_leader_epoch,
                        batch.producer_id,
                        batch.producer_epoch,
                        batch.base_sequence,
                        batch.codec,
                        batch.is_transactional,
                        batch.magic,
                    )
                )
        except KafkaError:
            # The reader meets the same batch and reports the error.
            pass
        self._heads = numpy.array(rows, dtype=numpy.int64).reshape(len(rows), 10)

    def beside(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        offsets = batch.column("offset").to_numpy(zero_copy_only=False)
        mine = self._heads[numpy.searchsorted(self._heads[:, 0], offsets)]
        codecs = pyarrow.DictionaryArray.from_arrays(mine[:, 7].astype(numpy.int8), list(CODECS)).cast(pyarrow.string())
        added = {
            "segment": pyarrow.repeat(self._path, batch.num_rows),
            "batchPosition": pyarrow.array(mine[:, 1], pyarrow.int64()),
            "batchBytes": pyarrow.array(mine[:, 2].astype(numpy.int32), pyarrow.int32()),
            "leaderEpoch": pyarrow.array(mine[:, 3].astype(numpy.int32), pyarrow.int32()),
            "producerId": pyarrow.array(mine[:, 4], pyarrow.int64()),
            "producerEpoch": pyarrow.array(mine[:, 5].astype(numpy.int32), pyarrow.int32()),
            "baseSequence": pyarrow.array(mine[:, 6].astype(numpy.int32), pyarrow.int32()),
            "compression": codecs,
            "isTransactional": pyarrow.array(mine[:, 8].astype(bool), pyarrow.bool_()),
            "magic": pyarrow.array(mine[:, 9].astype(numpy.int32), pyarrow.int32()),
        }
        columns = [added[name] for name in BATCH_COLUMNS]
        return pyarrow.RecordBatch.from_arrays([*batch.columns, *columns], [*batch.schema.names, *BATCH_COLUMNS])
