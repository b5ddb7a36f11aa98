"""What a check of a pipeline finds: mistakes, clusters that do not answer, and warnings.

A check collects everything before it reports, so that one run shows all mistakes. A mistake names its place in the
file (`sources.flights.options`), what is wrong there, and what to do.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class PipelineError(ValueError):
    """A mistake in a pipeline's file, or a failure of its run. The message names the place, the reason and the remedy;
    a check that finds several mistakes puts each on a line of its own.
    """


class Findings:
    """Lines of text, in the order in which the checks find them."""

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
        """Whether a mistake is in this part (`sources.flights`) or in a key of it; the key `besides` does not count."""
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
    """The known name that was probably meant; None when none is similar."""
    from difflib import get_close_matches

    by_lower_case = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), by_lower_case, 1)
    return by_lower_case[near[0]] if near else None


def hint(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, as the end of a message; empty when none is similar."""
    near = nearest(name, known)
    return f"; did you mean '{near}'?" if near is not None else ""
