r"""TopicPattern: a regular expression over topic names, in RE2's syntax as in Kafka (SubscribedTopicRegex of KIP-848).

Any member of a group may send a pattern, so that its cost is bounded: google-re2 matches in time linear in the name,
and `PatternLimits` bound the memory of one pattern and the CPU time over all names. Matching does not hold the
interpreter lock. google-re2 is imported with the first pattern: it takes 8 ms of CPU and 3 MiB of resident memory.

Kafka uses RE2/J 1.8. google-re2 was compared with it over 49,000 patterns. It also accepts `\C`, a repeated literal
brace (`{+`), group names that occur twice or are not ASCII, and scripts newer than RE2/J. It refuses a backslash before
a character that is not ASCII, counted repetitions that multiply to more than 1000, and patterns that need more than
`max_memory_bytes`. Of the patterns that both accept, only `(?i)\P{Ll}` matched other names: upper-case letters in
RE2/J, none here.
"""

from __future__ import annotations

from time import thread_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# RE2's errors in the words of RE2/J, which Kafka's clients know.
DESCRIPTIONS = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "pattern too large - compile failed": "expression is too large",
    "trailing \\": "trailing backslash at end of expression",
}
MISSING_LIBRARY = "the package google-re2 is not installed. Install it with: pip install google-re2"


class PatternError(ValueError):
    """The pattern cannot be used. The text is the reason."""


class PatternLimits:
    """Memory of one pattern (program and automaton), and CPU time to match all names of a cluster."""

    __slots__ = ("max_match_ms", "max_memory_bytes")

    def __init__(self, max_memory_bytes: int = 8 << 20, max_match_ms: int = 2_000) -> None:
        self.max_memory_bytes = max_memory_bytes
        self.max_match_ms = max_match_ms


DEFAULT_LIMITS = PatternLimits()


class TopicPattern:
    """A compiled pattern; PatternError if it is not valid or too large. Any number of threads may use it."""

    __slots__ = ("_expression", "_max_match_seconds")

    def __init__(self, text: str, limits: PatternLimits = DEFAULT_LIMITS) -> None:
        self._expression = _compiled(text, limits.max_memory_bytes)
        self._max_match_seconds = limits.max_match_ms / 1000

    def matching(self, names: Iterable[str]) -> frozenset[str]:
        """The names that match as a whole. PatternError when they take more CPU time than the limit."""
        matches = self._expression.fullmatch
        end = thread_time() + self._max_match_seconds
        found = set()
        for name in names:
            if matches(name) is not None:
                found.add(name)
            if thread_time() > end:
                raise PatternError("it takes too much work to match")
        return frozenset(found)


def _compiled(text: str, max_memory_bytes: int) -> Any:
    try:
        import re2
    except ImportError:
        raise PatternError(MISSING_LIBRARY) from None
    options = re2.Options()
    options.max_mem = max_memory_bytes
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error as error:
        raise PatternError(_description(error.args[0])) from None
    except UnicodeEncodeError:
        raise PatternError("invalid UTF-8") from None
    finally:
        # The module would keep the last 128 expressions, each with its memory.
        re2.purge()


def _description(error: bytes) -> str:
    """The error without the part of the pattern that RE2 quotes after it."""
    words = error.decode(errors="replace").partition(": ")[0]
    return DESCRIPTIONS.get(words, words)
