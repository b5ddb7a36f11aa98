"""Numbers within a range, as types of options. Their errors name the range in words."""

from __future__ import annotations

import click

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class IntegerRange(click.IntRange):
    """An integer from `min` to `max`, both included; None is no limit."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> int:
        try:
            return int(super().convert(value, parameter, context))
        except click.BadParameter:
            self.fail(f"{str(value)!r} is not an integer{_described(self.min, self.max)}", parameter, context)


class NumberRange(click.FloatRange):
    """A number from `min` to `max`, likewise."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float:
        try:
            return float(super().convert(value, parameter, context))
        except click.BadParameter:
            self.fail(f"{str(value)!r} is not a number{_described(self.min, self.max)}", parameter, context)


def _described(low: float | None, high: float | None) -> str:
    if low is None:
        return "" if high is None else f" of at most {high}"
    return f" of at least {low}" if high is None else f" from {low} to {high}"
