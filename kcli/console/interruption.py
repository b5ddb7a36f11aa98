"""SIGINT and SIGTERM as the end of a loop that closes what it has open.

The first signal is noted and wakes whoever waits; a second one ends the process as if nobody had listened. A signal
that the process was started to ignore is left alone.
"""

from __future__ import annotations

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import TypeVar

    Result = TypeVar("Result")

# For how long a call that is to be finished may go on after a signal.
PATIENCE_S = 1.0
# What a shell calls a process that a signal ended.
EXIT_CODE_OF_SIGNALS = 128


class Interrupted(BaseException):
    """Raised out of a call that may block for ever, when a signal comes within `blocking`."""


class Interruption:
    """`number` is the signal that came, or None. Use it as a context manager, on the main thread."""

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
        """A call that may block; Interrupted when a signal comes meanwhile, or has come, and what it gives is lost."""
        self._blocking += 1
        try:
            if self.number is not None:
                raise Interrupted
            return call()
        finally:
            self._blocking -= 1

    def finishing(self, call: Callable[[], Result]) -> Result:
        """A call that a signal is not to break off; Interrupted when it is not over a moment after one came."""
        self._finishing += 1
        try:
            return call()
        finally:
            self._finishing -= 1

    @property
    def exit_code(self) -> int:
        """130 for Ctrl-C, 143 for SIGTERM; 0 when nothing has come."""
        return 0 if self.number is None else EXIT_CODE_OF_SIGNALS + self.number
