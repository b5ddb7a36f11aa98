"""Produce and fetch need no interpreter lock: they go on while nothing of Python can run in the broker.

The debug hook holds the lock natively. A Metadata request, which only Python answers, is sent while it is held and
comes back when it is let go; whatever the load generator finished before that, it finished without the lock.
"""

from __future__ import annotations

import signal
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from perf import frames
from perf.processes import build_load, exchange, run_load
from tests.broker_process import BrokerProcess

pytestmark = [pytest.mark.needs("cc"), pytest.mark.release_build]

HOLD_MS = 6_000  # three times what the loads take on an idle machine of two cores
REQUESTS = 1_000
WAITERS = 40  # fewer than the listening socket's backlog, or connecting takes a second
WAKE_UPS = 4 * REQUESTS // WAITERS
TIMEOUT_MS = 50


class PythonAnswer:
    """Asks for metadata on a thread and notes when the answer came."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.answered_at = 0.0
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        exchange(self._port, frames.create_topic("acks"), timeout_s=60)
        self.answered_at = time.monotonic()

    def wait(self) -> float:
        self._thread.join()
        return self.answered_at


@pytest.fixture
def broker(tmp_path: Path):
    build_load()
    overrides = {"kcli.debug.hooks": "true", "kcli.debug.hold.ms": str(HOLD_MS), "num.network.threads": "2"}
    with BrokerProcess(tmp_path / "data", overrides) as running:
        for topic in ("acks", "wake-ups", "timeouts"):
            exchange(running.port, frames.create_topic(topic))
        yield running


def hold_the_lock(broker: BrokerProcess) -> None:
    """Returns when the lock is held: a request for Python is not answered any more."""
    broker.send_signal(signal.SIGUSR2)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.create_connection(("127.0.0.1", broker.port), timeout=0.3) as connection:
            connection.sendall(frames.framed(frames.METADATA, 1, struct.pack(">i", 0), flexible=False))
            try:
                connection.recv(4)
            except TimeoutError:
                return
    raise AssertionError("the debug hook did not hold the interpreter lock")


def test_acks_wake_ups_and_timeouts_come_while_the_lock_is_held(broker: BrokerProcess, tmp_path: Path) -> None:
    batch = frames.batch([b"one record"], 1_700_000_000_000)
    produce = frames.produce("acks", 0, batch)
    wake_up = frames.produce("wake-ups", 0, batch)
    waiting = frames.fetch("wake-ups", 0, max_bytes=1 << 20, max_wait_ms=60_000)
    expiring = frames.fetch("timeouts", 0, max_bytes=1 << 20, max_wait_ms=TIMEOUT_MS)

    hold_the_lock(broker)
    python = PythonAnswer(broker.port)
    with ThreadPoolExecutor() as pool:
        acks = pool.submit(run_load, tmp_path, broker.port, produce, requests=REQUESTS)
        # 100 fetches wait at the log's end; each record wakes them all. Some ask more often than others.
        woken = pool.submit(
            run_load,
            tmp_path,
            broker.port,
            waiting,
            requests=REQUESTS,
            connections=WAITERS,
            offset_start=0,
            offset_step=1,
            offset_end=REQUESTS,
        )
        waker = pool.submit(run_load, tmp_path, broker.port, wake_up, requests=WAKE_UPS, interval_us=20_000)
        expired = pool.submit(run_load, tmp_path, broker.port, expiring, requests=REQUESTS, connections=WAITERS)
        reports = [future.result() for future in (acks, woken, waker, expired)]
        ended_at = time.monotonic()
    answered_at = python.wait()

    assert [report["requests"] for report in reports] == [REQUESTS, REQUESTS, WAKE_UPS, REQUESTS]
    assert reports[3]["latency_us"]["p50"] >= TIMEOUT_MS * 1000, "a fetch without records waits its whole time"
    assert ended_at < answered_at, "the loads ended only after the interpreter lock was let go"
