"""Parses command lines as Kafka's tools do: the rules and the error messages of joptsimple.

    --name value   --name=value   -name value   --flag   --optional [value]   --   other words

Names cannot be abbreviated. An option with a required value takes the next word, whatever it is. An option with an
optional value takes the next word unless it looks like an option.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class WrongCommandLine(Exception):
    """The message of Kafka's tool for an invalid command line, printed before its help."""


class Option(NamedTuple):
    """`value` is the placeholder for the value in the help; empty for a flag, `[...]` for an optional value.

    `to` is the name in kcli, by default the same one. Options with an empty `to` are ignored.
    """

    name: str
    value: str = ""
    to: str | None = None
    help: str = ""

    @property
    def translated(self) -> str:
        return f"--{self.name}" if self.to is None else self.to


class ParsedWords(NamedTuple):
    """`options` in order; the value is None for flags and omitted values. `others` are the remaining words."""

    options: list[tuple[Option, str | None]]
    others: list[str]

    def has(self, name: str) -> bool:
        return any(option.name == name for option, _ in self.options)

    def values(self, name: str) -> list[str]:
        return [value for option, value in self.options if option.name == name and value is not None]


def parse_words(words: Sequence[str], options: Iterable[Option]) -> ParsedWords:
    """Parses a command line. Raises WrongCommandLine if the options do not allow it."""
    known = {option.name: option for option in options}
    parsed = ParsedWords([], [])
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.lstrip("-").partition("=")
        hyphens = len(word) - len(word.lstrip("-"))
        if word == "--":
            parsed.others.extend(rest)
            break
        if hyphens == 0 or not name:
            parsed.others.append(word)
        elif hyphens > 2 or name not in known:
            raise WrongCommandLine(f"{name} is not a recognized option")
        else:
            option = known[name]
            parsed.options.append((option, _value(option, value if equals else None, rest)))
    return parsed


def _value(option: Option, stated: str | None, rest: list[str]) -> str | None:
    if not option.value:
        return None
    if stated is not None:
        return stated
    if option.value.startswith("["):
        return rest.pop(0) if rest and not rest[0].startswith("-") else None
    if not rest:
        raise WrongCommandLine(f"Option {option.name} requires an argument")
    return rest.pop(0)
