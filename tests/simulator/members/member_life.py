"""A seeded life of a group of our own consumers: a storm of faults, then a calm in which everybody gets to work.

Requests and answers are lost, late and overtake one another on different connections; members die, leave, stand still
for longer than max.poll.interval.ms and change their minds; topics grow; the coordinator dies or moves at any step.

- In one generation no partition belongs to two members (invariant 8), and in a consumer group no member that the
  coordinator counts reads what another reads.
- Callbacks come in pairs: nothing is assigned twice, nothing revoked or lost that was not assigned.
- A commit is only taken from a member to whom the partition belonged in the generation that it names, and committed
  offsets never go back (9).
- In the calm every partition is read, by one member (12).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from kcore.client.consumer.broker_request import BrokerRequest
from kcore.client.consumer.group_settings import GroupSettings
from kcore.client.metadata.cluster import TopicPartition
from kcore.config.broker import BrokerConfig
from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.simulator.groups.clockwork import Clockwork
from tests.simulator.groups.kept_log import KeptLog
from tests.simulator.groups.service import Service
from tests.simulator.members.simulated_broker import Give, SimulatedBroker
from tests.simulator.members.simulated_consumer import SimulatedConsumer

GROUP = "g"
STORM_STEPS = 3_000
CALM_MS = 20 * 60 * 1000
LOOK_MS = 30_000
USUAL_DELAY_MS, LONG_DELAY_MS = 40, 20_000
STRATEGIES = (["range"], ["roundrobin"], ["sticky"], ["cooperative-sticky"], ["range", "cooperative-sticky"])


class MemberLife:
    """`run` leads it and raises AssertionError where something does not hold."""

    def __init__(self, seed: int, storm_steps: int = STORM_STEPS) -> None:
        self.chance = chance = Random(seed)
        self.storm_steps = storm_steps
        self.clockwork = Clockwork()
        self.log = KeptLog(chance)
        self.is_classic = chance.random() < 0.6
        self.by_pattern = chance.random() < 0.2
        self.strategies = chance.choice(STRATEGIES)
        self.is_calm = False
        config = BrokerConfig({"group.initial.rebalance.delay.ms": str(chance.choice((0, 0, 3_000)))})
        sizes = {f"t{number}": chance.randint(1, 5) for number in range(chance.randint(1, 3))}
        self.broker = SimulatedBroker(Service(self.clockwork, config, self.log), sizes)
        self.broker.told = self._told
        self.loss = chance.choice((0.0, 0.02, 0.2))
        self.delays = chance.choice((0.0, 0.02, 0.1))
        self.crash_at_any_step = chance.choice((0.0, 0.001, 0.01))
        self.log.deaths = chance.choice((0.0, 0.01))
        self.share_of_static = chance.choice((0.0, 0.5, 1.0))
        self.alike = chance.random() < 0.5
        self.max_poll_ms = chance.choice((10_000, 30_000))
        self.made = 0
        self.generations: dict[tuple[int, TopicPartition], str] = {}
        self.committed: dict[TopicPartition, int] = {}
        self._in_order: dict[tuple[SimulatedConsumer, str], float] = {}
        self.statics = [
            f"i{n}" if chance.random() < self.share_of_static else None for n in range(chance.randint(1, 6))
        ]
        self.consumers = [self._make(place) for place in range(len(self.statics))]

    def some_topics(self) -> list[str]:
        names = [*self.broker.topics, "later"]
        if self.is_calm or self.alike:
            return names
        return self.chance.sample(names, self.chance.randint(1, len(names)))

    def _make(self, place: int) -> SimulatedConsumer:
        self.made += 1
        settings = GroupSettings(
            GROUP,
            instance_id=self.statics[place],
            session_timeout_ms=10_000,
            heartbeat_interval_ms=3_000,
            rebalance_timeout_ms=self.max_poll_ms,
            request_timeout_ms=5_000,
        )
        return SimulatedConsumer(f"c{place}.{self.made}", self, settings, is_classic=self.is_classic)

    def run(self) -> int:
        """Answers how many steps it had."""
        self._storm_on()
        while self.clockwork.steps < self.storm_steps:
            self._step()
        self._calm_down()
        end_ms = self.clockwork.now_ms + CALM_MS
        while self._what_is_amiss() and self.clockwork.now_ms < end_ms:
            self._run_until(self.clockwork.now_ms + LOOK_MS)
        self._run_until(self.clockwork.now_ms + LOOK_MS)
        amiss = self._what_is_amiss()
        assert not amiss, amiss
        return self.clockwork.steps

    def _run_until(self, end_ms: int) -> None:
        while self.clockwork.now_ms < end_ms:
            self._step()

    def _step(self) -> None:
        assert self.clockwork.step()
        is_over = self.broker.service.life.is_over
        if is_over or (not self.is_calm and self.chance.random() < self.crash_at_any_step):
            if self.chance.random() < 0.3 and not is_over:
                self.broker.service.move_away()
            self.broker.restart()

    # What must hold

    def witness_assignment(self, consumer: SimulatedConsumer, assignment: tuple[TopicPartition, ...]) -> None:
        if not self.is_classic:
            return
        generation, member_id, instance_id = consumer.membership.group_metadata[1:]
        # A static member that comes back goes on in its generation under another member id.
        identity = instance_id or member_id
        for partition in assignment:
            owner = self.generations.setdefault((generation, partition), identity)
            assert owner == identity, f"{partition} belongs to two in generation {generation}"

    def witness_reading(self, consumer: SimulatedConsumer, partition: TopicPartition) -> None:
        """Who was thrown out and does not know it yet may read on: its commits are refused."""
        if self.is_classic or not self._counts(consumer):
            return
        for other in self.consumers:
            if other is not consumer and other.is_alive and self._counts(other):
                assert partition not in other.subscriptions.fetchable, f"{partition}: {consumer.name}, {other.name}"

    def _counts(self, consumer: SimulatedConsumer) -> bool:
        group = self.broker.service.life.shard.groups.get(GROUP)
        member = consumer.membership.group_metadata
        if group is None or self.broker.service.life.is_over or member.member_id not in group.members:
            return False
        known = group.members[member.member_id]
        return getattr(known, "instance_id", None) == consumer.settings.instance_id and consumer.membership.can_commit

    def _told(self, request: BrokerRequest, asked: Message, answer: Message) -> None:
        """A commit was answered."""
        if request.api is not apis.OFFSET_COMMIT:
            return
        codes = {(t.name, p.partition_index): p.error_code for t in answer.topics for p in t.partitions}
        for topic in asked.topics:
            for entry in topic.partitions:
                partition = TopicPartition(topic.name, entry.partition_index)
                if codes[partition] == 0:
                    self._check_commit(asked, partition, entry.committed_offset)

    def _check_commit(self, asked: Message, partition: TopicPartition, offset: int) -> None:
        before = self.committed.get(partition, 0)
        assert offset >= before, f"{partition} goes back from {before} to {offset}"
        self.committed[partition] = offset
        generation = asked.generation_id_or_member_epoch
        assert generation >= 0, f"{partition} was committed by nobody"
        if self.is_classic:
            owner = self.generations.get((generation, partition))
            # Cooperative members keep partitions over generations, and commit before they hear of a new assignment.
            identity = asked.group_instance_id or asked.member_id
            assert owner in (None, identity), f"{partition} was committed by {identity}, not {owner}"

    def _what_is_amiss(self) -> str:
        """Empty when all are members at rest, and every partition is read by one."""
        shown = str([(c.name, c.membership.state, sorted(map(str, c.owned))) for c in self.consumers])
        if not all(consumer.is_settled for consumer in self.consumers):
            return f"not all are settled: {shown}"
        owned = sorted(partition for consumer in self.consumers for partition in consumer.owned)
        there = sorted(TopicPartition(n, number) for n, size in self.broker.topics.items() for number in range(size))
        return "" if owned == there else f"not all is read once: {shown}"

    # The network

    def deliver(self, consumer: SimulatedConsumer, act: Callable[[], None], way: str = "there") -> None:
        """In order over one connection, there and back."""
        if not self.is_calm and self.chance.random() < self.loss:
            return
        is_late = not self.is_calm and self.chance.random() < self.delays
        at_ms = self.clockwork.now_ms + self.chance.randrange(LONG_DELAY_MS if is_late else USUAL_DELAY_MS) + 1
        at_ms = max(at_ms, int(self._in_order.get((consumer, way), 0)))
        self._in_order[consumer, way] = at_ms
        self.clockwork.schedule(at_ms - self.clockwork.now_ms, act)

    def late(self, consumer: SimulatedConsumer, give: Give) -> Give:
        return lambda answer: self.deliver(consumer, lambda: give(answer), "back")

    # Faults

    def _storm_on(self) -> None:
        if not self.is_calm:
            self.clockwork.schedule(self.chance.randrange(8_000), self._something_happens)

    def _something_happens(self) -> None:
        if self.is_calm:
            return
        place = self.chance.randrange(len(self.consumers))
        self.chance.choice((self._die, self._leave, self._pause, self._resubscribe, self._grow, self._appear))(place)
        self._storm_on()

    def ended(self, consumer: SimulatedConsumer) -> None:
        """It was fenced: its process ends, and another takes its place."""
        consumer.die()
        if consumer in self.consumers:
            self._come_back(self.consumers.index(consumer))

    def _come_back(self, place: int) -> None:
        def start() -> None:
            if not self.consumers[place].is_alive:
                self.consumers[place] = self._make(place)

        self.clockwork.schedule(self.chance.randrange(30_000), start)

    def _die(self, place: int) -> None:
        self.consumers[place].die()
        self._come_back(place)

    def _leave(self, place: int) -> None:
        if self.consumers[place].is_alive:
            self.consumers[place].leave()
        self._come_back(place)

    def _pause(self, place: int) -> None:
        consumer = self.consumers[place]
        consumer.is_paused = True

        def wake() -> None:
            consumer.is_paused = False

        self.clockwork.schedule(self.chance.randrange(90_000), wake)

    def _resubscribe(self, place: int) -> None:
        if self.consumers[place].is_alive:
            self.consumers[place].subscribe()

    def _grow(self, place: int) -> None:
        name = self.chance.choice(list(self.broker.topics))
        self.broker.topics[name] = min(self.broker.topics[name] + 1, 8)
        self.broker.show()

    def _appear(self, place: int) -> None:
        self.broker.topics.setdefault("later", 2)
        self.broker.show()

    def _calm_down(self) -> None:
        self.is_calm = True
        self.log.deaths = 0.0
        self.broker.restart()
        for place, consumer in enumerate(self.consumers):
            consumer.is_paused = False
            if consumer.is_alive:
                consumer.subscribe()
            else:
                self._come_back(place)
        self.broker.topics.setdefault("later", 2)
        self.broker.show()
