"""Detects damage in the write-ahead log of SQLite (see SQLite's "WAL-mode file format").

    header    32 bytes: magic, version, page size, checkpoint number, two salts, checksum of the first 24 bytes
    frame     24 bytes: page number, pages of the database after a commit or 0, the header's salts, checksum; the page

SQLite treats the first frame with a wrong checksum as the end of the log, because a crash leaves an uncommitted
transaction like that. After damage, this rule silently drops committed transactions. Each transaction is synced before
the next one is written. So if another transaction follows that of the wrong frame, the cause is damage and not a crash.

Damage to the last transaction, or a truncated or removed log, cannot be distinguished from a crash before the commit.
"""

from __future__ import annotations

from array import array

HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
# The magic number's last bit gives the byte order of the words for checksums.
MAGIC_LITTLE, MAGIC_BIG = 0x377F0682, 0x377F0683
IS_LITTLE_MACHINE = array("H", [1]).tobytes()[0] == 1
WORD = 0xFFFFFFFF


def damage_in(log: bytes) -> str | None:
    """A description of damage that makes committed transactions unreadable, or None."""
    if len(log) <= HEADER_BYTES + FRAME_HEADER_BYTES:
        return None
    magic, page_bytes = number(log, 0), number(log, 8)
    sums = checksum((0, 0), log[:24], magic)
    if magic not in (MAGIC_LITTLE, MAGIC_BIG) or sums != (number(log, 24), number(log, 28)):
        return "the header of its write-ahead log is damaged"
    frame_bytes = FRAME_HEADER_BYTES + page_bytes
    positions = range(HEADER_BYTES, len(log) - frame_bytes + 1, frame_bytes)
    for index, position in enumerate(positions):
        page = position + FRAME_HEADER_BYTES
        if log[position + 8 : position + 16] == log[16:24]:
            sums = checksum(sums, log[position : position + 8], magic)
            sums = checksum(sums, log[page : page + page_bytes], magic)
            if sums == (number(log, position + 16), number(log, position + 20)):
                continue
        if a_transaction_follows(log, positions[index:]):
            return f"frame {index + 1} of its write-ahead log is damaged, and committed transactions follow it"
        return None
    return None


def a_transaction_follows(log: bytes, positions: range) -> bool:
    """Whether the transaction of the frame at the first position was committed, and another one begins after it."""
    of_this_log = [position for position in positions if log[position + 8 : position + 16] == log[16:24]]
    return any(number(log, position + 4) for position in of_this_log[:-1])


def checksum(sums: tuple[int, int], data: bytes, magic: int) -> tuple[int, int]:
    """SQLite's checksum, continued over `data`."""
    words = array("I", data)
    if (magic == MAGIC_LITTLE) != IS_LITTLE_MACHINE:
        words.byteswap()
    first, second = sums
    values = iter(words)
    for one in values:
        first = (first + one + second) & WORD
        second = (second + next(values) + first) & WORD
    return first, second


def number(data: bytes, position: int) -> int:
    return int.from_bytes(data[position : position + 4], "big")
