"""Timestamps for ListOffsets that implement a reset (`auto.offset.reset`, KIP-1106)."""

from __future__ import annotations

from kcore.client.config.auto_offset_reset import EARLIEST, LATEST, NONE, ResetStrategy

TO_EARLIEST = ResetStrategy(EARLIEST)
TO_LATEST = ResetStrategy(LATEST)
NO_RESET = ResetStrategy(NONE)
# Special timestamps of ListOffsets.
LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2


def timestamp_of(strategy: ResetStrategy, time_ms: int) -> int:
    """Return the timestamp for ListOffsets. `time_ms` is the current wall-clock time."""
    if strategy.kind == EARLIEST:
        return EARLIEST_TIMESTAMP
    if strategy.kind == LATEST:
        return LATEST_TIMESTAMP
    return max(0, time_ms - strategy.duration_ms)
