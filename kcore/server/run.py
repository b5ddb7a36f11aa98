"""Runs a broker as a process: starts it, notifies the caller, waits for SIGTERM or SIGINT, and stops it.

Signals wake the main thread through a pipe (`signal.set_wakeup_fd`). The main thread blocks in one `read` while the
broker serves. A second signal during the shutdown ends the process at once. Recovery makes that safe.

Exit codes: 0 after a signal, 1 if the broker could not start or all of its log directories failed.
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
    # The same functions. `signal` wraps them in enumerations, and importing `enum` takes a tenth of a start.
    import _signal as signal

LOG = get_logger("kcore.server.run")

# A handler thread releases the GIL after this long if another thread waits for it.
SWITCH_INTERVAL_S = 0.0005
# Python runs a garbage collection after this many net allocations of containers. A response with ten thousand
# partitions allocates about as many, none in cycles. With Python's default of 700, collecting took twice as long as
# responding.
COLLECTED_AFTER_OBJECTS = 20_000
STOP_SIGNALS = {int(signal.SIGTERM): "SIGTERM", int(signal.SIGINT): "SIGINT"}


class BrokerStartError(OSError):
    """A broker cannot start with the files on its disk. The message names the file and the remedy."""


class BrokerStartDenied(BrokerStartError, PermissionError):
    """The operating system denies the broker access to its files."""


class StartedBroker:
    """The properties of a running broker, for `on_started`."""

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
    """Runs a broker until a signal stops it. Returns the exit code. `disk` defaults to the machine's own.

    Raises ConfigException or OSError if the broker cannot start. The message has the cause.
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
        # Exempt the objects of the start from garbage collection.
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
    """Raises the limit of open files to the hard limit: segments and connections need many (MaxFDLimit)."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def start(broker: Broker) -> None:
    """Calls `broker.startup()`. Errors of its stores and log directories are raised as BrokerStartError."""
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
    """Lets the main thread wait for SIGTERM and SIGINT.

    With the debug hook, SIGUSR2 makes the main thread hold the GIL in native code. No Python code of the process runs
    meanwhile, so tests can prove that produce and fetch do not need any.
    """

    def __init__(self) -> None:
        self._receiver, self._sender = os.pipe()
        os.set_blocking(self._sender, False)
        self._hold_ms = 0
        self._previous = {number: signal.signal(number, self._note) for number in STOP_SIGNALS}
        self._previous_wakeup = signal.set_wakeup_fd(self._sender, warn_on_full_buffer=False)

    def _note(self, number: int, frame: object) -> None:
        """Does nothing: `set_wakeup_fd` has already written the signal number to the pipe."""

    def install_debug_hook(self, enabled: bool, hold_ms: int) -> None:
        """If enabled, lets SIGUSR2 hold the GIL for `hold_ms`."""
        if enabled:
            self._hold_ms = hold_ms
            self._previous[signal.SIGUSR2] = signal.signal(signal.SIGUSR2, self._note)

    def wake(self) -> None:
        """Ends `wait` from another thread."""
        os.write(self._sender, bytes(1))

    def wait(self) -> str | None:
        """Waits for a stop signal and returns its name. Returns None after `wake`."""
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
        """Restores the previous signal handlers."""
        signal.set_wakeup_fd(self._previous_wakeup)
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        os.close(self._receiver)
        os.close(self._sender)
