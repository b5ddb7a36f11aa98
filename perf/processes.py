"""The processes of a measurement: the broker, the floor, the load generator, and what /proc says of them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from perf import frames
from perf.frames import Load

LOAD = Path(__file__).resolve().parent / "load"
ROOT = Path(__file__).resolve().parent.parent
LOOPBACK = "127.0.0.1"
START_TIMEOUT_S = 120.0


CRC32C = ROOT / "kcore" / "record" / "crc32c.h"
PEER = Path(__file__).resolve().parent / "native" / "peer"
# What each program in C is made of, its own source first. A C compiler is all that this takes.
PROGRAMS = {
    LOAD / "kload": (LOAD / "kload.c", LOAD / "wire.h", LOAD / "histogram.h"),
    LOAD / "floor": (LOAD / "floor.c", LOAD / "wire.h", CRC32C),
    PEER: (PEER.with_suffix(".c"), LOAD / "wire.h", CRC32C),
}
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion", "-Wno-sign-conversion")


def build_load() -> None:
    """Compiles kload, the floor and the peer where a source is newer; $CC is the compiler, else cc."""
    for program, sources in PROGRAMS.items():
        if program.exists() and program.stat().st_mtime >= max(source.stat().st_mtime for source in sources):
            continue
        # Two runs may build at once: each in a file of its own, put in place as a whole.
        unfinished = program.with_name(f"{program.name}.{os.getpid()}")
        command = [
            *shlex.split(os.environ.get("CC", "cc")),
            "-std=gnu11",
            *WARNINGS,
            "-O2",
            "-g",
            "-o",
            str(unfinished),
        ]
        subprocess.run([*command, str(sources[0])], check=True, stdout=sys.stderr)
        unfinished.replace(program)


def cpu_seconds(pid: int) -> float:
    """Time on a CPU of all threads of a process, to the nanosecond (schedstat; stat counts in ticks of 10 ms)."""
    tasks = Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} has no VmRSS")


def warm_pages(directory: Path, size: int) -> None:
    """Touches memory for the page cache and gives it back, so that no contender is the first to touch it.

    On virtual machines that return free pages to their host the first touch costs ten times the copy.
    """
    block = bytes(1 << 20)
    with tempfile.TemporaryFile(dir=directory) as file:
        for _ in range(size // len(block) + 1):
            file.write(block)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def exchange(port: int, frame: bytes, timeout_s: float = 30.0) -> bytes:
    """One request and its answer, without the answer's length."""
    with socket.create_connection((LOOPBACK, port), timeout=timeout_s) as connection:
        connection.sendall(frame)
        with connection.makefile("rb") as answers:
            (size,) = struct.unpack(">i", answers.read(4))
            return answers.read(size)


class Broker:
    """`kcli server-start` on a directory of its own, as a process of its own."""

    def __init__(self, directory: Path, overrides: dict[str, str] | None = None, *, checkout: Path = ROOT) -> None:
        self.directory = directory
        self.port = free_port()
        # The tree that this file is in unless another is named, whatever is installed.
        command = [sys.executable, "-m", "kcli", "server-start", "--port", str(self.port)]
        command += ["--data-dir", str(directory)]
        for name, value in (overrides or {}).items():
            command += ["--override", f"{name}={value}"]
        self.log = (directory.parent / f"{directory.name}.log").open("wb")
        started = time.monotonic()
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log, cwd=checkout)
        self.start_s = self._first_answer(started)

    def _first_answer(self, started: float) -> float:
        """Seconds from the start of the process to the first answered request."""
        while time.monotonic() - started < START_TIMEOUT_S:
            if self.process.poll() is not None:
                break
            try:
                exchange(self.port, frames.api_versions())
                return time.monotonic() - started
            except ConnectionRefusedError:
                time.sleep(0.001)
        raise RuntimeError(f"the broker did not answer; its log: {Path(self.log.name).read_text()[-2000:]}")

    @property
    def pid(self) -> int:
        return self.process.pid

    def create_topic(self, name: str) -> None:
        """Creates a topic and comes back when its partition 0 is there."""
        probe = frames.fetch(name, 0, max_bytes=1024, max_wait_ms=0)
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            exchange(self.port, frames.create_topic(name))
            answer = exchange(self.port, probe.frame)
            if all(answer[position - 4 : position - 2] == b"\0\0" for position in probe.error_positions):
                return
            time.sleep(0.01)
        raise RuntimeError(f"topic {name} was not created")

    def delete_topic(self, name: str) -> None:
        exchange(self.port, frames.delete_topic(name))

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(START_TIMEOUT_S)
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)


class Floor:
    """perf/load/floor: the least that the machine asks for the same bytes."""

    def __init__(self, *arguments: str | os.PathLike[str]) -> None:
        self.process = subprocess.Popen(
            [LOAD / "floor", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    @property
    def pid(self) -> int:
        return self.process.pid

    def stop(self) -> None:
        streams: list[IO[str] | None] = [self.process.stdin, self.process.stdout]
        for stream in streams:
            if stream is not None:
                stream.close()
        self.process.wait(START_TIMEOUT_S)


def run_load(directory: Path, port: int, load: Load, **options: int) -> dict[str, Any]:
    """Runs kload with one request and gives its report; `requests=`, `connections=`, ... are its options."""
    with tempfile.NamedTemporaryFile(dir=directory, suffix=".frame") as file:
        file.write(load.frame)
        file.flush()
        command = [str(LOAD / "kload"), "--port", str(port), "--frame", file.name]
        for position in load.error_positions:
            command += ["--error-at", str(position)]
        if load.offset_position is not None:
            command += ["--offset-at", str(load.offset_position)]
        for name, value in options.items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    report: dict[str, Any] = json.loads(done.stdout)
    return report
