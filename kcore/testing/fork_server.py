"""The process that test brokers are forked from: one per test process, started with the first broker.

It is a fresh interpreter with one thread that has imported the broker. So a fork is safe whatever threads the tests
run, and a broker starts without imports. Modules that first requests need are imported while the process is idle.

    requests   the test process sends a lifeline for each EmbeddedBroker: (temporary directory or None,)
    lifeline   one per EmbeddedBroker, for all commands about its process:
               ("start", number, properties, log path) with the broker's end of its control channel;
               ("signal", number), answered by ("signalled",) unless the signal ends the process;
               ("look",), answered by ("looked",). Its end is reported once, by ("exited", number, code)

Nothing is left behind, whichever process dies. When a lifeline is closed, its broker is killed (SIGKILL) and its
temporary directory removed. When `requests` is closed, this happens for all lifelines, and this process exits. When
this process is killed, the kernel kills the brokers (PR_SET_PDEATHSIG). A directory is left only if the test process
and this process are killed at the same moment. This process has its own session, so that Ctrl-C reaches only the
tests, which then end their brokers in order.

`main` runs with sys.path set by its launcher and without `site` (`fork_server_client.py`).
"""

from __future__ import annotations

import gc
import os
import select
import sys

from kcore.testing import packets
from kcore.testing.packets import Packets

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator
    from typing import NoReturn
else:
    import _signal as signal  # as in kcore.server.run

PRELOAD_AFTER_MS = 30
FIRST_FREE_DESCRIPTOR = 3
STDERR = 2
WAKEUP_BYTES = 512


