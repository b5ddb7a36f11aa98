"""The rows that are measured: in a topic, and the same in Arrow files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy
import pyarrow

from kcore.client.metadata.cluster import TopicPartition
from kcore.client.producer import Producer
from kspark.offset_range import OffsetRange
from kspark.range_reader import read_range
from kspark.source_options import source_options

PARTITIONS = 4
ROWS_A_CALL = 2_000


class Rows(NamedTuple):
    """`records` of `size` bytes each, without keys: a multiple of PARTITIONS calls."""

    topic: str
    records: int
    size: int
    arrow: Path

    @property
    def megabytes(self) -> float:
        return self.records * self.size / 1e6


def rows_of(servers: str, size: int, megabytes: int, directory: Path) -> Rows:
    """Writes the topic, and reads it into the files: what is compared is the same, rows and batches alike."""
    calls = max(megabytes * 1_000_000 // size // ROWS_A_CALL // PARTITIONS, 1)
    rows = Rows(f"rows-{size}", calls * ROWS_A_CALL * PARTITIONS, size, directory / f"rows-{size}")
    # Bytes that no codec makes small, and that are the same in every run.
    noise = numpy.random.default_rng(size).bytes(ROWS_A_CALL * size)
    offsets = pyarrow.py_buffer(numpy.arange(0, (ROWS_A_CALL + 1) * size, size, dtype=numpy.int32))
    values = pyarrow.Array.from_buffers(pyarrow.binary(), ROWS_A_CALL, [None, offsets, pyarrow.py_buffer(noise)])
    with Producer({"bootstrap.servers": servers, "batch.size": 131_072, "buffer.memory": 1 << 28}) as producer:
        futures = [
            producer.send_batch(rows.topic, values, partition=number % PARTITIONS)
            for number in range(calls * PARTITIONS)
        ]
        producer.flush()
        for future in futures:
            future.result()
    _keep_as_arrow(servers, rows)
    return rows


def _keep_as_arrow(servers: str, rows: Rows) -> None:
    rows.arrow.mkdir()
    options = source_options({"kafka.bootstrap.servers": servers, "subscribe": rows.topic}, is_streaming=False)
    for number in range(PARTITIONS):
        whole = OffsetRange(TopicPartition(rows.topic, number), bytes(16), 0, rows.records // PARTITIONS)
        batches = iter(read_range(options, whole))
        first = next(batches)
        with pyarrow.ipc.new_file(rows.arrow / f"{number}.arrow", first.schema) as file:
            file.write_batch(first)
            for batch in batches:
                file.write_batch(batch)
