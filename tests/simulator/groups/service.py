"""A coordinator with its lives: requests go to whichever lives now, and are lost where none does.

`Service` is the one place of the simulator that knows how the coordinator is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from kcore.config.broker import BrokerConfig
from kcore.coordinator.group import codes
from kcore.coordinator.group.committer import Committer
from kcore.coordinator.group.coordinator import GroupCoordinator
from kcore.coordinator.group.rebalancing import STABLE
from kcore.coordinator.group.state import Group
from tests.simulator.groups.clockwork import Appointment, Clockwork
from tests.simulator.groups.kept_log import CoordinatorDiesError, KeptLog

TOPIC = "flights"
Give = Callable[[Mapping[str, Any]], None]


class Token:
    """A request that waits for its answer in a life of the coordinator."""

    __slots__ = ("answered", "give", "life")

    def __init__(self, life: Life, give: Give) -> None:
        self.life = life
        self.give = give
        self.answered = False

    def respond(self, fields: Mapping[str, Any]) -> None:
        assert not self.answered, "a request was answered twice"
        self.answered = True
        self.life.waiting.discard(self)
        if not self.life.is_over:
            self.give(fields)


class Life:
    """One life of the coordinator, with timers that end with it."""

    def __init__(self, number: int, clockwork: Clockwork, config: BrokerConfig, log: KeptLog) -> None:
        self.number = number
        self.is_over = False
        self.waiting: set[Token] = set()
        self._clockwork = clockwork
        self.coordinator = GroupCoordinator(config, self, clockwork.time_ms, clockwork.time_ms)  # type: ignore[arg-type]
        self.coordinator.announce(0, 1)
        self.shard = self.coordinator._shards[0]
        self.coordinator.load(log)  # type: ignore[arg-type]

    def schedule(self, delay_ms: int, callback: Callable[[], None]) -> Appointment:
        """The coordinator's timer."""
        return self._clockwork.schedule(delay_ms, lambda: self.survive(callback))

    def survive(self, act: Callable[[], Any]) -> Any:
        """What the coordinator answers; None if it is dead, or dies of it."""
        if self.is_over:
            return None
        try:
            return act()
        except CoordinatorDiesError:
            self.is_over = True
            return None


class Service:
    """Clients' requests; each answers, now or later, by calling `give`, or never.

    With `has_processors` heartbeats are answered as those of a broker with its fast path: from the table of sessions,
    where they can be.
    """

    def __init__(self, clockwork: Clockwork, config: BrokerConfig, log: KeptLog, has_processors: bool = False) -> None:
        self.clockwork = clockwork
        self.config = config
        self.log = log
        self.has_processors = has_processors
        self.heartbeats_of_processors = 0
        self.life = Life(1, clockwork, config, log)

    def restart(self) -> None:
        """kill -9, if it lives, and a start with what the log says."""
        self.life.is_over = True
        self.log.clean()
        self.life = Life(self.life.number + 1, self.clockwork, self.config, self.log)

    def move_away(self) -> None:
        """The partition gets another leader: groups end here, and who waits is told."""
        self.life.survive(lambda: self.life.coordinator.unload(0))

    def join(self, group_id: str, fields: Mapping[str, Any], version: int, give: Give) -> None:
        life = self.life
        token = Token(life, give)
        request = SimpleNamespace(group_id=group_id, **fields)
        self._wait(token, lambda: life.coordinator.join(token, request, "c", "/h", version >= 4, version >= 9))

    def sync(self, group_id: str, fields: Mapping[str, Any], give: Give) -> None:
        life = self.life
        token = Token(life, give)
        request = SimpleNamespace(group_id=group_id, **fields)
        self._wait(token, lambda: life.coordinator.sync(token, request))

    def _wait(self, token: Token, act: Callable[[], None]) -> None:
        if not token.life.is_over:
            token.life.waiting.add(token)
            token.life.survive(act)

    def heartbeat(self, group_id: str, member_id: str, generation: int, instance_id: str | None) -> int | None:
        """The wire code; None where nobody answers, here and below."""
        life = self.life
        if self.has_processors and not life.is_over:
            sessions = life.coordinator.sessions
            if sessions.beat(group_id, member_id, instance_id, generation, self.clockwork.now_ms):
                self.heartbeats_of_processors += 1
                self._check_that_nothing_is_to_be_said(group_id, member_id, instance_id, generation)
                return codes.NONE
        answer: int | None = life.survive(
            lambda: life.coordinator.heartbeat(group_id, member_id, generation, instance_id)
        )
        return answer

    def _check_that_nothing_is_to_be_said(
        self, group_id: str, member_id: str, instance_id: str | None, generation: int
    ) -> None:
        group = self.life.shard.groups.get(group_id)
        assert not self.life.shard.error
        assert isinstance(group, Group)
        assert group.state == STABLE
        assert group.generation_id == generation
        assert group.members.identity_error(member_id, instance_id) == codes.NONE

    def leave(self, group_id: str, members: Sequence[tuple[str, str | None]]) -> list[int] | None:
        life = self.life
        answer = life.survive(lambda: life.coordinator.leave(group_id, members))
        return None if answer is None else answer[1]

    def commit(
        self, group_id: str, member_id: str, generation: int, instance_id: str | None, offsets: Mapping[int, int]
    ) -> dict[int, int] | None:
        """A wire code for each partition."""
        life = self.life
        wanted = {(TOPIC, partition): (offset, -1, "") for partition, offset in offsets.items()}
        committer = Committer(member_id, instance_id, generation, knows_epochs=True)
        answer = life.survive(lambda: life.coordinator.commit(group_id, committer, wanted))
        return None if answer is None else {partition: error for (_, partition), error in answer.items()}

    def clean_up(self) -> None:
        """The periodic check for what has expired."""
        life = self.life
        life.survive(life.coordinator.clean_up)

    def committed(self, group_id: str) -> dict[int, int] | None:
        """Offsets by partition."""
        life = self.life
        answer = life.survive(lambda: life.coordinator.fetch_offsets(group_id))
        if answer is None or answer[0]:
            return None
        return {partition: kept.offset for (_, partition), kept in answer[1].items()}
