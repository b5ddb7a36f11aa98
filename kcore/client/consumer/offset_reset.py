"""Where a reset goes: what ListOffsets is asked for (`auto.offset.reset`, KIP-1106)."""

from __future__ import annotations

from kcore.client.config.auto_offset_reset import EARLIEST, LATEST, NONE, ResetStrategy

TO_EARLIEST = ResetStrategy(EARLIEST)
TO_LATEST = ResetStrategy(LATEST)
NO_RESET = ResetStrategy(NONE)
# ListOffsets: timestamps that stand for a place in the log.
LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2


def timestamp_of(strategy: ResetStrategy, time_ms: int) -> int:
    """What to ask for; `time_ms` is the time of day."""
    if strategy.kind == EARLIEST:
        return EARLIEST_TIMESTAMP
    if strategy.kind == LATEST:
        return LATEST_TIMESTAMP
    return max(0, time_ms - strategy.duration_ms)
