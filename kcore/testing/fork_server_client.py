"""The test process's side of the fork server: launches it, and communicates over one lifeline per broker.

There is one fork server per process. A child that is forked from a test process closes its copies of the parent's
lifelines, because they would keep them open after the parent's death. It launches its own fork server when it starts a
broker.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref

from kcore.testing import packets
from kcore.testing.packets import Packets

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping
    from typing import IO

# Without `site` and environment variables: the import paths are passed as arguments.
BOOT = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from kcore.testing.fork_server import main; sys.exit(main(int(sys.argv[1])))"
)
GONE = "the fork server of the test brokers is gone, and the brokers with it"
LEAVE_TIMEOUT_S = 10.0
SHOWN_ERROR_CHARACTERS = 4_000


class ForkServerError(RuntimeError):
    """The fork server could not be launched, or has died. The message has the end of its stderr."""


class Lifeline:
    """The handle of one EmbeddedBroker on its process. Closing it ends the process and removes the directory."""

    __slots__ = ("__weakref__", "_end", "_exit_codes", "_server", "_starts")

    def __init__(self, end: Packets, server: ForkServerClient) -> None:
        self._end = end
        self._server = server
        self._starts = 0
        self._exit_codes: list[int] = []
        _lifelines.add(self)

    def start(self, properties: Mapping[str, str], log_path: str) -> Packets:
        """Fork a broker. Returns the control channel, on which the broker reports its start."""
        mine, theirs = packets.packet_pair()
        self._starts += 1
        self._exit_codes.clear()
        try:
            message = ("start", self._starts, dict(properties), log_path)
            packets.send_packet(self._end, message, [theirs.fileno()])
        except OSError as error:
            mine.close()
            raise self._server.gone() from error
        finally:
            theirs.close()
        return mine

    def signal(self, number: int) -> None:
        """Send a signal that does not end the process, and wait until it has taken effect."""
        self._send("signal", int(number))
        while self._receive(None)[0] != "signalled":
            continue

    def end(self, number: int, timeout_s: float | None) -> int | None:
        """Send a signal that ends the process. Returns the exit code; None if it is still alive after the timeout."""
        self._send("signal", int(number))
        return self.wait(timeout_s)

    def wait(self, timeout_s: float | None) -> int | None:
        """Wait for the end of the process. Returns the exit code; None if it is still alive after the timeout."""
        import time

        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._exit_codes:
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                self._receive(left_s)
            except (BlockingIOError, TimeoutError):
                return None
        return self._exit_codes.pop()

    def has_ended(self) -> bool:
        """Return whether the process has ended. If so, `wait` returns its exit code at once."""
        self._send("look")
        while self._receive(None)[0] != "looked":
            continue
        return bool(self._exit_codes)

    def _send(self, *message: object) -> None:
        try:
            packets.send_packet(self._end, message)
        except OSError as error:
            raise self._server.gone() from error

    def _receive(self, timeout_s: float | None) -> packets.Message:
        self._end.settimeout(timeout_s)
        try:
            message = packets.receive_packet(self._end)
        finally:
            self._end.settimeout(None)
        if message is None:
            raise self._server.gone()
        # An exit of an earlier process may arrive late, if Ctrl-C interrupted the wait for it.
        if message[0] == "exited" and message[1] == self._starts:
            self._exit_codes.append(message[2])
        return message

    def close(self) -> None:
        self._end.close()


class ForkServerClient:
    """The connection to this process's fork server."""

    def __init__(self) -> None:
        import subprocess
        import tempfile

        self._requests, theirs = packets.packet_pair()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process lives
        command = [sys.executable, "-I", "-S", *(["-B"] if sys.dont_write_bytecode else []), "-c", BOOT]
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [*command, str(theirs.fileno()), *import_paths()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except BaseException:
            self._requests.close()
            self._errors.close()
            raise
        finally:
            theirs.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def lifeline(self, directory: str | None) -> Lifeline:
        """Create a lifeline. `directory` is removed when it is closed, or when this process ends."""
        mine, theirs = packets.packet_pair()
        try:
            packets.send_packet(self._requests, (directory,), [theirs.fileno()])
        except OSError as error:
            mine.close()
            raise self.gone() from error
        finally:
            theirs.close()
        return Lifeline(mine, self)

    def gone(self) -> ForkServerError:
        """Return the error that the fork server has died, with its stderr, for example a traceback."""
        said = ""
        if not self._errors.closed:
            self._process.wait(LEAVE_TIMEOUT_S)
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace")[-SHOWN_ERROR_CHARACTERS:]
        return ForkServerError(f"{GONE}\n{said}" if said else GONE)

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """End the fork server with all running brokers, and wait for it."""
        self._requests.close()
        self._errors.close()
        self._process.wait(LEAVE_TIMEOUT_S)

    def let_go(self) -> None:
        """In a forked child: release the fork server, which belongs to the parent."""
        self._requests.close()


def import_paths() -> list[str]:
    """Return sys.path for the fork server: the directory of this package, then this process's paths."""
    import kcore

    assert kcore.__file__ is not None
    home = os.path.dirname(os.path.dirname(os.path.abspath(kcore.__file__)))
    paths = [home]
    for entry in sys.path:
        path = os.path.abspath(entry)
        if path not in paths:
            paths.append(path)
    return paths


_lock = threading.Lock()
_client: ForkServerClient | None = None
_lifelines: weakref.WeakSet[Lifeline] = weakref.WeakSet()


def fork_server() -> ForkServerClient:
    """Return this process's fork server, launching one if there is none or it has died."""
    global _client
    with _lock:
        if _client is None or not _client.is_alive():
            if _client is not None:
                _client.close()
            _client = ForkServerClient()
        return _client


def close_fork_server() -> None:
    """End this process's fork server, if it has one, and all its brokers."""
    global _client
    with _lock:
        client, _client = _client, None
    if client is not None:
        client.close()


def _in_forked_child() -> None:
    global _client, _lock
    _lock = threading.Lock()
    for lifeline in _lifelines:
        lifeline.close()
    client, _client = _client, None
    if client is not None:
        client.let_go()


atexit.register(close_fork_server)
os.register_at_fork(after_in_child=_in_forked_child)
