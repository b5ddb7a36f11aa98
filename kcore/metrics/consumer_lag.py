"""The lag of a consumer in records and in seconds. The broker's metrics and `kcli groups` share this definition. Pure.

The lag in records is the distance from the committed offset to the high watermark. The lag in seconds is the age of the
first unread record. It is 0 if everything was read, however old the last record is, and never negative, even if the
producer's clock is ahead.
"""

from __future__ import annotations


def records_behind(committed_offset: int, end_offset: int) -> int:
    """The lag in records. 0 if the committed offset is beyond the end, for example after a topic was re-created."""
    return max(0, end_offset - committed_offset)


def first_unread(committed_offset: int, start_offset: int) -> int:
    """The offset of the first unread record. Retention may have deleted unread records."""
    return max(committed_offset, start_offset)


def seconds_behind(lag: int, unread_timestamp_ms: int | None, now_ms: int) -> float | None:
    """The age of the first unread record in seconds. None if its timestamp is unknown."""
    if lag == 0:
        return 0.0
    if unread_timestamp_ms is None or unread_timestamp_ms < 0:
        return None
    return max(0, now_ms - unread_timestamp_ms) / 1000
