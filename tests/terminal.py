"""What a terminal shows: text with the control sequences of live views, on lines that nothing scrolls away.

Only what those views use is understood: carriage return, line feed, cursor up, erase line, home, and the alternate
screen, whose lines are gone when it is left. Other sequences (colours, the cursor's look) change no text.
"""

from __future__ import annotations

import re

TOKEN = re.compile(
    r"\x1b\[(?P<arguments>[?\d;]*)(?P<command>[A-Za-z])|(?P<text>[^\x1b\r\n]+)|(?P<control>.)", re.DOTALL
)
ALTERNATE_SCREEN = "?1049"


class Terminal:
    def __init__(self) -> None:
        self._lines = [""]
        self._row = 0
        self._column = 0
        # The lines and the row of the usual screen, while the alternate one is shown.
        self._kept: tuple[list[str], int] | None = None

    def feed(self, text: str) -> None:
        """Whole sequences: a view's output in one piece."""
        for token in TOKEN.finditer(text):
            if token["command"]:
                self._obey(token["command"], token["arguments"])
            elif token["text"]:
                self._put(token["text"])
            elif token["control"] == "\r":
                self._column = 0
            elif token["control"] == "\n":
                self._row += 1
                if self._row == len(self._lines):
                    self._lines.append("")

    def lines(self) -> list[str]:
        """Of the screen that is shown, without trailing spaces."""
        return [line.rstrip() for line in self._lines]

    def _put(self, text: str) -> None:
        line = self._lines[self._row].ljust(self._column)
        self._lines[self._row] = line[: self._column] + text + line[self._column + len(text) :]
        self._column += len(text)

    def _obey(self, command: str, arguments: str) -> None:
        if command == "A":
            self._row = max(0, self._row - int(arguments or 1))
        elif command == "K":
            self._lines[self._row] = ""
        elif command == "H":
            self._row = self._column = 0
        elif command == "h" and arguments == ALTERNATE_SCREEN:
            self._kept = self._lines, self._row
            self._lines, self._row = [""], 0
        elif command == "l" and arguments == ALTERNATE_SCREEN and self._kept is not None:
            (self._lines, self._row), self._kept = self._kept, None
