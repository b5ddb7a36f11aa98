"""Times as in kafka-consumer-groups: a date and time, or a duration before now, in ISO 8601."""

from __future__ import annotations

import re

from kcli.failures import UsageFailure

DURATION = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<d>[-+]?\d+)D)?"
    r"(?:T(?:(?P<h>[-+]?\d+)H)?(?:(?P<m>[-+]?\d+)M)?(?:(?P<s>[-+]?\d+(?:[.,]\d{0,9})?)S)?)?",
    re.IGNORECASE,
)
MS_OF = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000}
MAX_TIMESTAMP = 2**63 - 1


def parse_datetime(text: str) -> int:
    """`2026-01-31T12:30:00.000`, in UTC unless it has a time zone (Z, +02:00), as milliseconds since 1970."""
    from datetime import UTC, datetime

    try:
        if "T" not in text:
            raise ValueError
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageFailure(f"--to-datetime {text!r}: not of the form YYYY-MM-DDTHH:mm:SS.sss") from None
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return max(0, (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000)


def parse_duration(text: str) -> int:
    """`P1DT2H30M` as milliseconds."""
    found = DURATION.fullmatch(text)
    parts = {} if found is None else {unit: found[unit] for unit in MS_OF if found[unit]}
    if found is None or not parts or text[-1] in "Tt":
        raise UsageFailure(f"--by-duration {text!r}: not of the form PnDTnHnMnS, as in P1D or PT1H30M")
    total_ms = int(sum(float(value.replace(",", ".")) * MS_OF[unit] for unit, value in parts.items()))
    if abs(total_ms) > MAX_TIMESTAMP:
        raise UsageFailure(f"--by-duration {text!r}: too long; the limit is {MAX_TIMESTAMP} ms")
    return -total_ms if found["sign"] == "-" else total_ms
