"""The workers of a measurement: one on the caller's thread, or several on threads or in processes.

Each emits windows and its end, which arrive on the caller's thread. An exception of a worker ends the measurement.
Processes are forked before any client exists, so they share no client state.
"""

from __future__ import annotations

import threading
import time
import traceback
from contextlib import nullcontext

from kcli.failures import Failure, translate
from kcli.performance.tally import Done

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from kcli.performance.tally import Window
    from kcore.client.consumer.consumer import Consumer
    from kcore.client.producer import Producer

    Emit = Callable[[Window | Done], None]
    Work = Callable[["Share", Emit], None]

JOIN_S = 10.0


class Count:
    """The records that all workers have read together. Thread-safe."""

    def __init__(self, wanted: int, warm_up: int = 0) -> None:
        self.wanted = wanted
        self.warm_up = warm_up
        self._lock: Any = threading.Lock()
        self._value: Any = None
        self._own = 0

    def share_with_processes(self) -> None:
        """Moves the counter to memory that forked processes share."""
        from multiprocessing import get_context

        self._value = get_context("fork").Value("q", 0)
        self._lock = self._value.get_lock()

    def add(self, records: int) -> int:
        with self._lock:
            if self._value is None:
                self._own += records
                return self._own
            self._value.value += records
            return int(self._value.value)

    @property
    def total(self) -> int:
        return self._own if self._value is None else int(self._value.value)


def watch(share: Share, client: Producer | Consumer) -> AbstractContextManager[object]:
    """Warns of lost brokers, for one worker only, because all workers lose the same ones."""
    if share.worker != 0:
        return nullcontext()
    from kcli.broker_connection import BrokerWatch

    return BrokerWatch(client.connection_states, "The measurement continues after reconnecting.")


class Share:
    """The work of one worker: its records, its warm-up records, and its rate in records per second."""

    __slots__ = ("count", "first_record", "records", "throughput", "warm_up_records", "worker")

    def __init__(
        self, worker: int, records: int, *, first_record: int, warm_up_records: int, throughput: float, count: Count
    ) -> None:
        self.worker = worker
        self.records = records
        self.first_record = first_record
        self.warm_up_records = warm_up_records
        self.throughput = throughput
        self.count = count

    def counted(self, records: int) -> bool:
        """Counts records. Returns whether all workers together have read more than the warm-up."""
        return self.count.add(records) > self.count.warm_up

    def is_enough(self) -> bool:
        return self.count.total >= self.count.wanted


def shares_of(workers: int, records: int, warm_up_records: int, throughput: float) -> list[Share]:
    """Equal shares; the remainder is distributed among the first workers."""
    count = Count(records, warm_up_records)
    shares = []
    first = 0
    for worker in range(workers):
        own = records // workers + (worker < records % workers)
        warm_up = warm_up_records // workers + (worker < warm_up_records % workers)
        rate = throughput / workers if throughput > 0 else -1.0
        shares.append(Share(worker, own, first_record=first, warm_up_records=warm_up, throughput=rate, count=count))
        first += own
    return shares


def run_workers(work: Work, shares: Sequence[Share], emit: Emit, *, in_processes: bool) -> None:
    """Returns when all workers have ended. `emit` is called on this thread."""
    if in_processes:
        _run_processes(work, shares, emit)
    elif len(shares) == 1:
        work(shares[0], emit)
    else:
        _run_threads(work, shares, emit)


def _run_threads(work: Work, shares: Sequence[Share], emit: Emit) -> None:
    from queue import SimpleQueue

    queue: SimpleQueue[Window | Done | BaseException] = SimpleQueue()

    def run(share: Share) -> None:
        try:
            work(share, queue.put)
        except BaseException as error:  # raised on the caller's thread
            queue.put(error)

    threads = [threading.Thread(target=run, args=(share,), daemon=True) for share in shares]
    cpu_s = time.process_time()
    for thread in threads:
        thread.start()
    left = len(threads)
    while left:
        event = queue.get()
        if isinstance(event, BaseException):
            raise event
        if isinstance(event, Done):
            left -= 1
            # Process CPU time covers all threads, so it is counted once.
            event.cpu_s = (time.process_time() - cpu_s) if left == 0 else 0.0
        emit(event)


def _run_processes(work: Work, shares: Sequence[Share], emit: Emit) -> None:
    from multiprocessing import get_context
    from multiprocessing.connection import wait

    context = get_context("fork")
    shares[0].count.share_with_processes()
    processes = []
    pipes: list[Any] = []
    for share in shares:
        reader, writer = context.Pipe(duplex=False)
        process = context.Process(target=_work_in_process, args=(work, share, writer), daemon=True)
        process.start()
        writer.close()
        processes.append(process)
        pipes.append(reader)
    try:
        while pipes:
            ready: list[Any] = wait(pipes)
            for pipe in ready:
                try:
                    event = pipe.recv()
                except EOFError:
                    raise Failure("a worker process ended unexpectedly. See its messages above") from None
                if isinstance(event, Failure):
                    raise event
                emit(event)
                if isinstance(event, Done):
                    pipes.remove(pipe)
        for process in processes:
            process.join(JOIN_S)
    finally:
        for process in processes:
            if process.is_alive():
                process.terminate()
            process.join(JOIN_S)


def _work_in_process(work: Work, share: Share, writer: Any) -> None:
    try:
        work(share, writer.send)
    except KeyboardInterrupt:
        pass
    except Exception as error:
        failure = translate(error)
        if failure is None:
            traceback.print_exc()
            failure = Failure(f"a worker process failed: {error!r}")
        writer.send(failure)
