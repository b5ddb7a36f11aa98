"""Command lines as Kafka's tools read them: joptsimple's rules, and joptsimple's words for what breaks them.

    --name value   --name=value   -name value   --flag   --optional [value]   --   other words

Names are not abbreviated. An option that needs a value takes the next word whatever it is; one that may have a value
takes it unless it looks like an option.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class WrongCommandLine(Exception):
    """What Kafka's tool would say of a command line before its help."""


class Option(NamedTuple):
    """`value` is what stands for its value in the help, empty for a flag; `[...]` is a value that may be missing.

    `to` is its name in kcli: the same without it; an empty one is an option that says nothing to kcli.
    """

    name: str
    value: str = ""
    to: str | None = None
    help: str = ""

    @property
    def translated(self) -> str:
        return f"--{self.name}" if self.to is None else self.to


class ParsedWords(NamedTuple):
    """`options` in their order, with None for the value of a flag and of one that was left out; `others` are words."""

    options: list[tuple[Option, str | None]]
    others: list[str]

    def has(self, name: str) -> bool:
        return any(option.name == name for option, _ in self.options)

    def values(self, name: str) -> list[str]:
        return [value for option, value in self.options if option.name == name and value is not None]


def parse_words(words: Sequence[str], options: Iterable[Option]) -> ParsedWords:
    """Takes a command line apart; WrongCommandLine for what the options do not allow."""
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
