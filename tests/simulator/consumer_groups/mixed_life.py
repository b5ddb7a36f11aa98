"""A seeded life of a group whose members are restarted with the other protocol, in both directions, and use patterns.

What must hold is what holds in a group of one protocol: no partition is used by two members (invariant 8), committed
offsets never go back (9), and in the calm every partition is read (12), whichever protocols the members speak by then;
a group in which nobody speaks the consumer protocol is a classic one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from kcore.coordinator.group import rebalancing
from kcore.coordinator.group.consumer import group as consumer_group
from kcore.coordinator.group.consumer.group import ConsumerGroup
from kcore.coordinator.group.state import Group
from tests.simulator.consumer_groups.classic_client import STABLE, ClassicClient
from tests.simulator.consumer_groups.client import Client, Place
from tests.simulator.consumer_groups.group_life import ConsumerGroupLife
from tests.simulator.groups.storm import GROUP, LOOK_MS, STORM_STEPS


class MixedMember:
    """One consumer, which speaks the one protocol or the other from each of its starts on."""

    def __init__(self, name: str, instance_id: str | None, chance: Random, life: MixedGroupLife) -> None:
        self.name = name
        self.new = Client(name, instance_id, chance, life)
        self.classic = ClassicClient(name, instance_id, chance, life)
        self.speaks: Client | ClassicClient = self.new
        self._life = life
        self._chance = chance

    @property
    def is_paused(self) -> bool:
        return self.speaks.is_paused

    @is_paused.setter
    def is_paused(self, is_paused: bool) -> None:
        self.new.is_paused = self.classic.is_paused = is_paused

    @property
    def is_alive(self) -> bool:
        return self.speaks.is_alive

    def start(self) -> None:
        if not self.is_alive:
            self.speaks = self.new if self._chance.random() < self._life.share_of_new else self.classic
            self.speaks.start()

    def die(self) -> None:
        self.speaks.die()

    def leave(self) -> None:
        self.speaks.leave()

    def resubscribe(self) -> None:
        if self.is_alive:
            self.speaks.resubscribe()


class MixedGroupLife(ConsumerGroupLife):
    """`share_of_new` is the chance that who starts speaks the consumer protocol; it changes as administrators do."""

    clients: list[MixedMember]  # type: ignore[assignment]
    # A session of a static member that was restarted with the other protocol, and what waits for it.
    calm_ms = 15 * 60 * 1000
    has_patterns = True

    def __init__(self, seed: int, storm_steps: int = STORM_STEPS) -> None:
        super().__init__(seed, storm_steps)
        self.is_cooperative = self.chance.random() < 0.5
        self.protocol = "cooperative-sticky" if self.is_cooperative else "range"
        self.share_of_new = self.chance.choice((0.0, 0.5, 1.0))
        self._was_classic = False
        self.clients = [MixedMember(each.name, each.instance_id, self.chance, self) for each in self.clients]

    # --- names and ids ----------------------------------------------------------------------------------------------

    def name_of(self, topic_id: bytes) -> str:
        return self.service.image.topics_by_id[topic_id].name

    def id_of(self, name: str) -> bytes:
        return self.service.image.topics[name].topic_id

    # --- what must hold ---------------------------------------------------------------------------------------------

    def look(self) -> None:
        group = self.service.life.shard.groups.get(GROUP)
        if group is None or self.service.life.is_over:
            return
        is_upgraded, self._was_classic = (
            self._was_classic and isinstance(group, ConsumerGroup),
            isinstance(group, Group),
        )
        users: dict[Place, str] = {}
        for member in self.clients:
            if isinstance(member.speaks, ClassicClient) and self._is_left_out(group, member.speaks, is_upgraded):
                member.speaks.is_outside = True
            if self._is_in(group, member.speaks):
                for place in member.speaks.positions:
                    other = users.setdefault(place, member.name)
                    assert other == member.name, f"{place} is used by {other} and {member.name}"

    @staticmethod
    def _is_left_out(group: Group | ConsumerGroup, client: ClassicClient, is_upgraded: bool) -> bool:
        """Whether a client has what the group knows nothing of.

        Who was expelled may join again under its id, and say that it has what others have by now: it is not given it.
        Who was still to hear, when the group was upgraded, what it has to give up keeps that until it does: the
        assignment alone says what members have, with Kafka too.
        """
        return client.member_id not in group.members or (is_upgraded and client.state != STABLE)

    def _is_in(self, group: Group | ConsumerGroup, client: Client | ClassicClient) -> bool:
        """Who was expelled, or left behind by a generation, and does not know it may use what it had: in vain."""
        if client.member_id not in group.members:
            return False
        if isinstance(group, ConsumerGroup):
            return isinstance(client, Client) or not client.is_outside
        return isinstance(client, ClassicClient) and client.generation == group.generation_id and client.state == STABLE

    def what_is_amiss(self) -> str:
        group = self.service.life.shard.groups.get(GROUP)
        alive = [member.speaks for member in self.clients if member.is_alive]
        shown = str([(each.name, type(each).__name__, each.epoch, sorted(each.positions)) for each in alive])
        if group is None or len(group.members) != len(alive):
            return f"{group and (group.state, list(group.members))}: {shown}"
        has_new = any(isinstance(client, Client) for client in alive)
        if isinstance(group, ConsumerGroup) != has_new:
            return f"the group is a {type(group).__name__}: {shown}"
        at_rest = consumer_group.STABLE if isinstance(group, ConsumerGroup) else rebalancing.STABLE
        epoch = group.epoch if isinstance(group, ConsumerGroup) else group.generation_id
        if group.state != at_rest or {client.epoch for client in alive} != {epoch}:
            return f"{group.state}, not all are in epoch {epoch}: {shown}"
        used = sorted(place for client in alive for place in client.positions)
        return "" if used == self.places() else f"{used} are used: {shown}"

    # --- faults -----------------------------------------------------------------------------------------------------

    def faults(self) -> Sequence[Callable[[MixedMember], None]]:  # type: ignore[override]
        return (*super().faults(), self._change_protocol, self._change_plan)  # type: ignore[return-value]

    def _change_plan(self, member: MixedMember) -> None:
        """Who starts from now on speaks rather the one protocol, or the other."""
        self.share_of_new = self.chance.choice((0.0, 0.5, 1.0))

    def _change_protocol(self, member: MixedMember) -> None:
        """A rolling restart comes to this member."""
        member.leave()
        self.clockwork.schedule(self.chance.randrange(1_000), member.start)

    def call_back(self, client: MixedMember) -> None:  # type: ignore[override]
        """All are restarted once more, by the last plan: with one protocol alone, or some with each."""
        client.leave()
        self.clockwork.schedule(self.chance.randrange(1_000), client.start)
        self.clockwork.schedule(LOOK_MS, client.resubscribe)
