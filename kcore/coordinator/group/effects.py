"""Effects of a group's state machine. A shard carries them out in order after each event."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kcore.coordinator.group.records import Pair


class Reply:
    """Answer the request of `token` with these response fields."""

    __slots__ = ("fields", "token")

    def __init__(self, token: object, fields: dict[str, Any]) -> None:
        self.token = token
        self.fields = fields

    def __repr__(self) -> str:
        return f"Reply({self.token!r}, {self.fields!r})"


class StartTimer:
    """Call `on_timer(name)` of the group after `delay_ms`. Replaces a running timer of that name."""

    __slots__ = ("delay_ms", "name")

    def __init__(self, name: tuple[str, ...], delay_ms: int) -> None:
        self.name = name
        self.delay_ms = delay_ms

    def __repr__(self) -> str:
        return f"StartTimer({self.name!r}, {self.delay_ms})"


class StopTimer:
    """Stop the timer of this name, if it runs."""

    __slots__ = ("name",)

    def __init__(self, name: tuple[str, ...]) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"StopTimer({self.name!r})"


class Persist:
    """Append these records, then call `on_persisted(event, error, now_ms)` of the group and carry out its effects.

    With an error nothing was written. `event` is the group's own description of the records.
    """

    __slots__ = ("event", "records")

    def __init__(self, records: Sequence[Pair], event: object) -> None:
        self.records = records
        self.event = event

    def __repr__(self) -> str:
        return f"Persist({self.records!r}, {self.event!r})"


class Note:
    """Log a change of the group and its reason."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"Note({self.text!r})"


if TYPE_CHECKING:
    Effect = Reply | StartTimer | StopTimer | Persist | Note
