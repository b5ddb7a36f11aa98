"""`auto.offset.reset`: where a consumer without a position begins (AutoOffsetResetStrategy, KIP-1106).

A duration is in ISO 8601 format: `by_duration:P1DT2H3M4.5S`. A day has 24 hours. Each number may have a sign. Only the
seconds may have a fraction, after a point or a comma. The total must not be negative.
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.config.definition import Validator, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.config.definition import ConfigValue

LATEST, EARLIEST, NONE, BY_DURATION = "latest", "earliest", "none", "by_duration"
DURATION_PREFIX = f"{BY_DURATION}:"
# Maximum digits of each number. Keeps every duration within 64 bits of milliseconds.
MAX_DIGITS = 12
UNITS_MS = (("D", 86_400_000), ("H", 3_600_000), ("M", 60_000), ("S", 1_000))


class ResetStrategy(NamedTuple):
    """`kind` is LATEST, EARLIEST, NONE or BY_DURATION. `duration_ms` is the time before now for BY_DURATION, else 0."""

    kind: str
    duration_ms: int = 0


def reset_strategy(text: str) -> ResetStrategy | None:
    """Return the strategy for a value; None if the value is invalid."""
    if text in (LATEST, EARLIEST, NONE):
        return ResetStrategy(text)
    if not text.startswith(DURATION_PREFIX):
        return None
    duration_ms = duration_to_ms(text.removeprefix(DURATION_PREFIX))
    return None if duration_ms is None or duration_ms < 0 else ResetStrategy(BY_DURATION, duration_ms)


def duration_to_ms(text: str) -> int | None:
    """Return an ISO 8601 duration of days and smaller units in whole milliseconds; None if it is invalid."""
    upper = text.upper().replace(",", ".")
    sign = -1 if upper.startswith("-") else 1
    upper = upper.lstrip("+-") if upper[:1] in ("+", "-") and upper[1:2] == "P" else upper
    if not upper.startswith("P"):
        return None
    days, has_time, clock = upper[1:].partition("T")
    parts = _parts(days, UNITS_MS[:1])
    clock_parts = _parts(clock, UNITS_MS[1:]) if has_time else []
    if parts is None or clock_parts is None or not parts + clock_parts or (has_time and not clock_parts):
        return None
    return sign * sum(parts + clock_parts)


def _parts(text: str, units: tuple[tuple[str, int], ...]) -> list[int] | None:
    """Return each number with its unit in milliseconds, the units in order; None if the text is invalid."""
    found = []
    for unit, unit_ms in units:
        number, is_there, rest = text.partition(unit)
        if not is_there:
            continue
        part_ms = _number_ms(number, unit_ms, may_have_fraction=unit == "S")
        if part_ms is None:
            return None
        found.append(part_ms)
        text = rest
    return None if text else found


def _number_ms(text: str, unit_ms: int, *, may_have_fraction: bool) -> int | None:
    sign = -1 if text.startswith("-") else 1
    whole, point, fraction = text[text[:1] in ("+", "-") :].partition(".")
    if not _is_number(whole, MAX_DIGITS) or (point and not may_have_fraction):
        return None
    if fraction and not _is_number(fraction, 9):
        return None
    return sign * (int(whole) * unit_ms + int(fraction[:3].ljust(3, "0")))


def _is_number(text: str, max_digits: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= max_digits


def _check(name: str, value: ConfigValue) -> None:
    if not isinstance(value, str) or reset_strategy(value) is None:
        raise invalid(
            name,
            value,
            "The value must be 'earliest', 'latest', 'none', or 'by_duration:' and an ISO 8601 duration that is not "
            "negative, such as by_duration:P1DT2H",
        )


AUTO_OFFSET_RESET = Validator("[latest, earliest, none, by_duration:PnDTnHnMn.nS]", _check)
