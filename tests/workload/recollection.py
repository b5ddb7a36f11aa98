"""What a process's clients logged last, kept to be told if one of them stands still."""

from __future__ import annotations

import faulthandler
import logging
import sys
from collections import deque

KEPT_LINES = 300


class Recollection(logging.Handler):
    """In the place of all other handlers: nobody wants to see each connection that a client loses."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        self.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))

    def tell(self, who: str) -> None:
        """Prints the last lines, and where every thread stands."""
        print(f"{who} stands still. Its process logged:", *self.lines, sep="\n", file=sys.stderr, flush=True)
        faulthandler.dump_traceback(all_threads=True)


RECOLLECTION = Recollection()
