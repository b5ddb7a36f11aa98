"""The rule by which readers are behind, in records and in seconds."""

from __future__ import annotations

import pytest

from kcore.metrics.consumer_lag import first_unread, records_behind, seconds_behind


@pytest.mark.parametrize(("committed", "end", "lag"), [(0, 0, 0), (3, 10, 7), (10, 10, 0), (12, 10, 0)])
def test_records(committed: int, end: int, lag: int) -> None:
    assert records_behind(committed, end) == lag


def test_what_was_deleted_unread_is_passed_over() -> None:
    assert first_unread(3, 5) == 5
    assert first_unread(7, 5) == 7


@pytest.mark.parametrize(
    ("lag", "timestamp_ms", "seconds"),
    [(0, None, 0.0), (0, 1, 0.0), (5, 8_500, 1.5), (5, 10_000, 0.0), (5, 12_000, 0.0), (5, None, None), (5, -1, None)],
)
def test_seconds(lag: int, timestamp_ms: int | None, seconds: float | None) -> None:
    assert seconds_behind(lag, timestamp_ms, 10_000) == seconds
