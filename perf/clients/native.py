"""The peer in C (perf/native/peer.c): sends batches that are encoded already, or receives and checksums them.

`send_filled` and `receive_filled` copy each batch once besides, and sum what they send: the least for a client that is
given values, or gives them.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from functools import cache

from perf import frames
from perf.clients.turn import BATCH_BYTES, CONSUME, FETCH_BYTES, TURN_TIMEOUT_S, Result, Task, last_line, value_of
from perf.processes import PEER

DEPTH = 5
# As much as a producer's `buffer.memory` is by default: what a producer sends has waited there, and left the caches.
BACKLOG_BYTES = 32 << 20


@cache
def batch_of(size: int) -> tuple[bytes, int]:
    """A batch as full as `batch.size` allows of records of this size, and how many it has."""
    value = value_of(size)
    per_record = len(frames.batch([value] * 100, 0)) - frames.BATCH_HEADER_SIZE
    count = max(1, (BATCH_BYTES - frames.BATCH_HEADER_SIZE) * 100 // (per_record + 200))
    return frames.batch([value] * count, time.time_ns() // 1_000_000), count


def encoded_bytes(size: int) -> float:
    """Bytes of a record in such a batch, with its share of the batch's header."""
    batch, count = batch_of(size)
    return len(batch) / count


def run(task: Task) -> Result:
    port = task.server.rpartition(":")[2]
    if task.kind == CONSUME:
        load = frames.fetch(task.topic, 0, max_bytes=FETCH_BYTES)
        options = ["receive", "--offset-at", str(load.offset_position), "--end", str(task.records)]
        records = task.records
    else:
        batch, count = batch_of(task.size)
        load = frames.produce(task.topic, 0, batch, acks=-1)
        requests = max(1, task.records // count)
        options = ["send", "--requests", str(requests), "--depth", str(DEPTH)]
        options += ["--copies", str(max(1, BACKLOG_BYTES // len(batch)))]
        records = requests * count
    if task.way.endswith("_filled"):
        options.append("--fill")
    with tempfile.NamedTemporaryFile(suffix=".frame") as file:
        file.write(load.frame)
        file.flush()
        command = [str(PEER), *options, "--port", port, "--frame", file.name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TURN_TIMEOUT_S, check=False)
    if done.returncode != 0:
        return Result(error=last_line(done.stderr))
    report = json.loads(done.stdout)
    return Result(records, report["elapsed_s"], report["cpu_s"])
