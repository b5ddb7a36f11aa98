"""kill -9 of a broker in mid-write, over and over on one directory and port, while clients of every make go on.

A seed gives the broker's configuration (small segments, index intervals and retention, frequent checkpoints, flush
policies, fast path on or off), the clients' and the moments of the kills. After each kill the broker comes back and
every partition is read whole; at the end the clients wait for what they have sent, the log is opened again and again,
and all that anybody was told is held against the invariants 1-7, 9, 10, 12 and 14.

What a kill at a given time of the clock meets differs from run to run: a seed repeats the circumstances, not the
interleaving.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import AdminClient, NewTopic

from tests.broker_process import BrokerProcess
from tests.interop.java_tools import JavaTools
from tests.invariants import checker, log_files
from tests.invariants.history import History, LogView, Offsets, Outcome
from tests.workload.audit import Auditor, dumped_records, index_findings
from tests.workload.plan import CLIENTS, ReaderPlan, plans
from tests.workload.workload import Workload

TOPIC = "killed"
PARTITIONS = 3
TIMEOUT_S = 60.0
# The part of the kills that meet a broker which is just starting, and how early.
KILLED_AT_START = 0.15
STARTING_S = 0.08
# Of those that are followed by a start and a clean end, whose files the next kill finds.
ENDED_CLEANLY = 0.1
RUNNING_S = (0.03, 0.5)
# With these nothing happens to a log by itself: what a start leaves is what recovery made.
QUIET = {
    "log.initial.task.delay.ms": "600000",
    "log.retention.check.interval.ms": "600000",
    "log.flush.offset.checkpoint.interval.ms": "600000",
    "log.flush.start.offset.checkpoint.interval.ms": "600000",
    "log.flush.scheduler.interval.ms": "600000",
    "replica.high.watermark.checkpoint.interval.ms": "600000",
}
USUAL_INDEX_INTERVAL = 4096
RECOVERED = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", "leader-epoch-checkpoint", "partition.metadata")


class Circumstances(NamedTuple):
    """What a seed decides of the broker; `deletes_records` of every second round."""

    broker: dict[str, str]
    topic: dict[str, str]
    deletes_records: bool


def circumstances(chance: random.Random) -> Circumstances:
    segment_bytes = chance.choice((16_384, 65_536, 262_144))
    broker = {
        "log.initial.task.delay.ms": "10",
        "log.retention.check.interval.ms": chance.choice(("20", "200")),
        "log.flush.offset.checkpoint.interval.ms": chance.choice(("10", "100")),
        "log.flush.start.offset.checkpoint.interval.ms": chance.choice(("10", "100")),
        "log.flush.scheduler.interval.ms": chance.choice(("30", "600000")),
        "replica.high.watermark.checkpoint.interval.ms": chance.choice(("10", "100")),
        "log.flush.group.commit": chance.choice(("false", "false", "true")),
        "kcli.fast.path.enable": chance.choice(("true", "true", "true", "false")),
        "kcli.log.max.open.segments": chance.choice(("0", "2")),
        "offsets.topic.num.partitions": "2",
        "offsets.topic.segment.bytes": "16384",
    }
    topic = {
        "segment.bytes": str(segment_bytes),
        "index.interval.bytes": chance.choice(("0", "500", "4096")),
        "segment.index.bytes": chance.choice(("120", "10485760")),
        "retention.bytes": str(segment_bytes * chance.choice((1, 4))),
        "flush.messages": chance.choice(("1", "50", str(2**63 - 1), str(2**63 - 1))),
        "flush.ms": chance.choice(("20", str(2**63 - 1))),
        "file.delete.delay.ms": chance.choice(("0", "100")),
    }
    if chance.random() < 0.3:
        topic["segment.ms"] = "200"
    return Circumstances(broker, topic, deletes_records=chance.random() < 0.25)


def recovered(state: dict[str, log_files.Files]) -> dict[str, bytes]:
    """What recovery answers for: not the broker's checkpoints, nor files that wait for their removal."""
    return {
        f"{directory}/{name}": content
        for directory, files in state.items()
        for name, content in files.items()
        if name.endswith(RECOVERED)
    }


class Tally(NamedTuple):
    """What a run met, for whoever wants to know whether it was worth anything."""

    kills: int
    acked: int
    unknown: int
    read: int
    commits: int
    deleted: int
    segments: int


