"""Java's perf tools. Their CPU is that of the whole process, less that of a run of a single record: starting it."""

from __future__ import annotations

import re
import resource
import subprocess
from functools import cache

from perf.clients.turn import BATCH_BYTES, CONSUME, FETCH_BYTES, ROOT, TURN_TIMEOUT_S, Result, Task, last_line

VERSION = "4"
PRODUCED = re.compile(r"(\d+) records sent, ([\d.]+) records/sec")
# start, end, MB, MB/s, records, records/s, rebalance ms, fetch ms, fetch MB/s, fetch records/s
CONSUMED = re.compile(r"^[\d-]+ [\d:]+, .*$", re.MULTILINE)


def run(task: Task) -> Result:
    result = _run(task)
    if result.error is None:
        result.cpu_s = max(0.0, result.cpu_s - _start_cpu_s(task.kind, task.server, task.topic, task.size))
    return result


@cache
def _start_cpu_s(kind: str, server: str, topic: str, size: int) -> float:
    return _run(Task(kind, "java", "tool", server, topic, size, 1)).cpu_s


def _run(task: Task) -> Result:
    program, arguments = _command(task)
    before_s = _children_cpu_s()
    try:
        done = subprocess.run(
            [ROOT / "bin" / "kafka-run", VERSION, program, *arguments],
            capture_output=True,
            text=True,
            timeout=TURN_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Result(error=f"not done in {TURN_TIMEOUT_S:.0f} s")
    if done.returncode != 0:
        return Result(error=last_line(done.stderr) or f"ended with {done.returncode}")
    records, records_per_s = _figures(task, done.stdout)
    if not records:
        return Result(error=f"says no figures: {last_line(done.stdout)}")
    return Result(records, records / records_per_s, _children_cpu_s() - before_s)


def _command(task: Task) -> tuple[str, list[str]]:
    common = ["--bootstrap-server", task.server, "--topic", task.topic, "--num-records", str(task.records)]
    if task.kind == CONSUME:
        return "ConsumerPerformance", [*common, "--fetch-size", str(FETCH_BYTES), "--hide-header"]
    settings = [f"batch.size={BATCH_BYTES}", "acks=all", "enable.idempotence=false", "buffer.memory=268435456"]
    size = ["--record-size", str(task.size), "--throughput", "-1"]
    return "ProducerPerformance", [*common, *size, "--command-property", *settings]


def _figures(task: Task, text: str) -> tuple[int, float]:
    """Records, and records a second: of the last summary, and without the rebalance."""
    if task.kind == CONSUME:
        lines = CONSUMED.findall(text)
        fields = lines[-1].split(", ") if lines else []
        return (int(fields[4]), float(fields[9])) if len(fields) == 10 else (0, 0.0)
    found = PRODUCED.findall(text)
    return (int(found[-1][0]), float(found[-1][1])) if found else (0, 0.0)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
