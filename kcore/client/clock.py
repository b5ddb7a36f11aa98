"""The clock that clients measure their deadlines by."""

from __future__ import annotations

import time


def now_ms() -> float:
    """Milliseconds of a clock that never goes back."""
    return time.monotonic() * 1000.0
