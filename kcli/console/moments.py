"""`--from` and `--to`: times, as milliseconds since 1970.

2026-01-31, 2026-01-31T12:30, 2026-01-31 12:30:00.5Z    ISO 8601, in UTC unless it has a time zone
-90s, -15m, -1h30m, -2d, -PT1H                          a duration before now
now, 1767225600000                                      the current time; milliseconds since 1970
"""

from __future__ import annotations

import re

from kcli.failures import UsageFailure

AGO = re.compile(r"-(?=\d)(?:(?P<d>\d+)d)?(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m)?(?:(?P<s>\d+)s)?")
MS_OF = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000}
MAX_TIMESTAMP = 2**63 - 1
FORMS = "not a time. Valid forms: 2026-01-31T12:30, -1h30m (before now), now, or milliseconds since 1970"


def parse_moment(option: str, text: str, now_ms: int) -> int:
    """Raises UsageFailure for invalid times. Times before 1970 become 1970."""
    if text == "now":
        return now_ms
    if text.isdecimal() and len(text) > 8:
        if int(text) > MAX_TIMESTAMP:
            raise UsageFailure(f"{option} {text}: too large; the largest timestamp is {MAX_TIMESTAMP}")
        return int(text)
    ago = AGO.fullmatch(text)
    if ago is not None:
        return max(0, now_ms - sum(int(ago[unit]) * ms for unit, ms in MS_OF.items() if ago[unit]))
    if text[:2].upper() == "-P":
        return max(0, now_ms + _parse_duration(option, text))
    return _parse_iso(option, text)


def _parse_duration(option: str, text: str) -> int:
    from kcli.consumer_groups.moments import parse_duration

    try:
        return parse_duration(text)
    except UsageFailure:
        raise UsageFailure(f"{option} {text!r}: {FORMS}") from None


def _parse_iso(option: str, text: str) -> int:
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageFailure(f"{option} {text!r}: {FORMS}") from None
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return max(0, (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000)
