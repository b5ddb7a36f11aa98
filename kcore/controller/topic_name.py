"""Which names a topic may have (Kafka's `Topic` class).

A name is a directory on disk and a part of a metric's name: at most 249 of ASCII letters, digits, `.`, `_` and `-`. In
metrics `.` and `_` become the same character, so that two names that differ only by them collide.
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

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


class TopicNames:
    """The names that new topics must not have: `existing` before a request, and those that the request adds.

    The existing names that can collide are looked through once, and only for a name that can collide itself.
    """

    __slots__ = ("_added", "_existing", "_unified")

    def __init__(self, existing: Collection[str]) -> None:
        self._existing = existing
        self._added: set[str] = set()
        self._unified: dict[str, str] | None = None

    def check(self, name: str) -> None:
        """KafkaError for a name that no topic may have, or that one has."""
        validate_topic_name(name)
        if name == CLUSTER_METADATA_TOPIC:
            raise errors.InvalidRequestError(f"Creation of internal topic {name} is prohibited.")
        if name in self._existing or name in self._added:
            raise errors.TopicAlreadyExistsError(f"Topic '{name}' already exists.")
        self.check_collision(name)

    def check_collision(self, name: str) -> None:
        """InvalidTopicError when another topic's name differs only in `.` and `_`."""
        if not _can_collide(name):
            return
        other = self._unified_names().get(_unified(name), name)
        if other != name:
            raise errors.InvalidTopicError(f"Topic '{name}' collides with existing topic: {other}")

    def add(self, name: str) -> None:
        """A topic of the request has this name now."""
        self._added.add(name)
        if self._unified is not None and _can_collide(name):
            self._unified[_unified(name)] = name

    def _unified_names(self) -> dict[str, str]:
        if self._unified is None:
            names = (*self._existing, *self._added)
            self._unified = {_unified(name): name for name in names if _can_collide(name)}
        return self._unified


def _can_collide(name: str) -> bool:
    return "." in name or "_" in name


def _unified(name: str) -> str:
    """What two names that collide have in common."""
    return name.replace(".", "_")
