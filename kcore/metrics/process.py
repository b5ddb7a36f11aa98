"""Metrics of this process from Linux's /proc: CPU time, memory, descriptors, threads."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcore.metrics.registry import Sample

PROCESS_METRICS = (
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_virtual_memory_bytes",
    "process_open_fds",
    "process_max_fds",
    "process_threads",
    "process_start_time_seconds",
)
# Fields of /proc/self/stat, counted after the closing parenthesis of the command.
THREADS, STARTED_AT, VIRTUAL_BYTES, RESIDENT_PAGES = 17, 19, 20, 21


def process_samples() -> Iterator[Sample]:
    """The samples of PROCESS_METRICS."""
    from resource import RLIMIT_NOFILE, getrlimit

    with open("/proc/self/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    times = os.times()
    yield "process_cpu_seconds_total", (), times.user + times.system
    yield "process_resident_memory_bytes", (), int(fields[RESIDENT_PAGES]) * os.sysconf("SC_PAGE_SIZE")
    yield "process_virtual_memory_bytes", (), int(fields[VIRTUAL_BYTES])
    yield "process_open_fds", (), len(os.listdir("/proc/self/fd"))
    yield "process_max_fds", (), getrlimit(RLIMIT_NOFILE)[0]
    yield "process_threads", (), int(fields[THREADS])
    yield "process_start_time_seconds", (), boot_time() + int(fields[STARTED_AT]) / os.sysconf("SC_CLK_TCK")


def boot_time() -> int:
    """The boot time of the system, in seconds since the epoch."""
    with open("/proc/stat") as stat:
        for line in stat:
            if line.startswith("btime "):
                return int(line.split()[1])
    return 0
