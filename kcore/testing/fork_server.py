"""The process that brokers for tests are forked from: one for each process of tests, made at its first broker.

It is a fresh interpreter with one thread that has imported the broker, so that a fork is safe whatever threads the
tests run, and a broker starts without importing anything. What first requests need is imported while nothing else is
to be done.

    requests   the tests' process hands over lifelines: (temporary directory or None,)
    lifeline   one for each EmbeddedBroker, which asks here for all that concerns its process:
               ("start", number, properties, log path) with the broker's end of its control channel;
               ("signal", number), answered by ("signalled",) unless the signal ends the process;
               ("look",), answered by ("looked",). Its end is told once, by ("exited", number, code)

Nothing is left behind, whatever dies: a lifeline that is closed takes its broker with it (SIGKILL) and the temporary
directory; the end of `requests` takes all of them and this process; and when this process is killed the kernel kills
the brokers (PR_SET_PDEATHSIG). Only a machine on which all of them are killed at the same moment keeps a directory.
It has a session of its own, so that Ctrl-C reaches the tests alone, which then end their brokers in their own order.

`main` runs with sys.path as its launcher has it and without `site` (`fork_server_client.py`).
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
    """One EmbeddedBroker's place here: it has a process from each start to its end, and a directory all the while."""

    __slots__ = ("directory", "lifeline", "pid", "start_number", "stopped")

    def __init__(self, lifeline: Packets, directory: str | None) -> None:
        self.lifeline = lifeline
        self.directory = directory
        self.pid = 0
        self.start_number = 0
        self.stopped = False

    def signal(self, number: int) -> None:
        """Sends it; what stops or continues the process is answered when it has."""
        if self.pid:
            os.kill(self.pid, number)
        if number in (signal.SIGSTOP, signal.SIGCONT):
            self._await_state(number == signal.SIGSTOP)
            self.tell("signalled")
        elif number not in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            self.tell("signalled")

    def _await_state(self, stopped: bool) -> None:
        """A process that is to stop has not yet when kill(2) returns."""
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
            return  # nobody is there any more: the poll will say so

    def remove(self) -> None:
        """Its end: no process, no directory."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0
        if self.directory is not None:
            import shutil

            shutil.rmtree(self.directory, ignore_errors=True)
        self.lifeline.close()


class ForkServer:
    """The loop: lifelines, deaths of children, and imports while it is idle."""

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
        """Until the tests' process has gone."""
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
        """Takes a new lifeline; False when the tests' process has gone."""
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
    """In the child: nothing of the fork server is left, descriptor 3 is the control channel, stderr the log."""
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
    """Ends a child without what an interpreter does at its end: that belongs to the process it was forked from."""
    sys.stderr.flush()
    os._exit(code)


def preloads() -> Iterator[None]:
    """Imports, step by step, what a running broker imports when it first needs it."""
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
    """What every start needs."""
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
    """Serves the process that holds the other end of `requests`."""
    from kcore.platform.process import set_process_name

    set_process_name("kcli-forkserver")
    load_broker()
    ForkServer(packets.adopt(requests)).serve()