class KillRounds:
    def __init__(self, directory: Path, seed: int, kills: int, *, with_kafkas_tool: bool = False) -> None:
        self.chance = random.Random(seed)
        self.kills = kills
        self.with_kafkas_tool = with_kafkas_tool
        self.given = circumstances(self.chance)
        self.plans = {client: plans(self.chance, TOPIC, PARTITIONS, client) for client in CLIENTS}
        self.broker = BrokerProcess(directory, self.given.broker)
        self.history = History()

    def run(self) -> Tally:
        with self.broker:
            self._create_topic()
            auditor = Auditor(self.broker.bootstrap_server)
            try:
                with Workload(self.broker.bootstrap_server, self.plans) as workload:
                    for _ in range(self.kills):
                        self._kill_once(auditor)
                    stopped = time.monotonic_ns()
                    self.history.merge(workload.stop())
                self._look(auditor)
                self._check_recovery_twice()
                self._look(auditor)
            finally:
                auditor.close()
            self._check_files_of_the_stopped()
            assert "Traceback" not in self.broker.log(), self.broker.log()[-4000:]
        checker.check_history(self.history)
        self._check_progress(stopped)
        return self._tally()

    def _create_topic(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_server})
        made = admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1, config=self.given.topic)])
        made[TOPIC].result(TIMEOUT_S)

    # Between kills

    def _kill_once(self, auditor: Auditor) -> None:
        time.sleep(self.chance.uniform(*RUNNING_S))
        self.broker.kill()
        self._check_dead()
        if self.chance.random() < KILLED_AT_START:
            self.broker._begin_start()
            time.sleep(self.chance.uniform(0.0, STARTING_S))
            self.broker.kill()
            self._check_dead()
        if self.chance.random() < ENDED_CLEANLY:
            self.broker.start()
            assert self.broker.stop() == 0
        self.broker.start()
        views = auditor.views(TOPIC, PARTITIONS)
        self.history.views += views
        if self.given.deletes_records and self.chance.random() < 0.5:
            view = self.chance.choice(views)
            offset = self.chance.randint(view.start, view.end)
            self.history.deletions.append(auditor.delete_records(view.partition, offset))

    def _check_dead(self) -> None:
        for files in self._files().values():
            checker.check_nothing_was_set_aside(files)

    def _files(self) -> dict[str, log_files.Files]:
        """Of every partition, those of the group coordinator too."""
        return {
            directory.name: log_files.read_directory(directory)
            for directory in sorted(self.broker.data_dir.iterdir())
            if directory.is_dir()
        }

    # After the last one

    def _groups(self) -> list[str]:
        return [plan.group for made in self.plans.values() for plan in made if isinstance(plan, ReaderPlan)]

    def _check_progress(self, since: int) -> None:
        producers = [
            plan.name
            for made in self.plans.values()
            for plan in made
            if not isinstance(plan, ReaderPlan) and plan.acks != 0
        ]
        checker.check_everyone_makes_progress(self.history, since, producers, self._groups())

    def _look(self, auditor: Auditor) -> None:
        self.history.views += auditor.views(TOPIC, PARTITIONS)
        self.history.committed += auditor.committed(self._groups(), TOPIC, PARTITIONS)

    def _check_recovery_twice(self) -> None:
        """Two starts without anything to do, each ended by kill -9, and a third that serves again."""
        self.broker.kill()
        usual = dict(self.broker.properties)
        self.broker.properties.update(QUIET)
        states = []
        for _ in range(2):
            self.broker.start()
            self.broker.kill()
            states.append(self._files())
        checker.check_recovery_is_idempotent(*(recovered(state) for state in states))
        for name, files in states[-1].items():
            checker.check_files(files, index_interval_bytes=self._index_interval_bytes(name))
        self.broker.properties = usual
        self.broker.start()

    def _index_interval_bytes(self, directory: str) -> int:
        return int(self.given.topic["index.interval.bytes"]) if directory.startswith(TOPIC) else USUAL_INDEX_INTERVAL

    def _check_files_of_the_stopped(self) -> None:
        assert self.broker.stop() == 0
        views = {str(view.partition): view for view in self.history.views[-PARTITIONS:]}
        for name, files in self._files().items():
            checker.check_nothing_was_set_aside(files)
            checker.check_files(files, index_interval_bytes=self._index_interval_bytes(name))
            assert not index_findings(self.broker.data_dir / name), index_findings(self.broker.data_dir / name)
            if name in views:
                if not self.given.deletes_records:
                    checker.check_retention_by_size(files, int(self.given.topic["retention.bytes"]))
                self._check_offsets(views[name], files)
                self._check_dump(views[name], self.broker.data_dir / name)

    def _check_offsets(self, view: LogView, files: log_files.Files) -> None:
        end = log_files.log_end_offset(files)
        assert end is not None, f"{view.partition} has no segment"
        checker.check_offsets(Offsets(view.partition, view.start, view.end, view.end, end))

    def _check_dump(self, view: LogView, directory: Path) -> None:
        checker.check_dump_agrees(view, dumped_records(directory))
        if self.with_kafkas_tool:
            checker.check_dump_agrees(view, JavaTools("3.9").dumped_records(sorted(directory.glob("*.log"))))

    def _tally(self) -> Tally:
        outcomes = [send.outcome for send in self.history.sends]
        last = self.history.views[-PARTITIONS:]
        return Tally(
            kills=self.kills,
            acked=outcomes.count(Outcome.ACKED),
            unknown=outcomes.count(Outcome.UNKNOWN),
            read=len(self.history.reads),
            commits=len(self.history.commits),
            deleted=sum(view.start for view in last),
            segments=len(list(self.broker.data_dir.glob(f"{TOPIC}-*/*.log"))),
        )


def run_kills(directory: Path, seed: int, kills: int, *, with_kafkas_tool: bool = False) -> Tally:
    rounds = KillRounds(directory, seed, kills, with_kafkas_tool=with_kafkas_tool)
    try:
        tally = rounds.run()
    except BaseException:
        print(f"kill -9, seed {seed}: {rounds.given}\nThe broker's log ends with:", file=sys.stderr)
        print(rounds.broker.log()[-6_000:], file=sys.stderr)
        raise
    print(f"kill -9, seed {seed}: {tally}", file=sys.stderr)
    return tally
