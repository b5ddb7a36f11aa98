"""The clients of all libraries at once, each library in a process of its own.

    with Workload(broker.bootstrap_server, plans) as workload:
        ... the broker dies and comes back ...
        history = workload.stop()

A thread of a client that raised ends the workload with its traceback, at `stop`. Leaving the block without `stop`
kills the processes.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Mapping
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Self

from tests.invariants.history import History
from tests.workload.client_process import run_clients
from tests.workload.plan import Plan

START_TIMEOUT_S = 60.0
# A client may have to wait out a request that the broker's death left without an answer.
STOP_TIMEOUT_S = 180.0
END_TIMEOUT_S = 10.0


class WorkloadFailure(AssertionError):
    """A client ended by itself, or did not end when it was told to."""


class Workload:
    def __init__(self, server: str, plans: Mapping[str, list[Plan]]) -> None:
        self.server = server
        self.plans = plans
        self._processes: list[tuple[str, SpawnProcess, Connection]] = []

    def __enter__(self) -> Self:
        spawned = multiprocessing.get_context("spawn")
        for client, plans in self.plans.items():
            mine, theirs = spawned.Pipe()
            process = spawned.Process(target=run_clients, args=(theirs, self.server, plans), daemon=True)
            process.start()
            theirs.close()
            self._processes.append((client, process, mine))
        for client, process, pipe in self._processes:
            self._receive(client, process, pipe, START_TIMEOUT_S)
        return self

    def stop(self) -> History:
        """Has every client send and commit once more, and wait for what it has sent; the broker has to be there."""
        for _, _, pipe in self._processes:
            pipe.send("stop")
        whole = History()
        for client, process, pipe in self._processes:
            answer = self._receive(client, process, pipe, STOP_TIMEOUT_S)
            if not isinstance(answer, History):
                raise WorkloadFailure(f"a client of {client} failed:\n{answer}")
            whole.merge(answer)
            process.join(END_TIMEOUT_S)
        return whole

    def _receive(self, client: str, process: SpawnProcess, pipe: Connection, timeout_s: float) -> object:
        if not pipe.poll(timeout_s):
            assert process.pid is not None
            os.kill(process.pid, signal.SIGABRT)
            process.join(END_TIMEOUT_S)
            raise WorkloadFailure(f"the clients of {client} have not answered for {timeout_s:g} s")
        try:
            return pipe.recv()
        except EOFError:
            raise WorkloadFailure(f"the process with the clients of {client} has died") from None

    def __exit__(self, *exception: object) -> None:
        for _, process, pipe in self._processes:
            if process.is_alive():
                process.kill()
            process.join()
            pipe.close()
