"""A seeded life of one group: a storm of faults, then a calm in which everyone must get to work (invariant 12)."""

from __future__ import annotations

from random import Random
from typing import Any

from kcore.config.broker import BrokerConfig
from tests.simulator.groups.client import DOWN, FENCED, STABLE, Client
from tests.simulator.groups.clockwork import Clockwork
from tests.simulator.groups.kept_log import KeptLog
from tests.simulator.groups.service import Service
from tests.simulator.groups.witness import Witness

GROUP = "passengers"
STORM_STEPS = 3_000
# Longer than anything that a group waits for: a member that never heard of its generation is given five minutes.
CALM_MS = 15 * 60 * 1000
LOOK_MS = 60_000
USUAL_DELAY_MS, LONG_DELAY_MS = 40, 20_000


class GroupLife:
    """`run` leads it and raises AssertionError where something does not hold."""

    def __init__(self, seed: int, storm_steps: int = STORM_STEPS) -> None:
        self.chance = Random(seed)
        self.storm_steps = storm_steps
        self.clockwork = Clockwork()
        self.log = KeptLog(self.chance)
        self.count = self.chance.randint(1, 7)
        # A group that is full has no room for a static member that comes back, with Kafka too.
        self.has_limit = self.chance.random() < 0.15
        settings = {
            "group.initial.rebalance.delay.ms": str(self.chance.choice((0, 0, 3_000))),
            "offsets.retention.minutes": str(self.chance.choice((1, 10_080))),
            "group.max.size": str(self.chance.randint(1, self.count) if self.has_limit else 1_000),
        }
        self.max_size = int(settings["group.max.size"])
        self.service = Service(self.clockwork, BrokerConfig(settings), self.log)
        self.witness = Witness(GROUP, self.service)
        self.is_calm = False
        self.loss = self.chance.choice((0.0, 0.02, 0.2))
        self.repeats = self.chance.choice((0.0, 0.02, 0.2))
        self.delays = self.chance.choice((0.0, 0.02, 0.1))
        self.crash_at_any_step = self.chance.choice((0.0, 0.001, 0.01))
        self.refusals = self.chance.choice((0.0, 0.02, 0.2))
        self.log.deaths = self.chance.choice((0.0, 0.01))
        self.partitions = self.chance.randint(1, 9)
        # One for all: a client of before KIP-394 that gives up earlier than the others let it wait comes back as
        # another member, and keeps the group rebalancing for ever, with Kafka too.
        self.rebalance_ms = self.chance.choice((5_000, 15_000, 60_000))
        share_of_static = 0.0 if self.has_limit else self.chance.choice((0.0, 0.5, 1.0))
        self.clients = [
            self._client(f"c{number}", f"i{number}" if self.chance.random() < share_of_static else None)
            for number in range(self.count)
        ]
        self._in_order: dict[Client, int] = {}

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

    def run(self) -> int:
        """Answers how many steps it had."""
        for client in self.clients:
            self.clockwork.schedule(self.chance.randrange(5_000), client.start)
        self._storm_on()
        while self.clockwork.steps < self.storm_steps:
            assert self._step()
        self._calm_down()
        end_ms = self.clockwork.now_ms + CALM_MS
        while self._what_is_amiss() and self.clockwork.now_ms < end_ms:
            self._run_until(self.clockwork.now_ms + LOOK_MS)
        # And it stays so.
        self._run_until(self.clockwork.now_ms + LOOK_MS)
        amiss = self._what_is_amiss()
        assert not amiss, amiss
        return self.clockwork.steps

    def _run_until(self, end_ms: int) -> None:
        while self.clockwork.now_ms < end_ms and self._step():
            pass

    def _step(self) -> bool:
        """False when nothing will ever happen again: everyone was fenced."""
        if not self.clockwork.step():
            return False
        self.witness.look()
        if self.service.life.is_over or (not self.is_calm and self.chance.random() < self.crash_at_any_step):
            self._begin_again()
        return True

    def _begin_again(self) -> None:
        self.service.restart()
        self.witness.began_again()

    # --- the network ------------------------------------------------------------------------------------------------

    def deliver(self, client: Client, act: Any, *, ordered: bool = False) -> None:
        """What goes over one connection stays in order; the rest goes as it likes."""
        times = 1
        if not self.is_calm:
            if self.chance.random() < self.loss:
                return
            if not ordered and self.chance.random() < self.repeats:
                times = 2
        for _ in range(times):
            is_late = not self.is_calm and self.chance.random() < self.delays
            at_ms = self.clockwork.now_ms + self.chance.randrange(LONG_DELAY_MS if is_late else USUAL_DELAY_MS) + 1
            if ordered:
                at_ms = max(at_ms, self._in_order.get(client, 0))
                self._in_order[client] = at_ms
            self.clockwork.schedule(at_ms - self.clockwork.now_ms, act)

    # --- faults -----------------------------------------------------------------------------------------------------

    def _storm_on(self) -> None:
        """Something happens every now and then."""
        if not self.is_calm:
            self.clockwork.schedule(self.chance.randrange(4_000), self._something_happens)

    def _something_happens(self) -> None:
        if self.is_calm:
            return
        client = self.chance.choice(self.clients)
        what = self.chance.choice(
            (
                self._die,
                self._die,
                self._leave,
                self._pause,
                self._resubscribe,
                self._twin,
                self._expel,
                self._refuse,
                self._move,
                self._clean_up,
            )
        )
        what(client)
        self._storm_on()

    def _die(self, client: Client) -> None:
        client.die()
        self.clockwork.schedule(self.chance.randrange(60_000), client.start)

    def _leave(self, client: Client) -> None:
        client.leave()
        self.clockwork.schedule(self.chance.randrange(60_000), client.start)

    def _pause(self, client: Client) -> None:
        """It does nothing of itself for a while, and then goes on as if it were still in the group."""
        client.is_paused = True

        def wake() -> None:
            client.is_paused = False

        self.clockwork.schedule(self.chance.randrange(60_000), wake)

    def _resubscribe(self, client: Client) -> None:
        client.resubscribe()

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

    def _refuse(self, client: Client) -> None:
        """The log takes less for a while."""
        self.log.refusals = self.refusals

        def accept() -> None:
            self.log.refusals = 0.0

        self.clockwork.schedule(self.chance.randrange(20_000), accept)

    def _move(self, client: Client) -> None:
        """The partition goes to another broker, and comes back later."""
        if self.chance.random() < 0.3:
            self.service.move_away()
            life = self.service.life

            def come_back() -> None:
                if self.service.life is life:
                    self._begin_again()

            self.clockwork.schedule(self.chance.randrange(5_000) + 1, come_back)

    # --- the calm ---------------------------------------------------------------------------------------------------

    def _calm_down(self) -> None:
        self.is_calm = True
        self.log.refusals = self.log.deaths = 0.0
        self._begin_again()
        for client in self.clients:
            client.is_paused = False
            # An instance whose processes shut each other out is started by whoever watches over it.
            twins = [other for other in self.clients if other.identity == client.identity]
            if client.state == FENCED and all(other.state == FENCED for other in twins):
                client.state = DOWN
            client.start()

    def _what_is_amiss(self) -> str:
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
