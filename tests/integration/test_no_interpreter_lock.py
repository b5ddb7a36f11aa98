"""Produce, fetch and heartbeats need no interpreter lock: they go on while nothing of Python can run in the broker.

The debug hook holds the lock natively, for longer than all this takes. A request that only Python answers is sent while
it is held: whatever the load generator finishes before that one is answered, it finishes without the lock.
"""

from __future__ import annotations

import select
import signal
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kcore.protocol import apis
from kcore.protocol.headers import encode_request
from perf import frames
from perf.frames import Load
from perf.processes import build_load, exchange, run_load
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient

pytestmark = [pytest.mark.needs("cc"), pytest.mark.release_build]

HOLD_MS = 120_000  # the loads take two seconds on an idle machine of two cores; nobody waits for the end of it
HELD_S = 3.0  # who has no answer after so long gets none
REQUESTS = 1_000
WAITERS = 40  # fewer than the listening socket's backlog, or connecting takes a second
WAKE_UPS = 4 * REQUESTS // WAITERS
PROBES = 1_000
TIMEOUT_MS = 50
HEARTBEAT_ERROR_AT = 4 + 4 + 1 + 4  # behind length, correlation id, tags and throttle time of version 4


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
    for _ in range(PROBES):
        with socket.create_connection(("127.0.0.1", broker.port), timeout=HELD_S) as connection:
            connection.sendall(frames.framed(frames.METADATA, 1, struct.pack(">i", 0), flexible=False))
            try:
                connection.recv(4)
            except TimeoutError:
                return
    raise AssertionError("the debug hook did not hold the interpreter lock")


def stable_member(port: int) -> bytes:
    """The heartbeat of a member whose group is stable."""
    with RawClient(port) as client:
        while client.request(apis.FIND_COORDINATOR, 2, {"key": "alive", "key_type": 0}).error_code:
            pass  # until the partition has been made
        fields: dict[str, object] = {
            "group_id": "alive",
            "session_timeout_ms": 60_000,
            "rebalance_timeout_ms": 60_000,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        }
        joined = client.request(apis.JOIN_GROUP, 3, fields)
        fields = {"group_id": "alive", "member_id": joined.member_id, "generation_id": joined.generation_id}
        assert client.request(apis.SYNC_GROUP, 3, {**fields, "assignments": []}).error_code == 0
    payload = encode_request(apis.HEARTBEAT, 4, 0, "alive", fields)
    return len(payload).to_bytes(4, "big") + payload


def test_what_processors_answer_comes_while_the_lock_is_held(broker: BrokerProcess, tmp_path: Path) -> None:
    batch = frames.batch([b"one record"], 1_700_000_000_000)
    produce = frames.produce("acks", 0, batch)
    wake_up = frames.produce("wake-ups", 0, batch)
    waiting = frames.fetch("wake-ups", 0, max_bytes=1 << 20, max_wait_ms=60_000)
    expiring = frames.fetch("timeouts", 0, max_bytes=1 << 20, max_wait_ms=TIMEOUT_MS)

    heartbeat = Load(stable_member(broker.port), (HEARTBEAT_ERROR_AT,))
    hold_the_lock(broker)
    with socket.create_connection(("127.0.0.1", broker.port)) as python, ThreadPoolExecutor() as pool:
        python.sendall(frames.create_topic("acks"))
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
        beats = pool.submit(run_load, tmp_path, broker.port, heartbeat, requests=REQUESTS)
        reports = [future.result() for future in (acks, woken, waker, expired, beats)]
        answered, _, _ = select.select([python], [], [], 0)
    broker.kill()

    assert [report["requests"] for report in reports] == [REQUESTS, REQUESTS, WAKE_UPS, REQUESTS, REQUESTS]
    assert reports[3]["latency_us"]["p50"] >= TIMEOUT_MS * 1000, "a fetch without records waits its whole time"
    assert not answered, "the loads ended only after the interpreter lock was let go"