class SupervisedBroker:
    """The broker of one EmbeddedBroker: a process from each start to its end, and a directory for the whole time."""

    __slots__ = ("directory", "lifeline", "pid", "start_number", "stopped")

    def __init__(self, lifeline: Packets, directory: str | None) -> None:
        self.lifeline = lifeline
        self.directory = directory
        self.pid = 0
        self.start_number = 0
        self.stopped = False

    def signal(self, number: int) -> None:
        """Send a signal. SIGSTOP and SIGCONT are answered after they took effect."""
        if self.pid:
            os.kill(self.pid, number)
        if number in (signal.SIGSTOP, signal.SIGCONT):
            self._await_state(number == signal.SIGSTOP)
            self.tell("signalled")
        elif number not in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            self.tell("signalled")

    def _await_state(self, stopped: bool) -> None:
        """Wait until the process has stopped or continued; kill(2) returns earlier."""
        if not self.pid or self.stopped == stopped:
            return
        _, status = os.waitpid(self.pid, os.WUNTRACED if stopped else os.WCONTINUED)
        if os.WIFSTOPPED(status) or os.WIFCONTINUED(status):
            self.stopped = stopped
        else:
            self.ended(status)

    def reap(self) -> None:
        if self.pid:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.ended(status)

    def ended(self, status: int) -> None:
        self.pid = 0
        self.stopped = False
        self.tell("exited", self.start_number, os.waitstatus_to_exitcode(status))

    def tell(self, *message: object) -> None:
        try:
            packets.send_packet(self.lifeline, message)
        except OSError:
            return  # the other end is closed, which the poll will report

    def remove(self) -> None:
        """Kill the process and remove the directory."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0
        if self.directory is not None:
            import shutil

            shutil.rmtree(self.directory, ignore_errors=True)
        self.lifeline.close()


class ForkServer:
    """The event loop: lifelines, exits of children, and imports while it is idle."""

    def __init__(self, requests: Packets) -> None:
        self._requests = requests
        self._brokers: dict[int, SupervisedBroker] = {}
        self._poll = select.poll()
        self._deaths, deaths = os.pipe()
        os.set_blocking(self._deaths, False)
        os.set_blocking(deaths, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(deaths, warn_on_full_buffer=False)
        self._poll.register(self._deaths, select.POLLIN)
        self._poll.register(requests.fileno(), select.POLLIN)
        self._preloads: Iterator[None] | None = preloads()

    def serve(self) -> None:
        """Run until the test process has gone."""
        try:
            while True:
                ready = self._poll.poll(None if self._preloads is None else PRELOAD_AFTER_MS)
                if not ready:
                    self._preload()
                for descriptor, _ in ready:
                    if descriptor == self._deaths:
                        self._reap()
                    elif descriptor != self._requests.fileno():
                        self._obey(descriptor)
                    elif not self._adopt():
                        return
        finally:
            for broker in self._brokers.values():
                broker.remove()

    def _preload(self) -> None:
        assert self._preloads is not None
        try:
            next(self._preloads)
        except StopIteration:
            self._preloads = None

    def _adopt(self) -> bool:
        """Accept a new lifeline. Returns False if the test process has gone."""
        message, descriptors = packets.receive_packet_and_descriptors(self._requests)
        if message is None:
            return False
        lifeline = packets.adopt(descriptors[0])
        self._brokers[lifeline.fileno()] = SupervisedBroker(lifeline, message[0])
        self._poll.register(lifeline.fileno(), select.POLLIN)
        return True

    def _obey(self, descriptor: int) -> None:
        broker = self._brokers[descriptor]
        try:
            message, descriptors = packets.receive_packet_and_descriptors(broker.lifeline)
        except ConnectionResetError:
            message, descriptors = None, []
        if message is None:
            self._poll.unregister(descriptor)
            self._brokers.pop(descriptor).remove()
        elif message[0] == "signal":
            broker.signal(message[1])
        elif message[0] == "look":
            broker.reap()
            broker.tell("looked")
        else:
            broker.start_number = message[1]
            self._start(broker, message[2], message[3], descriptors[0])

    def _start(self, broker: SupervisedBroker, properties: dict[str, str], log_path: str, control: int) -> None:
        parent = os.getpid()
        broker.pid = os.fork()
        if broker.pid:
            os.close(control)
            return
        try:
            become_broker(parent, control, log_path)
            from kcore.testing.broker_main import serve

            code = serve(properties, packets.adopt(FIRST_FREE_DESCRIPTOR))
        except BaseException:
            code = 1
            sys.excepthook(*sys.exc_info())
        leave(code)

    def _reap(self) -> None:
        while True:
            try:
                os.read(self._deaths, WAKEUP_BYTES)
            except BlockingIOError:
                break
        for broker in self._brokers.values():
            broker.reap()


def become_broker(parent: int, control: int, log_path: str) -> None:
    """In the child: drop the fork server's state, make descriptor 3 the control channel, and stderr the log."""
    from kcore.platform.process import set_process_name, signal_when_parent_dies

    signal_when_parent_dies(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    os.dup2(log, STDERR)
    os.dup2(control, FIRST_FREE_DESCRIPTOR, inheritable=False)
    os.closerange(FIRST_FREE_DESCRIPTOR + 1, os.sysconf("SC_OPEN_MAX"))
    set_process_name("kcli-broker")


def leave(code: int) -> NoReturn:
    """Exit a child without the interpreter's exit handlers, which belong to the fork server."""
    sys.stderr.flush()
    os._exit(code)


def preloads() -> Iterator[None]:
    """Import, step by step, the modules that a running broker imports on first use."""
    from kcore.protocol import apis as protocol
    from kcore.server import apis
    from kcore.testing import fault_commands  # noqa: F401

    yield
    for entry in apis.TABLE:
        _ = entry.handler
        _ = protocol.BY_KEY[entry.key].request
        yield
    import shutil  # noqa: F401
    import traceback  # noqa: F401

    gc.collect()
    gc.freeze()


def load_broker() -> None:
    """Import what every start needs."""
    import _sqlite3  # noqa: F401

    import kcore.config.broker
    import kcore.controller.embedded_store
    import kcore.platform.process
    import kcore.platform.real_disk
    import kcore.server.broker
    import kcore.server.fast_path.fetch
    import kcore.server.fast_path.heartbeat
    import kcore.server.fast_path.produce
    import kcore.server.handlers.api_versions
    import kcore.server.run
    import kcore.testing.broker_main  # noqa: F401
    from kcore.protocol.apis import API_VERSIONS

    _ = API_VERSIONS.request


def main(requests: int) -> None:
    """Serve the process that holds the other end of `requests`."""
    from kcore.platform.process import set_process_name

    set_process_name("kcli-forkserver")
    load_broker()
    ForkServer(packets.adopt(requests)).serve()
