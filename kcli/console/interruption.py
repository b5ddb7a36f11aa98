"""SIGINT and SIGTERM end a loop that closes its resources.

The first signal is noted and wakes a waiting call. The second one has its default effect. Signals that the process was
started to ignore stay ignored.
"""

from __future__ import annotations

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import TypeVar

    Result = TypeVar("Result")

# How long a `finishing` call may continue after a signal.
PATIENCE_S = 1.0
# The exit code that shells use for signals, minus the signal number.
EXIT_CODE_OF_SIGNALS = 128


class Interrupted(BaseException):
    """Raised by a signal out of a call that may block forever."""


class Interruption:
    """`number` is the signal that arrived, or None. A context manager for the main thread."""

    def __init__(self, wake: Callable[[], object] | None = None) -> None:
        self.number: int | None = None
        self._wake = wake
        self._blocking = 0
        self._finishing = 0
        self._before: dict[int, object] = {}

    def __enter__(self) -> Interruption:
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *rest: object) -> None:
        if signal.SIGALRM in self._before:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        self._let_go()

    def _let_go(self) -> None:
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        self._let_go()
        if self._blocking:
            raise Interrupted
        if self._finishing:
            self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._lose_patience)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
        if self._wake is not None:
            self._wake()

    def _lose_patience(self, number: int, frame: FrameType | None) -> None:
        if self._finishing:
            raise Interrupted

    def blocking(self, call: Callable[[], Result]) -> Result:
        """Runs a call that may block. A signal, also an earlier one, raises Interrupted, and the result is lost."""
        self._blocking += 1
        try:
            if self.number is not None:
                raise Interrupted
            return call()
        finally:
            self._blocking -= 1

    def finishing(self, call: Callable[[], Result]) -> Result:
        """Runs a call that a signal should not interrupt. Raises Interrupted if it still runs PATIENCE_S later."""
        self._finishing += 1
        try:
            return call()
        finally:
            self._finishing -= 1

    @property
    def exit_code(self) -> int:
        """130 for Ctrl-C, 143 for SIGTERM, 0 without a signal."""
        return 0 if self.number is None else EXIT_CODE_OF_SIGNALS + self.number
