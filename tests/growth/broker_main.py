"""The broker of a growth soak: `kcore.server.run`, and a thread that counts what its process has allocated.

Each line on stdin is a request for a count, and each line on stdout is a JSON object: first the port and the address of
the metrics, then one count for each request. The end of stdin ends the process.

A count is taken after a garbage collection, and separates in-use memory from fragmentation:

    python_blocks   blocks that Python's object allocator has handed out (`sys.getallocatedblocks`)
    native_bytes    bytes that malloc has handed out, mapped chunks included (`mallinfo2`)
    resident_bytes  anonymous resident memory after `malloc_trim`
    objects         the number of tracked objects of each type

With `planted.leak=objects` or `planted.leak=native` each deleted topic leaves an object, or a block of malloc, behind.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from threading import Thread
from typing import Any

from kcore.controller.controller import Controller
from kcore.server.broker import Broker
from kcore.server.run import StartedBroker, run

LEAKED_BYTES = 200
SETTLE_S = 3.0
SETTLE_LOOK_S = 0.02


class MallocStatistics(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    )


LIBC = ctypes.CDLL(None)
LIBC.mallinfo2.restype = MallocStatistics
LIBC.malloc.restype = None


def main() -> int:
    properties = dict(word.split("=", 1) for word in sys.argv[1:])

    plant_leak(properties.pop("planted.leak", ""))

    def on_started(started: StartedBroker) -> None:
        port = int(started.listeners[0].rpartition(":")[2])
        print(json.dumps({"port": port, "metrics_url": started.metrics_url}), flush=True)
        Thread(target=answer_requests, args=(started.broker,), name="growth-counts", daemon=True).start()

    return run(properties, on_started=on_started)


def plant_leak(kind: str) -> None:
    """Makes `Controller.delete_topics` keep something for each topic."""
    if not kind:
        return
    delete_topics = Controller.delete_topics
    kept: list[object] = []

    def leaking(*arguments: Any, **named: Any) -> Any:
        results = delete_topics(*arguments, **named)
        for _ in results:
            kept.append(bytes(LEAKED_BYTES) if kind == "objects" else LIBC.malloc(LEAKED_BYTES))
        return results

    Controller.delete_topics = leaking  # type: ignore[method-assign]


def answer_requests(broker: Broker) -> None:
    for _ in sys.stdin:
        await_deletions(broker)
        print(json.dumps(count_memory()), flush=True)
    os.kill(os.getpid(), signal.SIGTERM)


def await_deletions(broker: Broker) -> None:
    """Deleted topics are forgotten a moment after their deletion; a broker that never does is counted as it is."""
    deadline = time.monotonic() + SETTLE_S
    while broker.controller._store.deleted_topic_ids() and time.monotonic() < deadline:
        time.sleep(SETTLE_LOOK_S)


def count_memory() -> dict[str, object]:
    objects = collected_objects()
    LIBC.malloc_trim(0)
    statistics = LIBC.mallinfo2()
    return {
        "python_blocks": sys.getallocatedblocks(),
        "native_bytes": statistics.uordblks + statistics.hblkhd,
        "resident_bytes": resident_bytes(),
        "objects": objects,
    }


def collected_objects() -> dict[str, int]:
    """Twice, because a finalizer may release what only the next collection finds."""
    gc.collect()
    gc.collect()
    return dict(Counter(f"{type(item).__module__}.{type(item).__qualname__}" for item in gc.get_objects()))


def resident_bytes() -> int:
    """Without pages of files: only data that the process has allocated."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/smaps_rollup has no line 'Anonymous:'")


if __name__ == "__main__":
    sys.exit(main())
