"""Subscriber: a member of a consumer group as an assignor sees it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    # Partitions by topic id.
    Assignment: TypeAlias = Mapping[bytes, frozenset[int]]


class Subscriber:
    """The ids of the existing topics that the member subscribes to, its target assignment and its instance id."""

    __slots__ = ("instance_id", "target", "topics")

    def __init__(self, topics: frozenset[bytes], target: Assignment, instance_id: str | None = None) -> None:
        self.topics = topics
        self.target = target
        self.instance_id = instance_id
