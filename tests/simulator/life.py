"""A life: what clients do on a machine until it ends, its coming back, and the invariants after it.

A round is some steps and an end: a loss of power, a kill, or a clean stop. Then the machine comes back, every partition
is read whole, what was ever told is held against the invariants, the broker is stopped once more and its files are
looked at. Subclasses take the steps.

The same seed takes the same steps. With group commit the log committer is a second thread that changes the disk, so
that a crash at the n-th change may meet another change of the same few when such a life is led again.
"""

from __future__ import annotations

import random
from contextlib import ExitStack

from tests.invariants.checker import check_history, check_nothing_was_set_aside
from tests.invariants.history import Read
from tests.simulator.broker_output import BrokerOutput
from tests.simulator.durability import Mode, forget_unsynced, recovery_points
from tests.simulator.files import check_at_rest, check_recovery_twice, set_aside
from tests.simulator.machine import Machine
from tests.simulator.workload import Workload

SHOWN_STEPS = 40
SHOWN_CHANGES = 20


class Life:
    """`rounds` ends, each with a start behind it; `run` leads the life and raises what it finds."""

    def __init__(self, seed: int, mode: Mode, rounds: int) -> None:
        self.seed = seed
        self.mode = mode
        self.rounds = rounds
        self.chance = random.Random(f"{mode.value} {seed}")
        self.machine = Machine(seed, mode.settings)
        self.steps_taken: list[str] = []
        self.work = Workload(self.machine, mode, self.steps_taken.append)
        # Of the last end, and what came since.
        self.power_was_lost = False
        self.was_clean = False

    def run(self) -> None:
        """Leads the life; what goes wrong is raised with what led to it."""
        with BrokerOutput() as output, ExitStack() as end:
            end.callback(self._end)
            try:
                self.machine.start()
                self.work.connect()
                self.prepare()
                for number in range(self.rounds):
                    self.note(f"round {number}")
                    self.live()
                    self.come_back()
                self.work.disconnect()
                self.machine.stop()
            except Exception as error:
                error.add_note(self._evidence(output.text()))
                raise

    def prepare(self) -> None:
        """Before the first round."""

    def live(self) -> None:
        """Takes a round's steps, and ends by `lose_power`, `kill` or `stop`."""
        raise NotImplementedError

    def again(self) -> str:
        """The command that leads this life again."""
        return f"python -m tests.simulator --mode {self.mode.value} --seed {self.seed}"

    def note(self, step: str) -> None:
        self.steps_taken.append(step)

    def _end(self) -> None:
        self.work.disconnect()
        if self.machine.broker is not None:
            self.machine.kill()

    def _evidence(self, output: str) -> str:
        changes = self.machine.disk.recent_changes()[-SHOWN_CHANGES:]
        return "\n".join(
            [f"again: {self.again()}", "last steps:"]
            + [f"  {step}" for step in self.steps_taken[-SHOWN_STEPS:]]
            + ["last changes of the disk:"]
            + [f"  {operation} {path}" for operation, path in changes]
            + ["the broker said:", output]
        )

    # Ends

    def stop(self) -> None:
        """A clean stop; the machine loses its power should it crash meanwhile."""
        self.note("clean stop")
        self.work.disconnect()
        self.machine.stop()
        if self.machine.has_crashed:
            self.lose_power()
        else:
            self.machine.disk.heal()
            self.was_clean, self.power_was_lost = self.machine.is_marked_clean(), False

    def kill(self) -> None:
        self.note("kill -9")
        self.work.disconnect()
        self.machine.kill()
        self.was_clean = self.power_was_lost = False

    def lose_power(self) -> None:
        survivors = self.chance.getrandbits(63)
        self.note(f"loss of power, survivors {survivors}")
        self.work.disconnect()
        self.machine.lose_power(survivors)
        self.was_clean, self.power_was_lost = False, True
        history = self.work.history
        if not self.mode.is_strict:
            forget_unsynced(history, recovery_points(self.machine), self.work.commits)
        # Segments that retention had removed may be back, so what was whole is no more than what was read.
        for view in history.views:
            source = f"view at {view.at}"
            history.reads += [
                Read(source, view.partition, offset, value, view.at) for offset, value in view.records.items()
            ]
        history.views.clear()

    # Coming back

    def come_back(self) -> None:
        kept_before = set_aside(self.machine)
        # A loss of power may bring back the mark of a clean stop: what that start leaves as it is, the next one clears.
        if not self.was_clean and self.chance.random() < 0.3 and not self.machine.is_marked_clean():
            self.note("recover twice")
            check_recovery_twice(self.machine)
        self.machine.start()
        if not self.power_was_lost:
            kept = set_aside(self.machine)
            check_nothing_was_set_aside({name: kept[name] for name in kept.keys() - kept_before.keys()})
        self.work.connect()
        views = self.work.view_all()
        check_history(self.work.history)
        self.work.disconnect()
        self.note("look at the files")
        self.machine.stop()
        check_at_rest(self.machine, views)
        self.machine.start()
        self.work.connect()

    def start_with_crash(self, change: int) -> None:
        """A start that crashes at a change, or is killed when it was through before that."""
        self.note(f"start, crash at change {change}")
        self.machine.disk.crash_at(change)
        try:
            self.machine.start()
        except Exception:
            if not self.machine.has_crashed:
                raise
        self.lose_power()
