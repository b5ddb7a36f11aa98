"""How far a reader is behind the end of a partition, in records and in seconds: the one rule, for the broker's metrics
and for `kcli groups`. Pure.

In records it is the distance from the committed offset to the high watermark, in seconds the age of the first record
that was not read. Who has read everything is 0 seconds behind, however old the last record is; and a record from the
future, by whatever clock its producer has, makes nobody early.
"""

from __future__ import annotations


def records_behind(committed_offset: int, end_offset: int) -> int:
    """The distance to the end in offsets; 0 when the commit is beyond it, as after a topic was created again."""
    return max(0, end_offset - committed_offset)


def first_unread(committed_offset: int, start_offset: int) -> int:
    """The offset of the first unread record: retention may have deleted records that were not read."""
    return max(committed_offset, start_offset)


def seconds_behind(lag: int, unread_timestamp_ms: int | None, now_ms: int) -> float | None:
    """The age of the first record that was not read; None when there is one, and its time is not known."""
    if lag == 0:
        return 0.0
    if unread_timestamp_ms is None or unread_timestamp_ms < 0:
        return None
    return max(0, now_ms - unread_timestamp_ms) / 1000
