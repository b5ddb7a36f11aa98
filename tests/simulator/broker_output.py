"""What brokers in this process say, kept for a report instead of shown."""

from __future__ import annotations

import io
from types import TracebackType
from typing import Self

from kcore.logger import OUTPUT

SHOWN_LINES = 20


class BrokerOutput:
    """While it is entered the lines go here."""

    def __init__(self) -> None:
        self._stream = io.StringIO()
        self._before = OUTPUT.stream

    def __enter__(self) -> Self:
        self._before, OUTPUT.stream = OUTPUT.stream, self._stream
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        OUTPUT.stream = self._before

    def text(self) -> str:
        """The last lines."""
        return "\n".join(self._stream.getvalue().splitlines()[-SHOWN_LINES:])
