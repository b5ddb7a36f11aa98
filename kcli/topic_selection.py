"""Topic selection: names, shell patterns and regular expressions, separated by commas.

An item of letters, digits, `.`, `_` and `-` is a name: `a.b` does not match `axb`, as it does in kafka-topics. An item
with `*` or `?` as in a shell (`orders-*`) is a shell pattern. Any other item is a regular expression that must match
the whole name, as in kafka-topics (`orders-.*`, `(a|b)[0-9]+`).
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
TOPIC_NAME_RULE = "invalid topic name. Use only letters, digits, '.', '_' and '-'"
# `*` and `?` after a name's character, or alone. After `.`, `)` or `]` they belong to a regular expression.
SHELL_PATTERN = re.compile(r"(?:(?:^|(?<=[a-zA-Z0-9_*?-]))[*?]|[a-zA-Z0-9._-])+")


topics_option = click.option(
    "--topic",
    "topic_option",
    metavar="TOPICS",
    shell_complete=complete_topics,
    help="Topic names or patterns, separated by commas: a,b or 'orders-*' or '(a|b)[0-9]+'.",
)
exclude_internal_option = click.option("--exclude-internal", is_flag=True, help="Exclude internal topics.")


class TopicSelection:
    """`names` must exist; `patterns`, in their original text, match any number of topics."""

    __slots__ = ("_expressions", "names", "patterns")

    def __init__(self, text: str, option: str = "--topic") -> None:
        pieces = [piece.strip() for piece in split_pieces(text) if piece.strip()]
        if not pieces:
            raise UsageFailure(f"{option}: the topic name is empty")
        self.names = list(dict.fromkeys(piece for piece in pieces if NAME.fullmatch(piece)))
        self.patterns = [piece for piece in pieces if not NAME.fullmatch(piece)]
        self._expressions = [(piece, compile_pattern(piece, option)) for piece in self.patterns]

    def includes(self, name: str) -> bool:
        """Whether a topic is selected."""
        return name in self.names or any(expression.fullmatch(name) for _, expression in self._expressions)

    def unmatched(self, names: Iterable[str]) -> list[str]:
        """The names that are not among these, and the patterns that match none of them."""
        present = set(names)
        missing = [name for name in self.names if name not in present]
        return missing + [text for text, found in self._expressions if not any(map(found.fullmatch, present))]


def text_of(argument: str | None, option: str | None) -> str:
    """The topics of the argument or of --topic; both or neither is an error."""
    name = one_of(argument, option)
    if name is None:
        raise UsageFailure("no topic given: pass TOPIC or --topic TOPIC")
    return name


def one_of(argument: str | None, option: str | None) -> str | None:
    """The topic of the argument or of --topic; both is an error."""
    if argument is not None and option is not None:
        raise UsageFailure(f"topic given twice: {argument} as an argument and --topic {option}. Remove one")
    return argument if option is None else option


def split_pieces(text: str) -> list[str]:
    """Splits at commas, except within brackets and braces of regular expressions."""
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
    """The regular expression of an item that is not a plain name."""
    # Bytes on the command line that are not text are surrogates in Python. Topic names cannot contain them.
    if not piece.isprintable():
        raise UsageFailure(f"{option} {piece!r}: {TOPIC_NAME_RULE}")
    try:
        return re.compile(fnmatch.translate(piece) if SHELL_PATTERN.fullmatch(piece) else piece)
    except re.error as error:
        raise UsageFailure(f"{option} {piece!r}: invalid regular expression ({error})") from None


def find_topics(admin: TopicAdmin, selection: TopicSelection | None) -> tuple[list[TopicDescription], list[str]]:
    """The selected topics, and the names and patterns without a topic. Names are described; patterns need a list."""
    if selection is None:
        return admin.list_topics(), []
    if not selection.patterns:
        from kcore.client.admin.results import failures, succeeded

        described = admin.describe_topics(selection.names)
        return list(succeeded(described).values()), list(failures(described))
    found = [topic for topic in admin.list_topics() if selection.includes(topic.name)]
    return found, selection.unmatched(topic.name for topic in found)


def not_there(name: str) -> NotThere:
    """The failure for a name or pattern without a topic."""
    if NAME.fullmatch(name):
        from kcore.client.errors import UnknownTopic

        return NotThere(name, str(UnknownTopic(name)))
    return NotThere(name, f"no topic matches {name}. List the topics with: kcli topics list")
