"""A seeded life of a group of the consumer protocol: a storm of faults, then a calm in which all get to work.

Requests and answers are lost and late, members die, pause, leave and change their minds, topics grow, the coordinator
dies at any step and begins with what its log says, which may have been cleaned. At every step no partition is used by
two members (invariant 8); committed offsets never go back (9); in the calm every partition is read (12).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from kcore.config.broker import BrokerConfig
from kcore.coordinator.group.consumer.group import STABLE, ConsumerGroup
from kcore.metadata.image import MetadataImage, PartitionState, TopicImage
from kcore.protocol import apis
from tests.simulator.consumer_groups.client import Client, Place
from tests.simulator.groups.clockwork import Clockwork
from tests.simulator.groups.kept_log import KeptLog
from tests.simulator.groups.service import Service

GROUP = "passengers"
STORM_STEPS = 3_000
CALM_MS = 10 * 60 * 1000
LOOK_MS = 60_000
USUAL_DELAY_MS, LONG_DELAY_MS = 40, 20_000
HEARTBEAT = apis.CONSUMER_GROUP_HEARTBEAT


class ConsumerService(Service):
    """Knows how the coordinator is asked for a consumer group."""

    image = MetadataImage()

    def show(self, image: MetadataImage) -> None:
        """The cluster's metadata, to this life of the coordinator and the next."""
        self.image = image
        self.life.coordinator.on_image(image)

    def restart(self) -> None:
        super().restart()
        self.life.coordinator.on_image(self.image)

    def consumer_heartbeat(self, fields: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The answer; None where nobody answers."""
        life = self.life
        api = HEARTBEAT.request
        request = api.decode(1, api.encode(1, {"group_id": GROUP, **fields}))
        answer: Mapping[str, Any] | None = life.survive(
            lambda: life.coordinator.consumer_heartbeat(request, 1, "c", "/h")
        )
        return answer


class ConsumerGroupLife:
    """`run` leads it and raises AssertionError where something does not hold."""

    def __init__(self, seed: int, storm_steps: int = STORM_STEPS) -> None:
        self.chance = Random(seed)
        self.storm_steps = storm_steps
        self.clockwork = Clockwork()
        self.log = KeptLog(self.chance)
        assignor = self.chance.choice(("uniform", "range"))
        config = BrokerConfig({"group.consumer.assignors": assignor})
        self.service = ConsumerService(self.clockwork, config, self.log)
        self.sizes = {f"t{number}": self.chance.randint(1, 5) for number in range(self.chance.randint(1, 3))}
        self.all_topics = [*self.sizes, "later"]
        self._show_topics()
        self.is_calm = False
        self.loss = self.chance.choice((0.0, 0.02, 0.2))
        self.delays = self.chance.choice((0.0, 0.02, 0.1))
        self.crash_at_any_step = self.chance.choice((0.0, 0.001, 0.01))
        self.refusals = self.chance.choice((0.0, 0.2))
        self.log.deaths = self.chance.choice((0.0, 0.01))
        share_of_static = self.chance.choice((0.0, 0.5, 1.0))
        self.clients = [
            Client(f"c{number}", f"i{number}" if self.chance.random() < share_of_static else None, self.chance, self)
            for number in range(self.chance.randint(1, 6))
        ]
        self.told = 0
        self._committed: dict[Place, int] = {}
        self._in_order: dict[Client, int] = {}

    def run(self) -> int:
        """Answers how many steps it had."""
        for client in self.clients:
            self.clockwork.schedule(self.chance.randrange(5_000), client.start)
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
        self._look()
        if self.service.life.is_over or (not self.is_calm and self.chance.random() < self.crash_at_any_step):
            self.service.restart()

    # --- what must hold ---------------------------------------------------------------------------------------------

    @property
    def group(self) -> ConsumerGroup | None:
        group = self.service.life.shard.groups.get(GROUP)
        return group if isinstance(group, ConsumerGroup) else None

    def _look(self) -> None:
        group = self.group
        if group is None or self.service.life.is_over:
            return
        users: dict[Place, str] = {}
        for client in self.clients:
            # Who was expelled and does not know it yet may still use what it had: its commits are refused.
            if client.is_member and client.member_id in group.members:
                for place in client.positions:
                    other = users.setdefault(place, client.name)
                    assert other == client.name, f"{place} is used by {other} and {client.name}"

    def committed(self, place: Place) -> int:
        """Where a new owner begins."""
        return self._committed.get(place, 0)

    def commit(self, member_id: str, epoch: int, offsets: Mapping[Place, int]) -> None:
        """A commit arrives."""
        names = {topic.topic_id: name for name, topic in self.service.image.topics.items()}
        life = self.service.life
        from kcore.coordinator.group.offset_manager import Committer

        wanted = {(names[topic], partition): (offset, -1, "") for (topic, partition), offset in offsets.items()}
        committer = Committer(member_id, None, epoch, knows_epochs=True)
        answer = life.survive(lambda: life.coordinator.commit(GROUP, committer, wanted))
        for (topic, partition), offset in offsets.items():
            if answer is not None and answer[names[topic], partition] == 0:
                before = self._committed.get((topic, partition), 0)
                assert offset >= before, f"{names[topic]}-{partition} goes back from {before} to {offset}"
                self._committed[topic, partition] = offset

    def _what_is_amiss(self) -> str:
        """Empty when everybody is a member at rest, and every partition is read by one."""
        group = self.group
        alive = [client for client in self.clients if client.is_alive]
        shown = str([(client.name, client.epoch, sorted(client.positions)) for client in self.clients])
        if group is None or group.state != STABLE or len(group.members) != len(alive):
            return f"{group and (group.state, group.members)}: {shown}"
        if {client.epoch for client in alive} != {group.epoch}:
            return f"not all are in epoch {group.epoch}: {shown}"
        used = sorted(place for client in alive for place in client.positions)
        there = sorted(
            (topic.topic_id, number)
            for topic in self.service.image.topics.values()
            for number in range(len(topic.partitions))
        )
        return "" if used == there else f"{used} are used: {shown}"

    # --- the network ------------------------------------------------------------------------------------------------

    def deliver(self, client: Client, act: Callable[[], None]) -> None:
        """What goes over one connection stays in order."""
        if not self.is_calm and self.chance.random() < self.loss:
            return
        is_late = not self.is_calm and self.chance.random() < self.delays
        at_ms = self.clockwork.now_ms + self.chance.randrange(LONG_DELAY_MS if is_late else USUAL_DELAY_MS) + 1
        at_ms = max(at_ms, self._in_order.get(client, 0))
        self._in_order[client] = at_ms
        self.clockwork.schedule(at_ms - self.clockwork.now_ms, act)

    # --- faults -----------------------------------------------------------------------------------------------------

    def _storm_on(self) -> None:
        if not self.is_calm:
            self.clockwork.schedule(self.chance.randrange(4_000), self._something_happens)

    def _something_happens(self) -> None:
        if self.is_calm:
            return
        client = self.chance.choice(self.clients)
        acts = (self._die, self._leave, self._pause, self._resubscribe, self._grow, self._refuse, self._appear)
        self.chance.choice(acts)(client)
        self._storm_on()

    def _die(self, client: Client) -> None:
        client.die()
        self.clockwork.schedule(self.chance.randrange(90_000), client.start)

    def _leave(self, client: Client) -> None:
        client.leave()
        self.clockwork.schedule(self.chance.randrange(60_000), client.start)

    def _pause(self, client: Client) -> None:
        client.is_paused = True

        def wake() -> None:
            client.is_paused = False

        self.clockwork.schedule(self.chance.randrange(90_000), wake)

    def _resubscribe(self, client: Client) -> None:
        client.resubscribe()

    def _grow(self, client: Client) -> None:
        name = self.chance.choice(list(self.sizes))
        self.sizes[name] = min(self.sizes[name] + 1, 8)
        self._show_topics()

    def _appear(self, client: Client) -> None:
        self.sizes.setdefault("later", 2)
        self._show_topics()

    def _show_topics(self) -> None:
        topics = {}
        for name, size in self.sizes.items():
            states = [PartitionState(name, number, (1,), (1,), 1) for number in range(size)]
            topics[name] = TopicImage(name, name.encode().ljust(16, b"."), states)
        self.service.show(MetadataImage(topics=topics))

    def _refuse(self, client: Client) -> None:
        """The log takes less for a while."""
        self.log.refusals = self.refusals

        def accept() -> None:
            self.log.refusals = 0.0

        self.clockwork.schedule(self.chance.randrange(20_000), accept)

    def _calm_down(self) -> None:
        self.is_calm = True
        self.log.refusals = self.log.deaths = 0.0
        self.service.restart()
        for client in self.clients:
            client.is_paused = False
            client.start()
            client.resubscribe()
