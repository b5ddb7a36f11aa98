"""`--from` and `--to`: times of ISO 8601, ages, milliseconds."""

from __future__ import annotations

import pytest

from kcli.console.moments import parse_moment
from kcli.failures import UsageFailure

NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW_MS),
        ("1700000000000", 1_700_000_000_000),
        ("-90s", NOW_MS - 90_000),
        ("-1h30m", NOW_MS - 5_400_000),
        ("-2d", NOW_MS - 172_800_000),
        ("-PT1H", NOW_MS - 3_600_000),
        ("-99999d", 0),
        ("2026-01-31", 1_769_817_600_000),
        ("2026-01-31T12:30", 1_769_862_600_000),
        ("2026-01-31 12:30:00.5Z", 1_769_862_600_500),
        ("2026-01-31T12:30:00+02:00", 1_769_855_400_000),
        ("20260131", 1_769_817_600_000),
        ("1960-01-01", 0),
    ],
)
def test_moments(text: str, expected: int) -> None:
    assert parse_moment("--from", text, NOW_MS) == expected


@pytest.mark.parametrize("text", ["", "soon", "-", "-1", "-h", "-1x", "+1h", "-P1X", "2026-13-01", "12:30"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(UsageFailure, match=r"^--from '.*': not a time. Valid forms: "):
        parse_moment("--from", text, NOW_MS)


def test_beyond_time() -> None:
    with pytest.raises(UsageFailure, match="too large; the largest timestamp is"):
        parse_moment("--to", str(2**63), NOW_MS)
