"""Which names a topic may have (Kafka's `Topic` class).

A name is a directory on disk and a part of a metric's name: at most 249 of ASCII letters, digits, `.`, `_` and `-`. In
metrics `.` and `_` become the same character, so that two names that differ only by them collide.
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# `<topic>-<partition>.<32 hex digits>-delete` has to fit into the 255 bytes of a file name.
MAX_NAME_LENGTH = 249
CLUSTER_METADATA_TOPIC = "__cluster_metadata"

_LEGAL_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def validate_topic_name(name: str) -> None:
    """InvalidTopicError says, in Kafka's words, what is wrong with a name."""
    reason = _objection(name)
    if reason is not None:
        raise errors.InvalidTopicError(f"Topic name is invalid: {reason}")


def _objection(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_NAME_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    if not _LEGAL_CHARACTERS.issuperset(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


def check_collision(name: str, existing: Iterable[str]) -> None:
    """InvalidTopicError when another topic's name differs only in `.` and `_`."""
    if "." not in name and "_" not in name:
        return
    unified = name.replace(".", "_")
    for other in existing:
        if other != name and other.replace(".", "_") == unified:
            raise errors.InvalidTopicError(f"Topic '{name}' collides with existing topic: {other}")
