"""What a batch costs in kcore.record, each as a ratio to another implementation measured in the same run.

    .venv/bin/python -m pytest perf/micro/test_record.py --benchmark-only --benchmark-sort=fullname

needs pytest-benchmark. Each group has one size of one job, each row of it one implementation; the relative column of a
group is the ratio. Nothing is asserted about time.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from typing import Any

import cramjam
import crc32c
import lz4.frame
import pytest
import zstandard
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

from kcore.record import compression, crc
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch
from kcore.record.validator import validate

BATCH_BYTES = 65536
RECORD_SIZES = [100, 1024]
TEXT = b"".join(b'{"carrier":"UA","flight":%d,"delay":%d},' % (i * 7919 % 5000, i % 97) for i in range(3000))[
    :BATCH_BYTES
]


def rows(size: int) -> list[tuple[bytes, bytes, tuple[()], int]]:
    generator = random.Random(size)
    return [
        (b"key-%05d" % n, generator.randbytes(size - 9), (), 1_700_000_000_000 + n) for n in range(BATCH_BYTES // size)
    ]


def write_with(builder_class: Any, records: list[tuple[bytes, bytes, tuple[()], int]]) -> bytes:
    builder = builder_class(2, 0, 0, -1, -1, -1, 1 << 30)
    for offset, (key, value, _, timestamp) in enumerate(records):
        builder.append(offset, timestamp, key, value, [])
    return bytes(builder.build())


def read_all(batch: Any) -> int:
    return sum(len(record.value) for record in batch)


CHECKSUMS: dict[str, Callable[[bytes], int]] = {
    "kcore": crc.checksum,
    "kcore-tables": crc.software_checksum,
    "crc32c-package": crc32c.crc32c,
}


@pytest.mark.parametrize("name", CHECKSUMS)
@pytest.mark.parametrize("size", [1024, 16384, 1048576])
def test_checksum(benchmark: Any, size: int, name: str) -> None:
    benchmark.group = f"checksum {size:>7} bytes"
    benchmark(CHECKSUMS[name], random.Random(size).randbytes(size))


@pytest.mark.parametrize("name", ["checksum-only", "header-only", "full", "full-gzip", "full-lz4", "full-zstd"])
@pytest.mark.parametrize("size", RECORD_SIZES)
def test_validate(benchmark: Any, size: int, name: str) -> None:
    """The batch is copied once by Python's face, which the native path does not do."""
    benchmark.group = f"validate 64 KiB of {size} byte records"
    codec = {"full-gzip": 1, "full-lz4": 3, "full-zstd": 4}.get(name, 0)
    data = encode_batch(rows(size), codec=codec)
    if name == "checksum-only":
        benchmark(crc.checksum, data)
    else:
        benchmark(validate, data, now_ms=1_700_000_000_000, header_only=name == "header-only")


ENCODERS: dict[str, Callable[[Any], bytes]] = {
    "kcore": encode_batch,
    "aiokafka": lambda records: write_with(AiokafkaBuilder, records),
    "kafka-python": lambda records: write_with(KafkaPythonBuilder, records),
}


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("size", RECORD_SIZES)
def test_encode(benchmark: Any, size: int, name: str) -> None:
    benchmark.group = f"encode 64 KiB of {size} byte records"
    benchmark(ENCODERS[name], rows(size))


DECODERS: dict[str, Callable[[bytes], int]] = {
    "kcore": lambda data: sum(read_all(batch) for batch in decode_batches(data)),
    "aiokafka": lambda data: read_all(AiokafkaBatch(data)),
    "kafka-python": lambda data: read_all(KafkaPythonBatch(data)),
}


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("size", RECORD_SIZES)
def test_decode(benchmark: Any, size: int, name: str) -> None:
    """Ours includes the checksum, the others' do not."""
    benchmark.group = f"decode 64 KiB of {size} byte records"
    benchmark(DECODERS[name], encode_batch(rows(size)))


PACKED = {codec: compression.compress_bytes(codec, TEXT) for codec in (1, 2, 3, 4)}
RAW_SNAPPY = bytes(cramjam.snappy.compress_raw(TEXT))
DECOMPRESSORS: dict[str, Callable[[], object]] = {
    "gzip-kcore": lambda: compression.decompress_bytes(1, PACKED[1]),
    "gzip-zlib": lambda: zlib.decompress(PACKED[1], 31),
    "lz4-kcore": lambda: compression.decompress_bytes(3, PACKED[3]),
    "lz4-package": lambda: lz4.frame.decompress(PACKED[3]),
    "snappy-kcore": lambda: compression.decompress_bytes(2, RAW_SNAPPY),
    "snappy-cramjam": lambda: cramjam.snappy.decompress_raw(RAW_SNAPPY),
    "zstd-kcore": lambda: compression.decompress_bytes(4, PACKED[4]),
    "zstd-package": lambda: zstandard.ZstdDecompressor().decompress(PACKED[4]),
}
COMPRESSORS: dict[str, Callable[[], object]] = {
    "gzip-kcore": lambda: compression.compress_bytes(1, TEXT),
    "gzip-zlib": lambda: zlib.compress(TEXT, wbits=31),
    "lz4-kcore": lambda: compression.compress_bytes(3, TEXT),
    "lz4-package": lambda: lz4.frame.compress(TEXT, block_linked=False),
    "snappy-kcore": lambda: compression.compress_bytes(2, TEXT),
    "snappy-cramjam": lambda: cramjam.snappy.compress_raw(TEXT),
    "zstd-kcore": lambda: compression.compress_bytes(4, TEXT),
    "zstd-package": lambda: zstandard.ZstdCompressor().compress(TEXT),
}


@pytest.mark.parametrize("name", DECOMPRESSORS)
def test_decompress(benchmark: Any, name: str) -> None:
    benchmark.group = f"decompress 64 KiB of text, {name.partition('-')[0]}"
    benchmark(DECOMPRESSORS[name])


@pytest.mark.parametrize("name", COMPRESSORS)
def test_compress(benchmark: Any, name: str) -> None:
    benchmark.group = f"compress 64 KiB of text, {name.partition('-')[0]}"
    benchmark(COMPRESSORS[name])
