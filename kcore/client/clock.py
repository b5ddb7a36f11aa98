"""The clock for deadlines of clients."""

from __future__ import annotations

import time


def now_ms() -> float:
    """Milliseconds of a monotonic clock."""
    return time.monotonic() * 1000.0
