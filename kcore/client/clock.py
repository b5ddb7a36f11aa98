"""The clock for deadlines of clients."""

from __future__ import annotations

import time


def now_ms() -> float:
    """Return the time of a monotonic clock in milliseconds."""
    return time.monotonic() * 1000.0
