"""A seeded storm over the members of one group, then a calm in which everyone must get to work (invariant 12).

Requests and answers are lost, repeated and late; members die, leave, pause and change their minds; the log refuses; the
coordinator dies at any step. A group of either protocol adds its clients, its own faults, and what must hold at every
step and in the calm. All that is drawn comes from `chance`, in one order: a seed leads the same life again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from random import Random
from typing import ClassVar, Generic, Protocol, TypeVar

from tests.simulator.groups.clockwork import Clockwork
from tests.simulator.groups.kept_log import KeptLog
from tests.simulator.groups.service import Service

GROUP = "passengers"
STORM_STEPS = 3_000
LOOK_MS = 60_000
USUAL_DELAY_MS, LONG_DELAY_MS = 40, 20_000
STARTS_WITHIN_MS = 5_000
NEXT_FAULT_MS = 4_000
AWAY_MS = 60_000
REFUSING_MS = 20_000


class Member(Protocol):
    """What a storm does with a client of either protocol."""

    is_paused: bool

    def start(self) -> None: ...

    def die(self) -> None: ...

    def leave(self) -> None: ...

    def resubscribe(self) -> None: ...


AnyMember = TypeVar("AnyMember", bound=Member)


class Storm(ABC, Generic[AnyMember]):
    """`run` leads the life and raises AssertionError where something does not hold.

    A subclass makes `service` and `clients`, and draws the chances of faults with `draw_chances`.
    """

    # Longer than anything that a group waits for.
    calm_ms: ClassVar[int]
    # How long a member is dead or does nothing, at most: beyond its session.
    silence_ms: ClassVar[int]

    service: Service
    clients: list[AnyMember]

    def __init__(self, seed: int, storm_steps: int) -> None:
        self.chance = Random(seed)
        self.storm_steps = storm_steps
        self.clockwork = Clockwork()
        self.log = KeptLog(self.chance)
        self.is_calm = False
        self._in_order: dict[AnyMember, int] = {}

    def draw_chances(self, *, refusals: Sequence[float], repeats: Sequence[float] = ()) -> None:
        """How bad it will be: each chance is one of a few, and none is drawn for what never happens."""
        self.loss = self.chance.choice((0.0, 0.02, 0.2))
        self.repeats = self.chance.choice(repeats) if repeats else 0.0
        self.delays = self.chance.choice((0.0, 0.02, 0.1))
        self.crash_at_any_step = self.chance.choice((0.0, 0.001, 0.01))
        self.refusals = self.chance.choice(refusals)
        self.log.deaths = self.chance.choice((0.0, 0.01))

    @abstractmethod
    def look(self) -> None:
        """Asserts, after every step, what must always hold."""

    @abstractmethod
    def what_is_amiss(self) -> str:
        """Empty when everyone works as they should in a calm."""

    @abstractmethod
    def faults(self) -> Sequence[Callable[[AnyMember], None]]:
        """What may happen to a client, each as likely as the next."""

    @abstractmethod
    def call_back(self, client: AnyMember) -> None:
        """The calm begins: it is to be at work, wherever it is."""

    def begin_again(self) -> None:
        """The coordinator dies, if it lives, and starts with what its log says."""
        self.service.restart()

    def run(self) -> int:
        """Answers how many steps it had."""
        for client in self.clients:
            self.clockwork.schedule(self.chance.randrange(STARTS_WITHIN_MS), client.start)
        self._storm_on()
        while self.clockwork.steps < self.storm_steps:
            assert self._step()
        self._calm_down()
        end_ms = self.clockwork.now_ms + self.calm_ms
        while self.what_is_amiss() and self.clockwork.now_ms < end_ms:
            if not self._run_until(self.clockwork.now_ms + LOOK_MS):
                break
        # And it stays so.
        self._run_until(self.clockwork.now_ms + LOOK_MS)
        amiss = self.what_is_amiss()
        assert not amiss, amiss
        return self.clockwork.steps

    def _run_until(self, end_ms: int) -> bool:
        """False when nothing will ever happen again: everyone was fenced."""
        while self.clockwork.now_ms < end_ms:
            if not self._step():
                return False
        return True

    def _step(self) -> bool:
        """False when there was nothing left to do."""
        if not self.clockwork.step():
            return False
        self.look()
        if self.service.life.is_over or (not self.is_calm and self.chance.random() < self.crash_at_any_step):
            self.begin_again()
        return True

    # --- the network ------------------------------------------------------------------------------------------------

    def deliver(self, client: AnyMember, act: Callable[[], object], *, ordered: bool = False) -> None:
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
            self.clockwork.schedule(self.chance.randrange(NEXT_FAULT_MS), self._something_happens)

    def _something_happens(self) -> None:
        if self.is_calm:
            return
        client = self.chance.choice(self.clients)
        self.chance.choice(self.faults())(client)
        self._storm_on()

    def die(self, client: AnyMember) -> None:
        client.die()
        self.clockwork.schedule(self.chance.randrange(self.silence_ms), client.start)

    def leave(self, client: AnyMember) -> None:
        client.leave()
        self.clockwork.schedule(self.chance.randrange(AWAY_MS), client.start)

    def pause(self, client: AnyMember) -> None:
        """It does nothing of itself for a while, and then goes on as if it were still in the group."""
        client.is_paused = True

        def wake() -> None:
            client.is_paused = False

        self.clockwork.schedule(self.chance.randrange(self.silence_ms), wake)

    def resubscribe(self, client: AnyMember) -> None:
        client.resubscribe()

    def refuse(self, client: AnyMember) -> None:
        """The log takes less for a while."""
        self.log.refusals = self.refusals

        def accept() -> None:
            self.log.refusals = 0.0

        self.clockwork.schedule(self.chance.randrange(REFUSING_MS), accept)

    def _calm_down(self) -> None:
        self.is_calm = True
        self.log.refusals = self.log.deaths = 0.0
        self.begin_again()
        for client in self.clients:
            client.is_paused = False
            self.call_back(client)
