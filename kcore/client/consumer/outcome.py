"""The future result of an operation: a value or an error. It is completed once; later completions are ignored."""

from __future__ import annotations

from typing import Generic, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

Value = TypeVar("Value")


class Outcome(Generic[Value]):
    """Shared between threads under the consumer's lock, like the state machines."""

    __slots__ = ("_listeners", "_value", "error", "is_done")

    def __init__(self) -> None:
        self.is_done = False
        self.error: Exception | None = None
        self._value: Value | None = None
        self._listeners: list[Callable[[Outcome[Value]], None]] = []

    def complete(self, value: Value) -> None:
        if not self.is_done:
            self._value = value
            self._end()

    def fail(self, error: Exception) -> None:
        if not self.is_done:
            self.error = error
            self._end()

    def _end(self) -> None:
        self.is_done = True
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener(self)

    def on_done(self, listener: Callable[[Outcome[Value]], None]) -> None:
        if self.is_done:
            listener(self)
        else:
            self._listeners.append(listener)

    def take(self) -> Value:
        """Return the value or raise the error. Call this once, after it is done.

        The error is not kept: its traceback would keep frames and their local variables alive.
        """
        assert self.is_done
        error, self.error = self.error, None
        if error is None:
            return self._value  # type: ignore[return-value]
        try:
            raise error
        finally:
            del error
