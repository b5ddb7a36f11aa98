"""Typed access to the options of a source or a sink. Spark passes them as text; names are case-insensitive."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

TRUE, FALSE = "true", "false"
KAFKA_PREFIX = "kafka."


class OptionError(ValueError):
    """An invalid option. The message names the option, the rule and the remedy."""


class Options:
    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {name.lower(): str(value) for name, value in given.items()}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._given

    def names(self) -> Iterable[str]:
        """The names of all given options, in lower case."""
        return self._given.keys()

    def text(self, name: str, default: str | None = None) -> str | None:
        return self._given.get(name.lower(), default)

    def flag(self, name: str, default: bool) -> bool:
        given = self._given.get(name.lower())
        if given is None:
            return default
        if given.strip().lower() not in (TRUE, FALSE):
            raise OptionError(f"{name} must be true or false, not {given!r}")
        return given.strip().lower() == TRUE

    def number(self, name: str, *, at_least: int) -> int | None:
        """Return an integer option; None if it is not given."""
        given = self._given.get(name.lower())
        if given is None:
            return None
        try:
            number = int(given.strip())
        except ValueError:
            raise OptionError(f"{name} must be a whole number, not {given!r}") from None
        if number < at_least:
            raise OptionError(f"{name} must be at least {at_least}, not {number}")
        return number

    def document(self, name: str) -> Any | None:
        """Return a JSON option as a value; None if it is not given."""
        given = self._given.get(name.lower())
        if given is None:
            return None
        try:
            return json.loads(given)
        except ValueError as error:
            raise OptionError(f"{name} must be JSON, not {given!r}: {error}") from None

    def of_client(self) -> dict[str, str]:
        """Return the options for Kafka's client (`kafka.*`) without the prefix."""
        prefixed = {name: value for name, value in self._given.items() if name.startswith(KAFKA_PREFIX)}
        return {name[len(KAFKA_PREFIX) :]: value for name, value in prefixed.items()}


def mistakes(checks: Iterable[Callable[[], object]]) -> list[str]:
    """Run every check and return the distinct messages of those that fail."""
    found: dict[str, None] = {}
    for check in checks:
        try:
            check()
        except OptionError as error:
            found[str(error)] = None
    return list(found)
