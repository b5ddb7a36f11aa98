"""A process that runs clients of one library, a thread each, until it is told to stop, and answers with their history.

What it is told and answers goes over a pipe: it says "running" when every client has found the broker, is told "stop",
and sends the histories, or the text of what a thread raised.
"""

from __future__ import annotations

import faulthandler
import importlib
import logging
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

from tests.invariants.history import History
from tests.workload.plan import Plan, ProducerPlan
from tests.workload.readers import read_and_commit
from tests.workload.recollection import RECOLLECTION

LOADS = {
    "confluent-kafka": "tests.workload.confluent_load",
    "kafka-python": "tests.workload.kafka_python_load",
    "aiokafka": "tests.workload.aiokafka_load",
}


def run_clients(pipe: Connection, server: str, plans: list[Plan]) -> None:
    logging.basicConfig(handlers=[RECOLLECTION], level=logging.INFO)
    # A process that does not answer is ended by SIGABRT, to see where its threads stand.
    faulthandler.enable()
    # Two threads that import kafka-python at once can lock each other out.
    for plan in plans:
        importlib.import_module(LOADS[plan.client])
    stop = threading.Event()
    started = threading.Semaphore(0)
    with ThreadPoolExecutor(len(plans)) as threads:
        futures = [threads.submit(run_client, plan, server, started.release, stop) for plan in plans]
        for future in futures:
            # One that failed never says that it has started; what it raised is told at the end.
            future.add_done_callback(lambda done: started.release())
        for _ in plans:
            started.acquire()
        pipe.send("running")
        try:
            pipe.recv()
        finally:
            stop.set()
        whole = History()
        try:
            for future in futures:
                whole.merge(future.result())
        except Exception:
            pipe.send(traceback.format_exc())
            return
    pipe.send(whole)


def run_client(plan: Plan, server: str, started: Callable[[], None], stop: threading.Event) -> History:
    if isinstance(plan, ProducerPlan):
        history: History = importlib.import_module(LOADS[plan.client]).produce(plan, server, started, stop)
        return history
    return read_and_commit(plan, server, started, stop)
