"""Standard output of the consoles: complete pieces, interruptible by signals, with detection of a closed pipe.

Files are written directly. For a pipe, poll waits for room, and only as much as surely fits is written. So a signal can
interrupt the wait, it is known what was written, and a slow reader never blocks the end.
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
        # No events are requested: poll reports a closed reader in any case.
        self._readers = select.poll()
        self._readers.register(descriptor, 0)
        self._room: select.poll | None = None
        if not stat.S_ISREG(mode) and not (stat.S_ISCHR(mode) and not os.isatty(descriptor)):
            self._room = select.poll()
            self._room.register(descriptor, select.POLLOUT)

    def write(self, data: bytes) -> None:
        """Writes everything. Raises Interrupted after a signal, BrokenPipeError if the reader is gone."""
        position, room = 0, self._room
        while position < len(data):
            if room is None:
                position += os.write(self._descriptor, memoryview(data)[position:])
            else:
                self._interruption.blocking(room.poll)
                position += os.write(self._descriptor, data[position : position + select.PIPE_BUF])

    def raise_if_nobody_reads(self) -> None:
        """Raises BrokenPipeError if the reader is gone, for callers that have nothing to write for a long time."""
        if any(events & select.POLLERR for _, events in self._readers.poll(0)):
            raise BrokenPipeError
