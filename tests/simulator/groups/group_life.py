"""A seeded life of a group of the classic protocol: a storm, then a calm in which every partition has its owner.

Beside what befalls members of any group, instance ids are taken by a second process, an operator expels, and the
partition moves to another broker and back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kcore.config.broker import BrokerConfig
from tests.simulator.groups.client import DOWN, FENCED, STABLE, Client
from tests.simulator.groups.service import Service
from tests.simulator.groups.storm import GROUP, STORM_STEPS, Storm
from tests.simulator.groups.witness import Witness


class GroupLife(Storm[Client]):
    """One group of the classic protocol, its `witness` beside it.

    In every other life processors answer heartbeats, as with the broker's fast path.
    """

    # A member that never heard of its generation is given five minutes.
    calm_ms = 15 * 60 * 1000
    silence_ms = 60_000

    def __init__(self, seed: int, storm_steps: int = STORM_STEPS) -> None:
        super().__init__(seed, storm_steps)
        self.count = self.chance.randint(1, 7)
        # A group that is full has no room for a static member that comes back, with Kafka too.
        self.has_limit = self.chance.random() < 0.15
        settings = {
            "group.initial.rebalance.delay.ms": str(self.chance.choice((0, 0, 3_000))),
            "offsets.retention.minutes": str(self.chance.choice((1, 10_080))),
            "group.max.size": str(self.chance.randint(1, self.count) if self.has_limit else 1_000),
        }
        self.max_size = int(settings["group.max.size"])
        self.service = Service(self.clockwork, BrokerConfig(settings), self.log, has_processors=seed % 2 == 0)
        self.witness = Witness(GROUP, self.service)
        self.draw_chances(repeats=(0.0, 0.02, 0.2), refusals=(0.0, 0.02, 0.2))
        self.partitions = self.chance.randint(1, 9)
        # One for all: a client of before KIP-394 that gives up earlier than the others let it wait comes back as
        # another member, and keeps the group rebalancing for ever, with Kafka too.
        self.rebalance_ms = self.chance.choice((5_000, 15_000, 60_000))
        share_of_static = 0.0 if self.has_limit else self.chance.choice((0.0, 0.5, 1.0))
        self.clients = [
            self._client(f"c{number}", f"i{number}" if self.chance.random() < share_of_static else None)
            for number in range(self.count)
        ]

    def _client(self, name: str, instance_id: str | None) -> Client:
        return Client(
            name,
            instance_id,
            self.chance,
            self.clockwork,
            self,
            self.service,
            self.witness,
            self.partitions,
            self.rebalance_ms,
        )

    def look(self) -> None:
        self.witness.look()

    def begin_again(self) -> None:
        super().begin_again()
        self.witness.began_again()

    # --- faults -----------------------------------------------------------------------------------------------------

    def faults(self) -> Sequence[Callable[[Client], None]]:
        return (
            self.die,
            self.die,
            self.leave,
            self.pause,
            self.resubscribe,
            self._twin,
            self._expel,
            self.refuse,
            self._move,
            self._clean_up,
        )

    def _twin(self, client: Client) -> None:
        """Another process takes the instance id; one of the two will be fenced."""
        if client.instance_id is not None and len(self.clients) < 2 * self.count:
            twin = self._client(f"{client.name}'", client.instance_id)
            self.clients.append(twin)
            twin.start()

    def _expel(self, client: Client) -> None:
        """An operator removes a member, and some that are none, by one request."""
        members: list[tuple[str, str | None]] = [("nobody", None), (client.member_id, client.instance_id), ("", "none")]
        if client.instance_id is not None:
            members.append(("", client.instance_id))
        self.deliver(client, lambda: self.service.leave(GROUP, members))

    def _clean_up(self, client: Client) -> None:
        """What has expired is removed, and groups that are no more."""
        if not self.service.life.is_over:
            group = self.witness.group
            was_empty = group is None or not group.members
            self.service.clean_up()
            self.witness.cleaned_up(was_empty)

    def _move(self, client: Client) -> None:
        """The partition goes to another broker, and comes back later."""
        if self.chance.random() < 0.3:
            self.service.move_away()
            life = self.service.life

            def come_back() -> None:
                if self.service.life is life:
                    self.begin_again()

            self.clockwork.schedule(self.chance.randrange(5_000) + 1, come_back)

    # --- the calm ---------------------------------------------------------------------------------------------------

    def call_back(self, client: Client) -> None:
        # An instance whose processes shut each other out is started by whoever watches over it.
        twins = [other for other in self.clients if other.identity == client.identity]
        if client.state == FENCED and all(other.state == FENCED for other in twins):
            client.state = DOWN
        client.start()

    def what_is_amiss(self) -> str:
        """Empty when everyone for whom there is room works, in one generation, and every partition has its owner."""
        alive = [client for client in self.clients if client.state != FENCED]
        working = [client for client in alive if client.state == STABLE]
        shown = str([(client.name, client.state, client.generation) for client in self.clients])
        if len(working) != min(len(alive), self.max_size):
            return f"not everyone works: {shown}"
        group = self.witness.group
        if not working or group is None:
            return ""
        if group.state != "Stable" or len(group.members) != len(working):
            return f"{group.state} with {len(group.members)} members: {shown}"
        if {client.generation for client in working} != {group.generation_id}:
            return f"not all are in generation {group.generation_id}: {shown}"
        owned = sorted(partition for client in working for partition in client.positions)
        return "" if owned == list(range(self.partitions)) else f"{owned} have owners: {shown}"
