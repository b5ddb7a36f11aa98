"""What clients do to a simulated broker, one thing at a time, and everything that they were told."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

from kcore.protocol import apis
from tests.invariants.checker import InvariantViolation
from tests.invariants.history import History, LogView, Offsets, Outcome, TopicPartition
from tests.raw_client import RawClient
from tests.simulator.durability import Mode
from tests.simulator.group import OFFSETS_PARTITION, Group, NotedCommit
from tests.simulator.machine import Machine
from tests.simulator.producer import Producer
from tests.simulator.reader import EARLIEST, LATEST, Reader

TOPIC_RESOURCE = 2
TIMEOUT_MS = 5000


class Workload:
    """Producers `p0` to `p3`, of which every other one is idempotent, two groups and a reader.

    `note` hears of each thing done and what came of it.
    """

    def __init__(self, machine: Machine, mode: Mode, note: Callable[[str], None]) -> None:
        self.machine = machine
        self.history = History()
        self.reader = Reader("reader", self.history, self.tick)
        self.groups = [Group(f"group-{number}", self.history, self.tick) for number in range(2)]
        self.producers = [
            Producer(f"p{number}", self.history, self.tick, idempotent=number % 2 == 0, keeps_state=mode.is_strict)
            for number in range(4)
        ]
        # Acknowledged since the machine last lost power.
        self.commits: list[NotedCommit] = []
        # The last offset that each group was told it has committed.
        self.committed: dict[tuple[str, TopicPartition], int] = {}
        # Below which offset nothing may come back, by what DeleteRecords answered.
        self.deleted_to: dict[TopicPartition, int] = {}
        self.records_read = 0
        # Whether the disk may fail, so that a broker need not answer and may close a connection in mid-answer.
        self.faults_may_show = False
        self._note = note
        self._ticks = itertools.count()
        self._topic_numbers = itertools.count()
        self._client: RawClient | None = None

    def tick(self) -> int:
        """The history's clock."""
        return next(self._ticks)

    @property
    def client(self) -> RawClient:
        assert self._client is not None
        return self._client

    def connect(self) -> None:
        """To a broker that has just started."""
        self._client = RawClient(self.machine.port)
        for producer in self.producers:
            producer.connect(self.machine.port)
        for group in self.groups:
            group.find_coordinator(self.client)
        self.machine.run_due()

    def disconnect(self) -> None:
        for producer in self.producers:
            producer.disconnect()
        if self._client is not None:
            self._client.socket.close()
            self._client = None

    # Records

    def begin(
        self, producer: Producer, partition: TopicPartition, sizes: Sequence[int], codec: int, age_ms: int, acks: int
    ) -> bool:
        """Sends records of these sizes, without waiting for the answer; False where there is nothing to send."""
        timestamp = self.machine.memory.now_ms() - age_ms
        request = producer.begin(partition, list(sizes), codec=codec, timestamp=timestamp, acks=acks)
        if request is not None:
            again = ", again" if request.is_retry else ""
            self._note(f"{producer.name} sends {list(request.numbers)} to {request.partition}{again}")
        return request is not None

    def finish(self, producer: Producer) -> None:
        """Waits for it."""
        outcome = producer.finish()
        self._note(f"{producer.name} is answered: {outcome.value}, error {producer.last_error}")

    def bounds(self, partition: TopicPartition) -> range:
        """The offsets that consumers may read; empty where the broker does not say."""
        start = self.reader.bound(self.client, partition, EARLIEST)
        end = self.reader.bound(self.client, partition, LATEST)
        return range(start, end) if start >= 0 else range(0)

    def read(self, partition: TopicPartition, offset: int, most_bytes: int) -> None:
        self._note(f"read {partition} from {offset}")
        if not self.faults_may_show:
            self.reader.read(self.client, partition, offset, most_bytes)
            return
        # On a connection of its own: an error behind the head of an answer ends it.
        with RawClient(self.machine.port) as client:
            client.send(apis.FETCH, 12, self.reader.fetch_fields(partition, offset, most_bytes))
            frame = client.receive_frame()
        self._note("  the broker closed the connection" if frame is None else f"  {len(frame)} bytes")

    def delete_below(self, partition: TopicPartition, offset: int) -> None:
        """DeleteRecords."""
        part = {"partition_index": partition.partition, "offset": offset}
        fields = {"timeout_ms": TIMEOUT_MS, "topics": [{"name": partition.topic, "partitions": [part]}]}
        answer = self.client.request(apis.DELETE_RECORDS, 2, fields).topics[0].partitions[0]
        self._note(f"delete records of {partition} below {offset}: error {answer.error_code}")
        if answer.error_code == 0:
            self.deleted_to[partition] = max(offset, self.deleted_to.get(partition, 0))

    # Groups

    def commit(self, group: Group, partition: TopicPartition, offset: int, *, is_reset: bool = False) -> None:
        commit = group.commit(self.client, partition, offset, is_reset=is_reset)
        self._note(f"{group.name} commits {offset} of {partition}: {commit.outcome.value}")
        if commit.outcome is Outcome.ACKED:
            self.committed[group.name, partition] = offset
            self.machine.note_logs()
            self.commits.append(NotedCommit(commit, self.machine.logs[OFFSETS_PARTITION].end_offset))

    def ask_committed(self, group: Group, partition: TopicPartition) -> None:
        offset = group.ask(self.client, partition, must_answer=not self.faults_may_show)
        self._note(f"{group.name} has committed {offset} of {partition}")

    # Topics

    def partitions(self) -> list[TopicPartition]:
        """Those that records are sent to."""
        return [partition for partition in self.machine.partitions() if partition != OFFSETS_PARTITION]

    def create_topic(self, partitions: int, configs: Mapping[str, str]) -> str:
        """The name of a topic that there has not been before."""
        name = f"topic-{next(self._topic_numbers)}"
        rows = [{"name": key, "value": value} for key, value in configs.items()]
        topic = {"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": rows}
        answer = self.client.request(apis.CREATE_TOPICS, 5, {"topics": [topic], "timeout_ms": TIMEOUT_MS})
        self._note(f"create {name}: error {answer.topics[0].error_code}")
        return name

    def delete_topic(self, name: str) -> None:
        answer = self.client.request(apis.DELETE_TOPICS, 5, {"topic_names": [name], "timeout_ms": TIMEOUT_MS})
        self._note(f"delete {name}: error {answer.responses[0].error_code}")
        # Its groups' offsets went with it, and nobody reads it any more.
        self.history.commits = [commit for commit in self.history.commits if commit.partition.topic != name]
        self.history.committed = [told for told in self.history.committed if told.partition.topic != name]

    def set_config(self, topic: str, name: str, value: str) -> None:
        config = {"name": name, "config_operation": 0, "value": value}
        resource = {"resource_type": TOPIC_RESOURCE, "resource_name": topic, "configs": [config]}
        answer = self.client.request(apis.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource]})
        self._note(f"{topic}: {name}={value}: error {answer.responses[0].error_code}")

    def pass_time(self, milliseconds: int) -> None:
        self._note(f"{milliseconds} ms pass")
        self.machine.advance(milliseconds)

    # The whole

    def view_all(self) -> dict[TopicPartition, LogView]:
        """Every partition and every committed offset, as clients see them."""
        self.machine.note_logs()
        views = {}
        for partition in self.machine.partitions():
            log = self.machine.logs.get(partition)
            if log is None:
                raise InvariantViolation(1, f"{partition} has no log")
            if partition != OFFSETS_PARTITION:
                views[partition] = view = self.reader.view(self.client, partition, log.end_offset)
                self.records_read += len(view.records)
                if view.start < self.deleted_to.get(partition, 0):
                    raise InvariantViolation(2, f"deleted records came back: {partition} starts at {view.start}")
            offsets = (log.start_offset, log.last_stable_offset, log.high_watermark, log.end_offset)
            self.history.offsets.append(Offsets(partition, *offsets))
        for group in self.groups:
            for partition in views:
                # Where commits go on: a loss of power may have taken some, a reset among them.
                self.committed[group.name, partition] = group.ask(self.client, partition) or 0
        return views
