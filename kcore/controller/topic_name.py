"""Valid topic names (Kafka's `Topic` class).

A name is part of a directory name and of metric names. It has at most 249 characters, of ASCII letters, digits, `.`,
`_` and `-`. In metric names `.` and `_` are replaced by the same character, so names that differ only in them collide.
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

# `<topic>-<partition>` has to fit into the 255 bytes of a file name. Longer directory names truncate the topic.
MAX_NAME_LENGTH = 249
CLUSTER_METADATA_TOPIC = "__cluster_metadata"

_LEGAL_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def validate_topic_name(name: str) -> None:
    """Raises InvalidTopicError with Kafka's message for an invalid name."""
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
    """The names that new topics must not have: `existing` ones, and those that the request has added.

    The index of colliding names is built only once, and only if a new name can collide.
    """

    __slots__ = ("_added", "_existing", "_unified")

    def __init__(self, existing: Collection[str]) -> None:
        self._existing = existing
        self._added: set[str] = set()
        self._unified: dict[str, str] | None = None

    def check(self, name: str) -> None:
        """Raises KafkaError if the name is invalid or in use."""
        validate_topic_name(name)
        if name == CLUSTER_METADATA_TOPIC:
            raise errors.InvalidRequestError(f"Creation of internal topic {name} is prohibited.")
        if name in self._existing or name in self._added:
            raise errors.TopicAlreadyExistsError(f"Topic '{name}' already exists.")
        self.check_collision(name)

    def check_collision(self, name: str) -> None:
        """Raises InvalidTopicError if an existing name differs only in `.` and `_`."""
        if not _can_collide(name):
            return
        other = self._unified_names().get(_unified(name), name)
        if other != name:
            raise errors.InvalidTopicError(f"Topic '{name}' collides with existing topic: {other}")

    def add(self, name: str) -> None:
        """Adds the name of a topic in the same request."""
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
    """The form that colliding names have in common."""
    return name.replace(".", "_")
