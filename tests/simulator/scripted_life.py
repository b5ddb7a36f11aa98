"""One scripted life, stopped at each of its disk's changes in turn.

The script goes through what changes files: topics made and deleted, appends of every codec, rolls, retention, changed
configurations, commits of offsets, DeleteRecords, checkpoints, a clean stop and a start. Led once to its end it says
how many changes there are; led again for each of them it stops there, by a loss of power or a kill, and comes back.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.invariants.history import TopicPartition
from tests.simulator.durability import Mode
from tests.simulator.life import Life

FIRST, SECOND, THIRD = (TopicPartition(f"topic-{number}", 0) for number in range(3))
CODECS = range(5)


class ScriptedLife(Life):
    """`change` is where it stops, None: at its end; `by_power` tells how."""

    def __init__(self, seed: int, mode: Mode, change: int | None, *, by_power: bool = True) -> None:
        super().__init__(seed, mode, rounds=1)
        self.change = change
        self.by_power = by_power
        # How many there were before it ended.
        self.changes = 0

    def again(self) -> str:
        by = "" if self.by_power else " --kill"
        return f"python -m tests.simulator --mode {self.mode.value} --seed {self.seed} --change {self.change}{by}"

    def prepare(self) -> None:
        self.work.create_topic(1, {"segment.bytes": "1000", "index.interval.bytes": "100"})
        self.work.create_topic(1, {"segment.bytes": "400", "retention.bytes": "100000"})

    def live(self) -> None:
        before = self.machine.disk.changes
        if self.change is not None:
            self.note(f"crash at change {self.change}")
            self.machine.disk.crash_at(self.change)
        for _ in self._script():
            self.machine.run_due()
            if self.machine.has_crashed:
                break
        self.changes = self.machine.disk.changes - before
        if self.by_power:
            self.lose_power()
        else:
            self.kill()

    def _script(self) -> Iterator[None]:
        """Each `yield` is the end of a step."""
        work = self.work
        work.create_topic(1, {"segment.bytes": "400", "index.interval.bytes": "0"})
        yield
        for codec in CODECS:
            yield from self._send_all((FIRST, SECOND, THIRD, THIRD), codec)
        for number, group in enumerate(work.groups):
            work.commit(group, FIRST, 3 + number)
            yield
        work.delete_below(THIRD, 5)
        yield
        work.set_config(FIRST.topic, "segment.bytes", "400")
        yield
        yield from self._send_all((FIRST,) * 4, 3)
        work.pass_time(61_000)
        yield
        work.set_config(SECOND.topic, "retention.bytes", "300")
        yield
        work.pass_time(301_000)
        yield
        work.delete_topic(THIRD.topic)
        yield
        work.pass_time(61_000)
        yield
        yield from self._stop_and_start()
        yield from self._send_all((FIRST, SECOND, FIRST, SECOND), 4)

    def _send_all(self, partitions: tuple[TopicPartition, ...], codec: int) -> Iterator[None]:
        for producer, partition in zip(self.work.producers, partitions, strict=True):
            if self.work.begin(producer, partition, (50, 120), codec, 0, -1):
                self.work.finish(producer)
            yield

    def _stop_and_start(self) -> Iterator[None]:
        """A clean stop and a start; either may be where it ends."""
        self.note("clean stop and start")
        self.work.disconnect()
        self.machine.stop()
        if self.machine.has_crashed:
            yield
        try:
            self.machine.start()
        except Exception:
            if not self.machine.has_crashed:
                raise
        if not self.machine.has_crashed:
            self.work.connect()
        yield
