"""A life whose disk does not crash but fails: EIO, ENOSPC and short writes at seeded operations, also in recovery.

What must hold (the invariants' 11 and 12): whose write or sync has failed hears of an error and never of an
acknowledgement, a directory with an I/O error goes offline, nothing hangs; and once the disk is whole again and the
broker has been started anew, everyone makes progress and everything acknowledged is there.
"""

from __future__ import annotations

import errno
from typing import NamedTuple

from kcore.storage.log_dirs import LogDirsError
from tests.invariants.checker import InvariantViolation, check_everyone_makes_progress
from tests.invariants.history import Outcome
from tests.simulator.machine import LOG_DIR
from tests.simulator.random_life import RandomLife

KAFKA_STORAGE_ERROR = 56
# Longer than the broker takes to look for logs that have met an error.
LOOK_MS = 6000


class Fault(NamedTuple):
    """A rule for the disk; `is_durability` where no request that met it may be acknowledged, whatever the policy."""

    operations: tuple[str, ...]
    error: int
    path: str = "*"
    short: bool = False
    done: bool = False
    is_durability: bool = False


FAULTS = (
    Fault(("pwritev",), errno.EIO, "*.log", is_durability=True),
    Fault(("pwritev",), errno.EIO, "*.log", short=True, is_durability=True),
    Fault(("pwritev",), errno.ENOSPC, "*.log", short=True, is_durability=True),
    Fault(("pwritev", "create", "mkdir", "fallocate"), errno.ENOSPC),
    Fault(("pwritev",), errno.ENOSPC, "*index"),
    Fault(("pwritev",), errno.ENOSPC, "*.snapshot*"),
    Fault(("pwritev",), errno.ENOSPC, "*checkpoint*", short=True),
    Fault(("fdatasync",), errno.EIO, "*.log", is_durability=True),
    Fault(("fdatasync",), errno.EIO, "*.log", done=True, is_durability=True),
    Fault(("fdatasync",), errno.EIO),
    Fault(("fsync_directory",), errno.EIO),
    Fault(("create",), errno.EIO, "*.log"),
    Fault(("create",), errno.ENOSPC, "*index"),
    Fault(("ftruncate",), errno.EIO),
    Fault(("rename",), errno.EIO),
    Fault(("rename",), errno.EIO, "*checkpoint*", done=True),
    Fault(("unlink", "rmdir"), errno.EIO),
    Fault(("open", "create"), errno.EIO),
    Fault(("pread",), errno.EIO),
    Fault(("sendfile",), errno.EIO),
    Fault(("mmap",), errno.EIO),
    Fault(("stat", "fstat", "readdir"), errno.EIO),
)


class FaultyLife(RandomLife):
    def again(self) -> str:
        return f"{super().again()} --faults"

    def live(self) -> None:
        fault = self._plan()
        self.work.faults_may_show = True
        for _ in range(self.chance.randint(10, 40)):
            self._watched_step(fault)
            self.machine.run_due()
        self._check_offline(fault)
        self.work.faults_may_show = False
        self.work.disconnect()
        self.chance.choices([self.lose_power, self.kill, self.stop], [1, 1, 2])[0]()

    def come_back(self) -> None:
        if self.chance.random() < 0.4:
            self._start_with_faults()
        # A RandomLife would crash while it starts.
        super(RandomLife, self).come_back()
        self._make_progress()

    def _plan(self) -> Fault:
        fault = self.chance.choice(FAULTS)
        at, times = self.chance.randint(1, 12), self.chance.choice([1, 2, None])
        self._fail(fault, at, times)
        return fault

    def _fail(self, fault: Fault, at: int, times: int | None) -> None:
        self.note(f"{fault}, from the {at}th on, {times or 'every'} time(s)")
        self.machine.disk.fail(
            fault.operations,
            fault.error,
            path=fault.path,
            at=at,
            times=times,
            short=fault.short,
            done=fault.done,
        )

    def _watched_step(self, fault: Fault) -> None:
        """11: what a step was acknowledged cannot be what the fault has met."""
        history = self.work.history
        sends, commits, injected = len(history.sends), len(history.commits), self.machine.disk.injected
        self._step()
        if self.machine.disk.injected == injected or not fault.is_durability:
            return
        if fault.operations == ("fdatasync",) and not self.mode.is_strict:
            return
        told = [send.outcome for send in history.sends[sends:]] + [
            commit.outcome for commit in history.commits[commits:]
        ]
        if told and all(outcome is Outcome.ACKED for outcome in told):
            raise InvariantViolation(11, f"acknowledged although {fault}")

    def _check_offline(self, fault: Fault) -> None:
        """11: a directory with an I/O error of which clients were told is out of use; one that is full need not be."""
        self.machine.advance(LOOK_MS)
        broker = self.machine.broker
        assert broker is not None
        topics = self.machine.topics()
        told = any(
            producer.last_error == KAFKA_STORAGE_ERROR
            and producer.last_partition is not None
            # The errors of a log that was deleted meanwhile are not looked at any more.
            and producer.last_partition.topic in topics
            for producer in self.work.producers
        )
        offline = broker.log_manager.offline_directories()
        self.note(f"{self.machine.disk.injected} operations have failed; offline: {offline}")
        if told and fault.error == errno.EIO and offline != [LOG_DIR]:
            raise InvariantViolation(11, f"a client was told KAFKA_STORAGE_ERROR, and {LOG_DIR} is in use")

    def _start_with_faults(self) -> None:
        """A start on a failing disk: it comes up, with the directory or without it, or says what is wrong."""
        fault = self.chance.choice(FAULTS)
        self._fail(fault, self.chance.randint(1, 30), self.chance.choice([1, None]))
        try:
            self.machine.start()
        except (OSError, LogDirsError) as error:
            self.note(f"does not start: {error}")
        self.machine.kill()
        self.was_clean = False

    def _make_progress(self) -> None:
        """12: the disk is whole, so each producer and each group has its way."""
        since = self.work.tick()
        for producer in self.work.producers:
            producer.last_error = 0
            for _ in range(3):
                partition = self._partition()
                if self.work.begin(producer, partition, (20,), 0, 0, -1):
                    self.work.finish(producer)
        for group in self.work.groups:
            partition = self._partition()
            self.work.commit(group, partition, self.work.committed.get((group.name, partition), 0))
        producers = [producer.name for producer in self.work.producers]
        check_everyone_makes_progress(self.work.history, since, producers, [group.name for group in self.work.groups])
