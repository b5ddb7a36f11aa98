"""A life of random steps, which crashes at a random change of the disk, or at one while it starts again."""

from __future__ import annotations

from collections.abc import Callable

from tests.invariants.history import TopicPartition
from tests.simulator.durability import Mode
from tests.simulator.group import OFFSETS_PARTITION
from tests.simulator.life import Life
from tests.simulator.producer import Producer

# Long enough for one crash to meet what another has left.
ROUNDS = 5
CODECS = range(5)
MOST_TOPICS = 5
LAST_CRASHING_CHANGE = 150
LAST_CRASHING_CHANGE_OF_A_START = 40
TOPIC_CONFIGS: dict[str, list[str]] = {
    "segment.bytes": ["400", "1000", "3000", "100000"],
    "segment.ms": ["1000", "60000", "604800000"],
    "retention.bytes": ["-1", "2000", "10000"],
    "retention.ms": ["-1", "60000", "600000"],
    "compression.type": ["producer", "gzip", "snappy", "lz4", "zstd", "uncompressed"],
    "message.timestamp.type": ["CreateTime", "LogAppendTime"],
    "file.delete.delay.ms": ["0", "1000", "60000"],
}
# Not changed later: where it is lowered, older indexes are taken for such as have lost entries, and are built anew.
INDEX_INTERVALS = ["0", "100", "1000", "4096"]
# Only where the mode does not say it for all topics.
FLUSH_CONFIGS: dict[str, list[str]] = {
    "flush.messages": ["1", "3", "20", "9223372036854775807"],
    "flush.ms": ["1000", "30000", "9223372036854775807"],
}


class RandomLife(Life):
    def prepare(self) -> None:
        for _ in range(2):
            self._create_topic()

    def live(self) -> None:
        if self.chance.random() < 0.8:
            change = self.chance.randint(1, LAST_CRASHING_CHANGE)
            self.note(f"crash at change {change}")
            self.machine.disk.crash_at(change)
        for _ in range(self.chance.randint(5, 40)):
            self._step()
            self.machine.run_due()
            if self.machine.has_crashed:
                break
        self.chance.choices([self.lose_power, self.kill, self.stop], [3, 1, 1])[0]()

    def come_back(self) -> None:
        while self.chance.random() < 0.3:
            self.start_with_crash(self.chance.randint(1, LAST_CRASHING_CHANGE_OF_A_START))
        super().come_back()

    # Steps

    def _step(self) -> None:
        steps: list[tuple[Callable[[], None], int]] = [
            (self._produce, 40),
            (self._produce_together, 10),
            (self._read, 10),
            (self._commit, 12),
            (self._ask_committed, 3),
            (self._delete_records, 4),
            (self._set_config, 6),
            (self._pass_time, 8),
            (self._create_topic, 2),
            (self._delete_topic, 1),
        ]
        self.chance.choices([step for step, _ in steps], [weight for _, weight in steps])[0]()

    def _partition(self) -> TopicPartition:
        return self.chance.choice(self.work.partitions())

    def _begin(self, producer: Producer) -> bool:
        sizes = [self.chance.choice([20, 50, 120]) for _ in range(self.chance.randint(1, 4))]
        codec, age_ms, acks = (
            self.chance.choice(CODECS),
            self.chance.choice([0, 0, 1, 1000]),
            self.chance.choice([1, -1]),
        )
        return self.work.begin(producer, self._partition(), sizes, codec, age_ms, acks)

    def _produce(self) -> None:
        producer = self.chance.choice(self.work.producers)
        if self._begin(producer):
            self.work.finish(producer)

    def _produce_together(self) -> None:
        """Several requests on their way at once where one sync may serve them; in which order they come is not ours."""
        if self.mode is not Mode.GROUP_COMMIT:
            self._produce()
            return
        sending = [producer for producer in self.work.producers if self._begin(producer)]
        for producer in sending:
            self.work.finish(producer)

    def _read(self) -> None:
        partition = self._partition()
        if bounds := self.work.bounds(partition):
            self.work.read(partition, self.chance.choice(bounds), self.chance.choice([100, 1000, 100_000]))

    def _commit(self) -> None:
        partition, group = self._partition(), self.chance.choice(self.work.groups)
        before = self.work.committed.get((group.name, partition), 0)
        is_reset = self.chance.random() < 0.05
        offset = self.chance.randrange(before + 1) if is_reset else before + self.chance.randint(0, 9)
        self.work.commit(group, partition, offset, is_reset=is_reset)

    def _ask_committed(self) -> None:
        self.work.ask_committed(self.chance.choice(self.work.groups), self._partition())

    def _delete_records(self) -> None:
        partition = self._partition()
        if bounds := self.work.bounds(partition):
            self.work.delete_below(partition, self.chance.randint(bounds.start, bounds.stop))

    def _set_config(self) -> None:
        choices = TOPIC_CONFIGS if self.mode.is_strict else {**TOPIC_CONFIGS, **FLUSH_CONFIGS}
        name = self.chance.choice(sorted(choices))
        self.work.set_config(self._partition().topic, name, self.chance.choice(choices[name]))

    def _pass_time(self) -> None:
        self.work.pass_time(self.chance.choice([5, 1000, 6000, 61_000, 301_000]))

    def _create_topic(self) -> None:
        if len(self.machine.topics()) <= MOST_TOPICS:
            configs = {
                "segment.bytes": self.chance.choice(TOPIC_CONFIGS["segment.bytes"]),
                "index.interval.bytes": self.chance.choice(INDEX_INTERVALS),
            }
            self.work.create_topic(self.chance.randint(1, 2), configs)

    def _delete_topic(self) -> None:
        names = sorted(name for name in self.machine.topics() if name != OFFSETS_PARTITION.topic)
        if len(names) > 2:
            self.work.delete_topic(self.chance.choice(names))
