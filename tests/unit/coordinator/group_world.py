"""A group of the classic protocol with what a shard does for it: answers by token, timers on a virtual clock, a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kcore.coordinator.group import records
from kcore.coordinator.group.attempts import JoinAttempt, SyncAttempt
from kcore.coordinator.group.effects import Note, Persist, Reply, StartTimer, StopTimer
from kcore.coordinator.group.member import MemberProfile
from kcore.coordinator.group.rebalancing import STABLE
from kcore.coordinator.group.records import GroupMetadata
from kcore.coordinator.group.state import Group

if TYPE_CHECKING:
    from kcore.coordinator.group.effects import Effect

SESSION_MS = 10_000
REBALANCE_MS = 60_000
GROUP = "flights"


class World:
    """`append_error` is what the log answers to the next appends; `kept` is what it took."""

    def __init__(self, initial_delay_ms: int = 0, max_size: int = 100) -> None:
        self.initial_delay_ms = initial_delay_ms
        self.max_size = max_size
        self.group = Group(GROUP, initial_delay_ms, max_size)
        self.now_ms = 1_000
        self.answers: dict[object, dict[str, Any]] = {}
        self.timers: dict[tuple[str, ...], int] = {}
        self.kept: list[GroupMetadata] = []
        self.notes: list[str] = []
        self.append_error = 0
        self.made = 0

    def carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Reply):
                assert effect.token not in self.answers, "a request was answered twice"
                self.answers[effect.token] = effect.fields
            elif isinstance(effect, StartTimer):
                self.timers[effect.name] = self.now_ms + effect.delay_ms
            elif isinstance(effect, Persist):
                if not self.append_error:
                    for _, value in effect.records:
                        assert value is not None
                        self.kept.append(records.decode_group_metadata_value(value))
                self.carry_out(self.group.on_persisted(effect.event, self.append_error, self.now_ms))
            elif isinstance(effect, Note):
                self.notes.append(effect.text)
            else:
                assert isinstance(effect, StopTimer)
                self.timers.pop(effect.name, None)

    # --- requests ---------------------------------------------------------------------------------------------------

    def join(
        self,
        token: object,
        member_id: str = "",
        protocols: str = "range",
        needs_id: bool = False,
        *,
        instance: str | None = None,
        kind: str = "consumer",
        can_skip: bool = False,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        host: str = "/127.0.0.1",
        reason: str | None = None,
    ) -> dict[str, Any] | None:
        """The answer, if there is one by now."""
        self.made += not member_id
        supported = [(name, name.encode()) for name in protocols.split(",") if name]
        profile = MemberProfile("client", host, kind, supported, session_ms, rebalance_ms)
        attempt = JoinAttempt(token, member_id, instance, f"m{self.made}", profile, needs_id, can_skip, reason)
        self.carry_out(self.group.join(attempt, self.now_ms))
        return self.answers.get(token)

    def sync(
        self,
        token: object,
        member_id: str,
        assignments: Mapping[str, bytes] | None = None,
        *,
        instance: str | None = None,
        generation: int | None = None,
        kind: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any] | None:
        generation = self.group.generation_id if generation is None else generation
        attempt = SyncAttempt(token, member_id, instance, generation, assignments or {}, kind, name)
        self.carry_out(self.group.sync(attempt, self.now_ms))
        return self.answers.get(token)

    def heartbeat(self, member_id: str, generation: int | None = None, instance: str | None = None) -> int:
        generation = self.group.generation_id if generation is None else generation
        return self.group.heartbeat(member_id, instance, generation, self.now_ms)

    def commit_error(
        self, member_id: str, generation: int | None = None, instance: str | None = None, transactional: bool = False
    ) -> int:
        generation = self.group.generation_id if generation is None else generation
        return self.group.commit_error(member_id, instance, generation, self.now_ms, transactional)

    def leave(self, member_id: str, instance: str | None = None) -> int:
        error, effects = self.group.leave(member_id, instance, self.now_ms)
        self.carry_out(effects)
        return error

    # --- time and life ----------------------------------------------------------------------------------------------

    def advance(self, milliseconds: int) -> None:
        """Lets time pass, ringing timers in order."""
        end = self.now_ms + milliseconds
        while True:
            due = [(at, name) for name, at in self.timers.items() if at <= end]
            if not due:
                break
            self.now_ms, name = min(due)
            del self.timers[name]
            self.carry_out(self.group.on_timer(name, self.now_ms))
        self.now_ms = end

    def restart(self, max_size: int | None = None) -> None:
        """A coordinator that knows only what was kept."""
        self.timers.clear()
        self.group = Group(GROUP, self.initial_delay_ms, max_size or self.max_size)
        if self.kept:
            self.carry_out(self.group.restore(self.kept[-1], self.now_ms))

    def stable(self, count: int, **options: Any) -> list[str]:
        """Brings `count` members to a stable group and answers their ids, the leader's first."""
        return self.stable_with([None] * count, **options)

    def stable_with(self, instances: list[str | None], **options: Any) -> list[str]:
        """The same with an instance id for each, or None; everyone is assigned its own id."""
        members: list[str] = []
        for number, instance in enumerate(instances):
            token = ("join", number)
            self.join(token, instance=instance, **options)
            for member_id in members:
                self.join(("rejoin", number, member_id), member_id, **options)
            members.append(self.answers[token]["member_id"])
        for member_id in reversed(members):
            self.sync(("sync", member_id), member_id, {name: name.encode() for name in members})
        assert self.group.state == STABLE
        return members
