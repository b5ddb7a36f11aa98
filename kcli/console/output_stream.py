"""Standard output as a console writes it: whole pieces at once, ended by signals, and aware that the reader may go.

A file takes what it is given. For a pipe room is waited for first and filled then, in pieces that surely fit, so that a
signal can end the wait without leaving open what was written: nothing that a slow reader keeps waiting blocks the end.
"""

from __future__ import annotations

import os
import select
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcli.console.interruption import Interruption


class OutputStream:
    def __init__(self, descriptor: int, interruption: Interruption) -> None:
        self._descriptor = descriptor
        self._interruption = interruption
        mode = os.fstat(descriptor).st_mode
        # No event is asked for: that nobody reads any more is told all the same.
        self._readers = select.poll()
        self._readers.register(descriptor, 0)
        self._room: select.poll | None = None
        if not stat.S_ISREG(mode) and not (stat.S_ISCHR(mode) and not os.isatty(descriptor)):
            self._room = select.poll()
            self._room.register(descriptor, select.POLLOUT)

    def write(self, data: bytes) -> None:
        """All of it; Interrupted when a signal came before that, BrokenPipeError when nobody reads."""
        position, room = 0, self._room
        while position < len(data):
            if room is None:
                position += os.write(self._descriptor, memoryview(data)[position:])
            else:
                self._interruption.blocking(room.poll)
                position += os.write(self._descriptor, data[position : position + select.PIPE_BUF])

    def raise_if_nobody_reads(self) -> None:
        """BrokenPipeError, for somebody who may have nothing to write for a long time."""
        if any(events & select.POLLERR for _, events in self._readers.poll(0)):
            raise BrokenPipeError
