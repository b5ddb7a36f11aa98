"""A broker as a process: start, tell the caller, wait for SIGTERM or SIGINT, stop.

Signals wake the main thread through a pipe (`signal.set_wakeup_fd`): it blocks in one `read` while the broker serves.
A second signal during the shutdown ends the process at once, as recovery makes that safe.

Exit codes: 0 after a signal, 1 when the broker could not start or lost all of its log directories.
"""

from __future__ import annotations

import gc
import os
import sys

from kcore.logger import get_logger

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping

    from kcore.platform.disk import Disk
    from kcore.server.broker import Broker
else:
    # The same functions; `signal` wraps them in enumerations, and importing `enum` is a tenth of a start.
    import _signal as signal

LOG = get_logger("kcore.server.run")

# A handler thread that holds the interpreter gives it up after this long when another one waits for it.
SWITCH_INTERVAL_S = 0.0005
# Python looks for unreachable cycles each time so many more containers were made than freed. An answer about ten
# thousand partitions makes about as many, none in cycles: with Python's 700, looking took twice as long as answering.
COLLECTED_AFTER_OBJECTS = 20_000
STOP_SIGNALS = {int(signal.SIGTERM): "SIGTERM", int(signal.SIGINT): "SIGINT"}


class BrokerStartError(OSError):
    """Why a broker cannot start on what it found on disk, in one sentence that names the file and the remedy."""


class BrokerStartDenied(BrokerStartError, PermissionError):
    """The operating system denies the broker what it has on disk."""


class StartedBroker:
    """What a caller may say about a broker that serves."""

    __slots__ = ("broker", "broker_id", "cluster_id", "data_dir", "listeners", "metrics_url", "pid")

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.broker_id = broker.broker_id
        self.cluster_id = broker.cluster_id
        self.listeners = [str(endpoint) for endpoint in broker.displayed_listeners()]
        self.pid = os.getpid()
        self.data_dir = broker.config.log_directories[0]
        self.metrics_url = broker.metrics_endpoint.url if broker.metrics_endpoint is not None else None


def run(
    properties: Mapping[str, str],
    *,
    on_started: Callable[[StartedBroker], None],
    rebuild_metadata: bool = False,
    disk: Disk | None = None,
) -> int:
    """Runs a broker until a signal ends it; answers the process's exit code. `disk` is the machine's own unless given.

    When the broker cannot start, ConfigException or OSError reaches the caller; its text says what is wrong.
    """
    from kcore.config.broker import BrokerConfig
    from kcore.server.broker import Broker

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.set_threshold(COLLECTED_AFTER_OBJECTS)
    raise_descriptor_limit()
    signals = SignalPipe()
    try:
        broker = Broker(BrokerConfig(properties), disk, on_fatal=signals.wake, rebuild_metadata=rebuild_metadata)
        start(broker)
        # What the start made stays: no collection need look at it again.
        gc.freeze()
        try:
            signals.install_debug_hook(
                broker.config.flag("kcli.debug.hooks"), broker.config.number("kcli.debug.hold.ms")
            )
            on_started(StartedBroker(broker))
            name = signals.wait()
            LOG.info("Stopping: %s", name or "the broker cannot go on")
        finally:
            broker.shutdown()
        return 1 if broker.failed else 0
    finally:
        signals.close()


def raise_descriptor_limit() -> None:
    """Segments and connections keep files open: the process may have as many as the system allows (MaxFDLimit)."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def start(broker: Broker) -> None:
    """`broker.startup()`, with the errors of its stores as BrokerStartError."""
    from kcore.controller.metadata_store import MetadataStoreDeniedError, MetadataStoreError
    from kcore.errors import KafkaError
    from kcore.storage.checkpoints import CorruptFileError
    from kcore.storage.log_dir import LogDirLockedError
    from kcore.storage.log_dirs import LogDirsDeniedError, LogDirsError

    try:
        broker.startup()
    except (MetadataStoreDeniedError, LogDirsDeniedError) as error:
        raise BrokerStartDenied(str(error)) from error
    except (MetadataStoreError, CorruptFileError, KafkaError, LogDirLockedError, LogDirsError) as error:
        raise BrokerStartError(str(error)) from error


class SignalPipe:
    """Turns SIGTERM and SIGINT into something the main thread can wait for.

    SIGUSR2, where the debug hook is on, makes the main thread hold the interpreter lock natively: while that lasts no
    Python code of the process runs, which is how tests prove that produce and fetch do not need any.
    """

    def __init__(self) -> None:
        self._receiver, self._sender = os.pipe()
        os.set_blocking(self._sender, False)
        self._hold_ms = 0
        self._previous = {number: signal.signal(number, self._note) for number in STOP_SIGNALS}
        self._previous_wakeup = signal.set_wakeup_fd(self._sender, warn_on_full_buffer=False)

    def _note(self, number: int, frame: object) -> None:
        """The byte that `set_wakeup_fd` writes is all that is wanted of a signal."""

    def install_debug_hook(self, enabled: bool, hold_ms: int) -> None:
        """Lets SIGUSR2 hold the interpreter lock for `hold_ms`."""
        if enabled:
            self._hold_ms = hold_ms
            self._previous[signal.SIGUSR2] = signal.signal(signal.SIGUSR2, self._note)

    def wake(self) -> None:
        """Ends `wait` from another thread."""
        os.write(self._sender, bytes(1))

    def wait(self) -> str | None:
        """The name of the signal that asks for the end; None when `wake` did."""
        while True:
            for number in os.read(self._receiver, 64):
                if number == signal.SIGUSR2 and self._hold_ms:
                    from kcore.server.interpreter_hold import hold_interpreter

                    hold_interpreter(self._hold_ms)
                elif number in STOP_SIGNALS:
                    for stop_signal in STOP_SIGNALS:
                        signal.signal(stop_signal, signal.SIG_DFL)
                    return STOP_SIGNALS[number]
                elif number == 0:
                    return None

    def close(self) -> None:
        """Puts back what was there before."""
        signal.set_wakeup_fd(self._previous_wakeup)
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        os.close(self._receiver)
        os.close(self._sender)
