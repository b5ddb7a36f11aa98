"""Decompresses produced batches in Python if the system library of their codec is not installed.

A handler then decompresses the batch with a Python package before the log appends it, so that LogValidator can check
its records. The batch is stored uncompressed, or in the topic's codec.
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
    """The records unchanged if their codec is available, or else decompressed. Incomplete batches are unchanged.

    Raises CorruptMessageError for a wrong checksum, and the error MESSAGE_TOO_LARGE above `limit_bytes`.
    """
    data = memoryview(records)
    if len(data) < BATCH_HEADER_SIZE or is_available(data[ATTRIBUTES_LOW_BYTE] & COMPRESSION_MASK):
        return records
    from kcore.record.codec_fallback import decompressed_batch
    from kcore.record.decoder import decode_batches

    batch = next(decode_batches(records, check_crc=False), None)
    if batch is None:
        # The batch is cut off within its records. The log refuses it with its own error.
        return records
    if not batch.has_valid_checksum():
        raise errors.CorruptMessageError("The record batch does not match its checksum.")
    return decompressed_batch(bytes(data), limit_bytes)
