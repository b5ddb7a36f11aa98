"""What a group's state machine asks of the world. A shard carries effects out, in order, after each event."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kcore.coordinator.group.records import Pair


class Reply:
    """Answer the request that `token` stands for with these response fields."""

    __slots__ = ("fields", "token")

    def __init__(self, token: object, fields: dict[str, Any]) -> None:
        self.token = token
        self.fields = fields

    def __repr__(self) -> str:
        return f"Reply({self.token!r}, {self.fields!r})"


class StartTimer:
    """Give the event `on_timer(name)` to the group in `delay_ms`; replaces a running timer of that name."""

    __slots__ = ("delay_ms", "name")

    def __init__(self, name: tuple[str, ...], delay_ms: int) -> None:
        self.name = name
        self.delay_ms = delay_ms

    def __repr__(self) -> str:
        return f"StartTimer({self.name!r}, {self.delay_ms})"


class StopTimer:
    """Forget the timer of this name, if it runs."""

    __slots__ = ("name",)

    def __init__(self, name: tuple[str, ...]) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"StopTimer({self.name!r})"


class Persist:
    """Append these records, then give the group `on_persisted(event, error, now_ms)` and carry out what follows.

    With an error nothing was kept. `event` is the group's own note of what the records are about.
    """

    __slots__ = ("event", "records")

    def __init__(self, records: Sequence[Pair], event: object) -> None:
        self.records = records
        self.event = event

    def __repr__(self) -> str:
        return f"Persist({self.records!r}, {self.event!r})"


class Note:
    """Say in the broker's log what became of a group, and why."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"Note({self.text!r})"


if TYPE_CHECKING:
    Effect = Reply | StartTimer | StopTimer | Persist | Note
