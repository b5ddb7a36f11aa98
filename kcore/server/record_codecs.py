"""Produced batches whose codec this system cannot read without the GIL, because its library is not installed.

A handler takes the compression off with a wheel before the log sees the batch, so that LogValidator's rules hold for
the records inside; the batch is then stored without compression, or in the topic's own codec.
"""

from __future__ import annotations

from kcore import errors
from kcore.record.compression import is_available

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Buffer: TypeAlias = bytes | bytearray | memoryview

BATCH_HEADER_SIZE = 61
ATTRIBUTES_LOW_BYTE = 22
COMPRESSION_MASK = 0x07


def readable_batch(records: Buffer, limit_bytes: int) -> Buffer:
    """The batch as it came where the system has its codec; otherwise without compression. What is no batch stays.

    MESSAGE_TOO_LARGE where its records would be larger than `limit_bytes`.
    """
    data = memoryview(records)
    if len(data) < BATCH_HEADER_SIZE or is_available(data[ATTRIBUTES_LOW_BYTE] & COMPRESSION_MASK):
        return records
    from kcore.record.codec_fallback import decompressed_batch
    from kcore.record.decoder import decode_batches

    batch = next(decode_batches(records, check_crc=False), None)
    if batch is None:
        # It is cut within its records: the log refuses it in its own words.
        return records
    if not batch.has_valid_checksum():
        raise errors.CorruptMessageError("The record batch does not match its checksum.")
    return decompressed_batch(bytes(data), limit_bytes)
