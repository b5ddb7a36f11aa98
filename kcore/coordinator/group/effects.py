"""What a group's state machine asks of the world. The coordinator carries effects out, in order, after each event."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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


if TYPE_CHECKING:
    Effect = Reply | StartTimer | StopTimer
