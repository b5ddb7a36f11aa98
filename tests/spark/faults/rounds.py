"""Rounds of faults on a streaming query: its driver killed -9, a worker of Python killed -9, or the broker, restarted.

Records are written all the while. At the end the query reads on without faults, and what it left is held against what
was written and acknowledged: no record is missing, and where a batch is overwritten by its next try, none is twice.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet

from kcore.client.producer import Producer
from kcore.testing.embedded_broker import EmbeddedBroker
from tests.conftest import ROOT
from tests.leftovers import Leftovers

TOPIC = "faulted"
PARTITIONS = 3
RECORDS_A_ROUND = 2_000
# How many batches a driver may do before a fault comes, and how long after the last of them, in seconds.
MOST_BATCHES = 3
MOST_S = 0.6
LOOK_S = 0.05
PATIENCE_S = 240.0
DRIVER, WORKER, BROKER = "driver", "worker", "broker"
FAULTS = (DRIVER, WORKER, BROKER)


class Rounds:
    """`directory` is its own."""

    def __init__(self, directory: Path, seed: int) -> None:
        self._directory = directory
        self._chance = random.Random(seed)
        self._leftovers = Leftovers(directory)
        self._broker = EmbeddedBroker(data_dir=directory / "data", topics={TOPIC: PARTITIONS})
        self._driver: subprocess.Popen[bytes] | None = None
        self._written: set[tuple[int, int, bytes]] = set()

    def run(self, faults: list[str]) -> None:
        with self._broker:
            try:
                for fault in faults:
                    # Counted before there is more to read: a driver may be done with it at once.
                    done = self._batches_done()
                    self._write()
                    self._wait_for_a_moment(done)
                    {DRIVER: self._kill_driver, WORKER: self._kill_worker, BROKER: self._kill_broker}[fault]()
                self._write()
                self._finish()
            finally:
                self._end_driver()
        self._check()

    def _write(self) -> None:
        first = len(self._written)
        with Producer(bootstrap_servers=self._broker.bootstrap_servers) as producer:
            values = [b"record %d" % number for number in range(first, first + RECORDS_A_ROUND)]
            futures = [producer.send(TOPIC, value, partition=self._chance.randrange(PARTITIONS)) for value in values]
            producer.flush()
            for value, future in zip(values, futures, strict=True):
                record = future.result()
                self._written.add((record.partition, record.offset, value))

    # The query

    def _start_driver(self) -> None:
        (self._directory / "log").touch()
        with (self._directory / "log").open("ab") as log:
            self._driver = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.spark.faults.query",
                    self._directory,
                    self._broker.bootstrap_servers,
                    TOPIC,
                ],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._leftovers.environment,
                start_new_session=True,
            )

    def _batches_done(self) -> int:
        commits = self._directory / "checkpoint" / "commits"
        return sum(1 for path in commits.glob("[0-9]*")) if commits.is_dir() else 0

    def _wait_for_a_moment(self, done: int) -> None:
        """Some batches on from so many, and then some time."""
        if self._driver is None:
            self._start_driver()
        wanted = done + self._chance.randint(1, MOST_BATCHES)
        self._wait(lambda: self._batches_done() >= wanted, f"{wanted} batches")
        time.sleep(self._chance.uniform(0, MOST_S))

    def _finish(self) -> None:
        if self._driver is None:
            self._start_driver()
        (self._directory / "finish").touch()
        assert self._driver is not None
        code = self._driver.wait(PATIENCE_S)
        assert code == 0, f"the driver ended with {code}:\n{self._log()}"
        self._driver = None

    # Faults

    def _kill_driver(self) -> None:
        """With its JVM, which is of the same session; workers end when the JVM is gone."""
        driver, self._driver = self._driver, None
        assert driver is not None
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
        self._wait(lambda: not self._leftovers.processes(), "the end of the driver's processes")

    def _kill_worker(self) -> None:
        """One of those that the JVM has: those that plan, those that read, and those that others are forked from."""
        workers: list[int] = []

        def are_there() -> bool:
            workers[:] = self._workers()
            return bool(workers)

        self._wait(are_there, "workers")
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._chance.choice(workers), signal.SIGKILL)

    def _kill_broker(self) -> None:
        self._broker.kill()
        time.sleep(self._chance.uniform(0, MOST_S))
        self._broker.start()

    def _workers(self) -> list[int]:
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                is_ours = f"KCLI_TEST_MARK={self._leftovers.mark}".encode() in (entry / "environ").read_bytes()
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if is_ours and b"\0-m\0pyspark." in command:
                found.append(int(entry.name))
        return sorted(found)

    def _end_driver(self) -> None:
        if self._driver is not None:
            self._kill_driver()

    def _wait(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            ended = self._driver is not None and self._driver.poll() is not None
            assert not ended, f"the driver ended before {what}:\n{self._log()}"
            assert time.monotonic() < deadline, f"{what} do not come:\n{self._log()}"
            time.sleep(LOOK_S)

    def _log(self) -> str:
        return (self._directory / "log").read_text(errors="replace")[-4_000:]

    # What must hold

    def _check(self) -> None:
        tried = Counter(self._rows("tries"))
        once = Counter(self._rows("batches"))
        missing = self._written - tried.keys()
        assert not missing, f"{len(missing)} records were passed over, such as {min(missing)}"
        assert tried.keys() <= self._written, "records that nobody wrote"
        assert once.keys() == self._written, f"{len(self._written - once.keys())} records are in no batch"
        twice = [row for row, count in once.items() if count > 1]
        assert not twice, f"{len(twice)} records are in two batches, such as {min(twice)}"

    def _rows(self, name: str) -> list[tuple[int, int, bytes]]:
        rows = []
        for path in sorted((self._directory / name).glob("*/*.parquet")):
            table = pyarrow.parquet.read_table(path)
            rows += zip(*(table.column(column).to_pylist() for column in table.column_names), strict=True)
        return rows


def faults_of(seed: int, count: int) -> list[str]:
    """Each kind of fault before one comes again, in an order of chance."""
    chance = random.Random(seed)
    found: list[str] = []
    while len(found) < count:
        found += chance.sample(FAULTS, len(FAULTS))
    return found[:count]
