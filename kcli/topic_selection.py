"""Which topics a command means: names, shell patterns and regular expressions, several of them between commas.

A piece of letters, digits, `.`, `_` and `-` is a name and nothing else: `a.b` does not mean `axb`, as it does to
kafka-topics. One in which `*` and `?` stand where a shell has them (`orders-*`) is a shell pattern; any other is a
regular expression for the whole name, as kafka-topics takes it (`orders-.*`, `(a|b)[0-9]+`).
"""

from __future__ import annotations

import fnmatch
import re

import click

from kcli.completion import complete_topics
from kcli.failures import NotThere, UsageFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcore.client.admin.topics import TopicAdmin
    from kcore.client.metadata.cluster import TopicDescription

NAME = re.compile(r"[a-zA-Z0-9._-]+")
# `*` and `?` behind a name's character, or alone; behind `.`, `)` or `]` they belong to a regular expression.
SHELL_PATTERN = re.compile(r"(?:(?:^|(?<=[a-zA-Z0-9_*?-]))[*?]|[a-zA-Z0-9._-])+")


topics_option = click.option(
    "--topic",
    "topic_option",
    metavar="TOPICS",
    shell_complete=complete_topics,
    help="Names, or patterns: a,b,c or orders-* or '(a|b)[0-9]+'.",
)
exclude_internal_option = click.option("--exclude-internal", is_flag=True, help="Leave out the broker's own topics.")


class TopicSelection:
    """`names` are to be there; `patterns`, as they were written, match what they match."""

    __slots__ = ("_expressions", "names", "patterns")

    def __init__(self, text: str, option: str = "--topic") -> None:
        pieces = [piece.strip() for piece in split_pieces(text) if piece.strip()]
        if not pieces:
            raise UsageFailure(f"{option}: the name is empty")
        self.names = list(dict.fromkeys(piece for piece in pieces if NAME.fullmatch(piece)))
        self.patterns = [piece for piece in pieces if not NAME.fullmatch(piece)]
        self._expressions = [(piece, compile_pattern(piece, option)) for piece in self.patterns]

    def includes(self, name: str) -> bool:
        """Whether a topic is meant."""
        return name in self.names or any(expression.fullmatch(name) for _, expression in self._expressions)

    def unmatched(self, names: Iterable[str]) -> list[str]:
        """The names that are not among these, and the patterns that match none of them."""
        present = set(names)
        missing = [name for name in self.names if name not in present]
        return missing + [text for text, found in self._expressions if not any(map(found.fullmatch, present))]


def text_of(argument: str | None, option: str | None) -> str:
    """What was said of topics, as an argument or with --topic, not both."""
    if (argument is None) == (option is None):
        raise UsageFailure("name the topic once, as TOPIC or with --topic")
    return argument or option or ""


def split_pieces(text: str) -> list[str]:
    """Splits at commas outside brackets and braces, where a regular expression may have its own."""
    pieces = [""]
    depth = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth <= 0:
            pieces.append("")
        else:
            pieces[-1] += character
    return pieces


def compile_pattern(piece: str, option: str) -> re.Pattern[str]:
    """A piece that is no plain name as a regular expression."""
    # The system's encoding keeps bytes that are no text as surrogates, which no topic's name can hold.
    if not piece.isprintable():
        raise UsageFailure(f"{option} {piece!r}: a topic's name is of letters, digits, '.', '_' and '-'")
    try:
        return re.compile(fnmatch.translate(piece) if SHELL_PATTERN.fullmatch(piece) else piece)
    except re.error as error:
        raise UsageFailure(f"{option} {piece!r}: no name and no regular expression ({error})") from None


def find_topics(admin: TopicAdmin, selection: TopicSelection | None) -> tuple[list[TopicDescription], list[str]]:
    """The topics that are meant, and the names and patterns that mean none; a name is asked for, the rest listed."""
    if selection is None:
        return admin.list_topics(), []
    if not selection.patterns:
        from kcore.client.admin.results import failures, succeeded

        described = admin.describe_topics(selection.names)
        return list(succeeded(described).values()), list(failures(described))
    found = [topic for topic in admin.list_topics() if selection.includes(topic.name)]
    return found, selection.unmatched(topic.name for topic in found)


def not_there(name: str) -> NotThere:
    """What is said of a name or pattern that means no topic."""
    if NAME.fullmatch(name):
        return NotThere(name, f"topic {name}: the cluster has no such topic")
    return NotThere(name, f"topics {name}: the cluster has none that matches")
