"""A seeded life of a group of the consumer protocol: a storm of faults, then a calm in which all get to work.

Beside what befalls members of any group, topics grow and appear. At every step no partition is used by two members
(invariant 8); committed offsets never go back (9); in the calm every partition is read (12).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kcore.config.broker import BrokerConfig
from kcore.coordinator.group.committer import Committer
from kcore.coordinator.group.consumer.group import STABLE, ConsumerGroup
from kcore.metadata.image import MetadataImage, PartitionState, TopicImage
from kcore.protocol import apis
from tests.simulator.consumer_groups.client import Client, Place
from tests.simulator.groups.service import Service
from tests.simulator.groups.storm import GROUP, STORM_STEPS, Storm

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


class ConsumerGroupLife(Storm[Client]):
    """One group of the consumer protocol, over topics that grow and appear."""

    service: ConsumerService
    calm_ms = 10 * 60 * 1000
    silence_ms = 90_000
    has_patterns = False

    def __init__(self, seed: int, storm_steps: int = STORM_STEPS) -> None:
        super().__init__(seed, storm_steps)
        assignor = self.chance.choice(("uniform", "range"))
        config = BrokerConfig({"group.consumer.assignors": assignor})
        self.service = ConsumerService(self.clockwork, config, self.log)
        self.sizes = {f"t{number}": self.chance.randint(1, 5) for number in range(self.chance.randint(1, 3))}
        self.all_topics = [*self.sizes, "later"]
        self._show_topics()
        self.draw_chances(refusals=(0.0, 0.2))
        share_of_static = self.chance.choice((0.0, 0.5, 1.0))
        self.clients = [
            Client(f"c{number}", f"i{number}" if self.chance.random() < share_of_static else None, self.chance, self)
            for number in range(self.chance.randint(1, 6))
        ]
        self.told = 0
        self._committed: dict[Place, int] = {}

    # --- what must hold ---------------------------------------------------------------------------------------------

    @property
    def group(self) -> ConsumerGroup | None:
        group = self.service.life.shard.groups.get(GROUP)
        return group if isinstance(group, ConsumerGroup) else None

    def look(self) -> None:
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

    def some_topics(self) -> list[str]:
        """What a client may subscribe to: some of the topics that there may be, in the calm all."""
        names = list(self.all_topics)
        return names if self.is_calm else self.chance.sample(names, self.chance.randint(1, len(names)))

    def commit(self, member_id: str, epoch: int, offsets: Mapping[Place, int], instance_id: str | None = None) -> None:
        """A commit arrives."""
        names = {topic.topic_id: name for name, topic in self.service.image.topics.items()}
        life = self.service.life
        wanted = {(names[topic], partition): (offset, -1, "") for (topic, partition), offset in offsets.items()}
        committer = Committer(member_id, instance_id, epoch, knows_epochs=True)
        answer = life.survive(lambda: life.coordinator.commit(GROUP, committer, wanted))
        for (topic, partition), offset in offsets.items():
            if answer is not None and answer[names[topic], partition] == 0:
                before = self._committed.get((topic, partition), 0)
                assert offset >= before, f"{names[topic]}-{partition} goes back from {before} to {offset}"
                self._committed[topic, partition] = offset

    def what_is_amiss(self) -> str:
        """Empty when everybody is a member at rest, and every partition is read by one."""
        group = self.group
        alive = [client for client in self.clients if client.is_alive]
        shown = str([(client.name, client.epoch, sorted(client.positions)) for client in self.clients])
        if group is None or group.state != STABLE or len(group.members) != len(alive):
            return f"{group and (group.state, group.members)}: {shown}"
        if {client.epoch for client in alive} != {group.epoch}:
            return f"not all are in epoch {group.epoch}: {shown}"
        used = sorted(place for client in alive for place in client.positions)
        return "" if used == self.places() else f"{used} are used: {shown}"

    def places(self) -> list[Place]:
        """Every partition that there is, in order."""
        topics = self.service.image.topics.values()
        return sorted((topic.topic_id, number) for topic in topics for number in range(len(topic.partitions)))

    def call_back(self, client: Client) -> None:
        client.start()
        client.resubscribe()

    # --- faults -----------------------------------------------------------------------------------------------------

    def faults(self) -> Sequence[Callable[[Client], None]]:
        return (self.die, self.leave, self.pause, self.resubscribe, self._grow, self.refuse, self._appear)

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
