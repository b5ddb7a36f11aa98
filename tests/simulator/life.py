"""One life: random steps by a seed, crashes among them, and the invariants after each.

A round is some steps, an end (a loss of power, a kill, or a clean stop; the first two at a chosen change of the disk or
after the last step), and a new start, which may crash as well. After it every partition is read whole, and what was
ever told is held against the invariants; then the broker is stopped once more and its files are looked at.

The same seed takes the same steps. With group commit the log committer is a second thread that changes the disk, so
that a crash at the n-th change may meet another change of the same few when such a life is led again.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from contextlib import ExitStack

from kcore.protocol import apis
from tests.invariants.checker import InvariantViolation, check_history
from tests.invariants.history import History, LogView, Offsets, Outcome, Read, TopicPartition
from tests.raw_client import RawClient
from tests.simulator.broker_output import BrokerOutput
from tests.simulator.durability import Mode, forget_unsynced, recovery_points
from tests.simulator.files import check_at_rest, check_recovery_twice
from tests.simulator.group import OFFSETS_PARTITION, Group, NotedCommit
from tests.simulator.machine import Machine
from tests.simulator.producer import Producer
from tests.simulator.reader import EARLIEST, LATEST, Reader

TOPIC_RESOURCE = 2
CODECS = range(5)
MOST_TOPICS = 5
# Long enough for one crash to meet what another has left.
ROUNDS = 5
TOPIC_CONFIGS: dict[str, list[str]] = {
    "segment.bytes": ["400", "1000", "3000", "100000"],
    "segment.ms": ["1000", "60000", "604800000"],
    "index.interval.bytes": ["0", "100", "1000", "4096"],
    "retention.bytes": ["-1", "2000", "10000"],
    "retention.ms": ["-1", "60000", "600000"],
    "compression.type": ["producer", "gzip", "snappy", "lz4", "zstd", "uncompressed"],
    "message.timestamp.type": ["CreateTime", "LogAppendTime"],
    "file.delete.delay.ms": ["0", "1000", "60000"],
}
# Only where the mode does not say it for all topics.
FLUSH_CONFIGS: dict[str, list[str]] = {
    "flush.messages": ["1", "3", "20", "9223372036854775807"],
    "flush.ms": ["1000", "30000", "9223372036854775807"],
}


class Life:
    """`rounds` starts after an end; `run` leads the life and raises what it finds."""

    def __init__(self, seed: int, mode: Mode, rounds: int) -> None:
        self.seed = seed
        self.mode = mode
        self.rounds = rounds
        self.chance = random.Random(f"{mode.value} {seed}")
        self.machine = Machine(seed, mode.settings)
        self.history = History()
        self.reader = Reader("reader", self.history, self.tick)
        self.groups = [Group(f"group-{number}", self.history, self.tick) for number in range(2)]
        self.producers = [self._producer(f"p{number}", idempotent=number % 2 == 0) for number in range(4)]
        self.steps_taken: list[str] = []
        self.records_read = 0
        self._ticks = itertools.count()
        self._topic_numbers = itertools.count()
        self._commits: list[NotedCommit] = []
        self._committed: dict[tuple[str, TopicPartition], int] = {}
        # Below which offset nothing may come back, by what DeleteRecords answered.
        self._deleted_to: dict[TopicPartition, int] = {}
        self._power_was_lost = self._was_clean = False
        self._client: RawClient | None = None

    def _producer(self, name: str, *, idempotent: bool) -> Producer:
        return Producer(name, self.history, self.tick, idempotent=idempotent, keeps_state=self.mode.is_strict)

    def tick(self) -> int:
        return next(self._ticks)

    @property
    def client(self) -> RawClient:
        assert self._client is not None
        return self._client

    # The whole

    def run(self) -> None:
        """Leads the life; what goes wrong is raised with what led to it."""
        with BrokerOutput() as output, ExitStack() as end:
            end.callback(self._end)
            try:
                self._start()
                for number in range(self.rounds):
                    self._note(f"round {number}")
                    self._live()
                    self._come_back()
                self.machine.stop()
            except Exception as error:
                error.add_note(self._evidence(output.text()))
                raise

    def _end(self) -> None:
        self._disconnect()
        if self.machine.broker is not None:
            self.machine.kill()

    def _evidence(self, output: str) -> str:
        changes = [f"  {operation} {path}" for operation, path in self.machine.disk.recent_changes()[-20:]]
        again = f"python -m tests.simulator --mode {self.mode.value} --seed {self.seed}"
        return "\n".join(
            [f"seed {self.seed}, mode {self.mode.value}; again: {again}", "last steps:"]
            + [f"  {step}" for step in self.steps_taken[-40:]]
            + ["last changes of the disk:", *changes, "the broker said:", output]
        )

    def _note(self, step: str) -> None:
        self.steps_taken.append(step)

    # Starts and ends

    def _start(self) -> None:
        self.machine.start()
        self._connect()
        for _ in range(2):
            self._create_topic()

    def _connect(self) -> None:
        self._client = RawClient(self.machine.port)
        for producer in self.producers:
            producer.connect(self.machine.port)
        for group in self.groups:
            group.find_coordinator(self.client)
        self.machine.run_due()

    def _disconnect(self) -> None:
        for producer in self.producers:
            producer.disconnect()
        if self._client is not None:
            self._client.socket.close()
            self._client = None

    def _live(self) -> None:
        if self.chance.random() < 0.8:
            change = self.chance.randint(1, 150)
            self._note(f"crash at change {change}")
            self.machine.disk.crash_at(change)
        for _ in range(self.chance.randint(5, 40)):
            self._step()
            self.machine.run_due()
            if self.machine.has_crashed:
                break
        self._stop_somehow()

    def _stop_somehow(self) -> None:
        choice = self.chance.random()
        self._power_was_lost = self._was_clean = False
        self._disconnect()
        if choice < 0.2:
            self._note("clean stop")
            points = recovery_points(self.machine)
            self.machine.stop()
            if self.machine.has_crashed:
                self._lose_power(points)
            else:
                self._was_clean = True
            self.machine.disk.heal()
        elif choice < 0.4:
            self._note("kill -9")
            self.machine.kill()
        else:
            self._lose_power(recovery_points(self.machine))

    def _lose_power(self, points: dict[TopicPartition, int]) -> None:
        self._power_was_lost = True
        survivors = self.chance.getrandbits(63)
        self._note(f"loss of power, survivors {survivors}")
        self.machine.lose_power(survivors)
        if not self.mode.is_strict:
            forget_unsynced(self.history, points, self._commits)
        # Segments that retention had removed may be back, so what was whole is no more than what was read.
        for view in self.history.views:
            self.history.reads += [
                Read(f"view at {view.at}", view.partition, offset, value, view.at)
                for offset, value in view.records.items()
            ]
        self.history.views.clear()

    def _come_back(self) -> None:
        self._crash_while_starting()
        if not self._was_clean and self.chance.random() < 0.3:
            self._note("recover twice")
            check_recovery_twice(self.machine)
        self.machine.start()
        self._connect()
        views = self._view_all()
        self._check()
        self._disconnect()
        self._note("look at the files")
        self.machine.stop()
        check_at_rest(self.machine, views)
        self.machine.start()
        self._connect()

    def _crash_while_starting(self) -> None:
        """A start may crash too, some times over, at any change that recovery makes."""
        while self.chance.random() < 0.3:
            change = self.chance.randint(1, 40)
            self._note(f"start, crash at change {change}")
            self.machine.disk.crash_at(change)
            try:
                self.machine.start()
            except Exception:
                if not self.machine.has_crashed:
                    raise
            self._was_clean = False
            # What a process that was killed has left in memory only, a machine must not lose where nobody synced it.
            if self._power_was_lost or self.mode.is_strict:
                self.machine.lose_power(self.chance.getrandbits(63))
            else:
                self.machine.kill()

    # What must hold

    def _view_all(self) -> dict[TopicPartition, LogView]:
        self.machine.note_logs()
        views = {}
        for partition in self.machine.partitions():
            log = self.machine.logs.get(partition)
            if log is None:
                raise InvariantViolation(1, f"{partition} has no log")
            if partition.topic != OFFSETS_PARTITION.topic:
                views[partition] = view = self.reader.view(self.client, partition, log.end_offset)
                self.records_read += len(view.records)
                if view.start < self._deleted_to.get(partition, 0):
                    raise InvariantViolation(2, f"deleted records came back: {partition} starts at {view.start}")
            offsets = (log.start_offset, log.last_stable_offset, log.high_watermark, log.end_offset)
            self.history.offsets.append(Offsets(partition, *offsets))
        for group in self.groups:
            for partition in views:
                group.ask(self.client, partition)
        return views

    def _check(self) -> None:
        check_history(self.history)

    # Steps

    def _step(self) -> None:
        steps: list[tuple[Callable[[], None], int]] = [
            (self._produce, 40),
            (self._produce_together, 10),
            (self._read, 10),
            (self._commit, 12),
            (self._ask_committed, 3),
            (self._delete_records, 4),
            (self._alter_config, 6),
            (self._advance, 8),
            (self._create_topic, 2),
            (self._delete_topic, 1),
        ]
        step = self.chance.choices([step for step, _ in steps], [weight for _, weight in steps])[0]
        step()

    def _partition(self) -> TopicPartition | None:
        own = [partition for partition in self.machine.partitions() if partition != OFFSETS_PARTITION]
        return self.chance.choice(own) if own else None

    def _begin(self, producer: Producer) -> bool:
        partition = self._partition()
        if partition is None:
            return False
        sizes = [self.chance.choice([20, 50, 120]) for _ in range(self.chance.randint(1, 4))]
        timestamp = self.machine.memory.now_ms() - self.chance.choice([0, 0, 1, 1000])
        codec, acks = self.chance.choice(CODECS), self.chance.choice([1, -1])
        request = producer.begin(partition, sizes, codec=codec, timestamp=timestamp, acks=acks)
        if request is not None:
            again = ", again" if request.is_retry else ""
            self._note(f"{producer.name} sends {list(request.numbers)} to {partition}{again}")
        return request is not None

    def _finish(self, producer: Producer) -> None:
        outcome = producer.finish()
        self._note(f"{producer.name} is answered: {outcome.value}, error {producer.last_error}")

    def _produce(self) -> None:
        producer = self.chance.choice(self.producers)
        if self._begin(producer):
            self._finish(producer)

    def _produce_together(self) -> None:
        """Several requests on their way at once, which one sync may serve."""
        sending = [producer for producer in self.producers if self._begin(producer)]
        for producer in sending:
            self._finish(producer)

    def _read(self) -> None:
        partition = self._partition()
        if partition is None:
            return
        first = self.reader.bound(self.client, partition, EARLIEST)
        end = self.reader.bound(self.client, partition, LATEST)
        if 0 <= first < end:
            offset, most = self.chance.randrange(first, end), self.chance.choice([100, 1000, 100_000])
            self._note(f"read {partition} from {offset}")
            self.reader.read(self.client, partition, offset, most)

    def _commit(self) -> None:
        partition, group = self._partition(), self.chance.choice(self.groups)
        if partition is None:
            return
        before = self._committed.get((group.name, partition), 0)
        is_reset = self.chance.random() < 0.05
        offset = self.chance.randrange(before + 1) if is_reset else before + self.chance.randint(0, 9)
        commit = group.commit(self.client, partition, offset, is_reset=is_reset)
        self._note(f"{group.name} commits {offset} of {partition}: {commit.outcome.value}")
        if commit.outcome is Outcome.ACKED:
            self._committed[group.name, partition] = offset
            self.machine.note_logs()
            self._commits.append(NotedCommit(commit, self.machine.logs[OFFSETS_PARTITION].end_offset))

    def _ask_committed(self) -> None:
        partition, group = self._partition(), self.chance.choice(self.groups)
        if partition is not None:
            self._note(f"{group.name} has committed {group.ask(self.client, partition)} of {partition}")

    def _delete_records(self) -> None:
        partition = self._partition()
        if partition is None:
            return
        start = self.reader.bound(self.client, partition, EARLIEST)
        end = self.reader.bound(self.client, partition, LATEST)
        if not 0 <= start < end:
            return
        offset = self.chance.randint(start, end)
        part = {"partition_index": partition.partition, "offset": offset}
        fields = {"timeout_ms": 5000, "topics": [{"name": partition.topic, "partitions": [part]}]}
        answer = self.client.request(apis.DELETE_RECORDS, 2, fields).topics[0].partitions[0]
        self._note(f"delete records of {partition} below {offset}: error {answer.error_code}")
        if answer.error_code == 0:
            self._deleted_to[partition] = offset

    def _alter_config(self) -> None:
        partition = self._partition()
        if partition is None:
            return
        choices = TOPIC_CONFIGS if self.mode.is_strict else {**TOPIC_CONFIGS, **FLUSH_CONFIGS}
        name = self.chance.choice(sorted(choices))
        value = self.chance.choice(choices[name])
        config = {"name": name, "config_operation": 0, "value": value}
        resource = {"resource_type": TOPIC_RESOURCE, "resource_name": partition.topic, "configs": [config]}
        answer = self.client.request(apis.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource]})
        self._note(f"{partition.topic}: {name}={value}: error {answer.responses[0].error_code}")

    def _advance(self) -> None:
        milliseconds = self.chance.choice([5, 1000, 6000, 61_000, 301_000])
        self._note(f"{milliseconds} ms pass")
        self.machine.advance(milliseconds)

    def _create_topic(self) -> None:
        if len(self.machine.topics()) > MOST_TOPICS:
            return
        name = f"topic-{next(self._topic_numbers)}"
        configs = [
            {"name": key, "value": self.chance.choice(TOPIC_CONFIGS[key])}
            for key in ("segment.bytes", "index.interval.bytes")
        ]
        topic = {
            "name": name,
            "num_partitions": self.chance.randint(1, 2),
            "replication_factor": 1,
            "configs": configs,
        }
        answer = self.client.request(apis.CREATE_TOPICS, 5, {"topics": [topic], "timeout_ms": 5000})
        self._note(f"create {name}: error {answer.topics[0].error_code}")

    def _delete_topic(self) -> None:
        names = [name for name in self.machine.topics() if name != OFFSETS_PARTITION.topic]
        if len(names) < 3:
            return
        name = self.chance.choice(sorted(names))
        answer = self.client.request(apis.DELETE_TOPICS, 5, {"topic_names": [name], "timeout_ms": 5000})
        self._note(f"delete {name}: error {answer.responses[0].error_code}")
        # Its groups' offsets went with it, and nobody reads it any more.
        self.history.commits = [commit for commit in self.history.commits if commit.partition.topic != name]
        self.history.committed = [told for told in self.history.committed if told.partition.topic != name]
