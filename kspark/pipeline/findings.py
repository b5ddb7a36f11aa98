"""Collects the results of a pipeline's checks: mistakes, unreachable clusters and warnings.

Checks continue after a mistake, so one run shows all of them. A mistake names its place in the file
(`sources.flights.options`), the cause and the remedy.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class PipelineError(ValueError):
    """A mistake in a pipeline's file, or a failure of its run. The message names the place, the cause and the remedy.

    If a check finds several mistakes, each is on its own line.
    """


class Findings:
    """Lines of text, in the order in which they were found."""

    def __init__(self) -> None:
        self.mistakes: list[str] = []
        self.unreachable: list[str] = []
        self.warnings: list[str] = []
        self._places: set[str] = set()

    def mistake(self, place: str, text: str) -> None:
        self._places.add(place)
        line = f"{place}: {text}" if place else text
        if line not in self.mistakes:
            self.mistakes.append(line)

    def has_mistake_in(self, part: str, *, besides: str | None = None) -> bool:
        """Return whether a mistake is in this part (`sources.flights`) or its keys, except in the key `besides`."""
        return any(
            _is_within(place, part) and (besides is None or not _is_within(place, f"{part}.{besides}"))
            for place in self._places
        )

    def raise_mistakes(self) -> None:
        if self.mistakes:
            raise PipelineError("\n".join(self.mistakes))


def _is_within(place: str, part: str) -> bool:
    return place == part or place.startswith(f"{part}.")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar; None if none is similar."""
    from difflib import get_close_matches

    by_lower_case = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), by_lower_case, 1)
    return by_lower_case[near[0]] if near else None


def hint(name: str, known: Iterable[str]) -> str:
    """Return the most similar known name as the end of a message; empty if none is similar."""
    near = nearest(name, known)
    return f"; did you mean '{near}'?" if near is not None else ""
