"""An application with a consumer: the real state machines, driven in virtual time, over a bad network.

The application polls, reads what it may, commits, and carries callbacks out; it checks that they come in pairs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from kcore.client.consumer.assignors import chosen
from kcore.client.consumer.broker_request import NEVER_MS, Backoff, BrokerRequest
from kcore.client.consumer.consumer_coordinator import ConsumerCoordinator, MemberState
from kcore.client.consumer.consumer_membership import ConsumerMembership, ConsumerState
from kcore.client.consumer.consumer_metadata import ConsumerMetadata
from kcore.client.consumer.coordinator_lookup import CoordinatorLookup
from kcore.client.consumer.group_settings import GroupSettings
from kcore.client.consumer.offset_commits import OffsetCommits
from kcore.client.consumer.offset_reset import TO_EARLIEST
from kcore.client.consumer.outcome import Outcome
from kcore.client.consumer.positions import FetchPosition
from kcore.client.consumer.rebalance_callback import CallbackKind, RebalanceCallback
from kcore.client.consumer.subscription_state import SubscriptionState
from kcore.client.errors import ClientTimeout
from kcore.client.metadata.cluster import TopicPartition
from kcore.client.metadata.metadata import Metadata, MetadataSettings
from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.simulator.groups.clockwork import Appointment

if TYPE_CHECKING:
    from tests.simulator.members.member_life import MemberLife

COMMIT_MS = 5_000


class SimulatedConsumer:
    """One process: made, and at some time dead or gone."""

    def __init__(self, name: str, life: MemberLife, settings: GroupSettings, *, is_classic: bool) -> None:
        chance = life.chance
        self.name = name
        self.life = life
        self.settings = settings
        self.is_alive = True
        self.is_paused = False
        self.owned: set[TopicPartition] = set()
        self.subscriptions = SubscriptionState(TO_EARLIEST)
        state = MetadataSettings(max_age_ms=20_000)
        self.metadata = ConsumerMetadata(
            Metadata(state, chance.random), self.subscriptions, needs_topic_ids=not is_classic
        )
        self.lookup = CoordinatorLookup(settings.group_id, Backoff(100, 1_000, chance))
        self.membership: ConsumerCoordinator | ConsumerMembership
        parts = (settings, self.subscriptions, self.metadata, self.lookup)
        if is_classic:
            self.membership = ConsumerCoordinator(*parts, chosen(life.strategies))
        else:
            self.membership = ConsumerMembership(*parts)
        self.commits = OffsetCommits(settings, self.lookup, has_member_epochs=not is_classic)
        self.commits.membership = self.membership
        self.subscribe()
        # Before JoinGroup 9 a static leader that came back leads no more, and nobody watches topics grow (KIP-814).
        self._versions = {apis.JOIN_GROUP.key: 9} if settings.instance_id is not None else {}
        self._waiting_for: set[TopicPartition] = set()
        self._alarm: Appointment | None = None
        self._is_busy = False
        life.clockwork.schedule(0, self.app_poll)

    def subscribe(self) -> None:
        topics = self.life.some_topics()
        if self.life.by_pattern:
            self.subscriptions.subscribe_pattern(re.compile("|".join(topics)))
            self.subscriptions.match_pattern(self.metadata.metadata.cluster.topics)
        else:
            self.subscriptions.subscribe(topics)

    @property
    def now_ms(self) -> float:
        return float(self.life.clockwork.now_ms)

    @property
    def is_settled(self) -> bool:
        at_rest = self.membership.state in (MemberState.STABLE, ConsumerState.STABLE)
        return self.is_alive and at_rest and self.owned == set(self.subscriptions.fetchable)

    # The driver, which stands for the background thread

    def drive(self) -> None:
        if not self.is_alive:
            return
        for machine in (self.lookup, self.metadata, self.membership, self.commits):
            for request in machine.poll(self.now_ms):
                self._send(request)
        times = [self.lookup.wake_ms(), self.metadata.wake_ms(self.now_ms)]
        times += [self.membership.wake_ms(), self.commits.wake_ms()]
        self._wake_at(min(times))

    def _wake_at(self, wake_ms: float) -> None:
        """One alarm at a time."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None
        if wake_ms < NEVER_MS:
            self._alarm = self.life.clockwork.schedule(max(1, math.ceil(wake_ms - self.now_ms)), self.drive)

    def _send(self, request: BrokerRequest) -> None:
        api = request.api
        lowest, highest = max(request.min_version, api.min_version), min(request.max_version, api.max_version)
        version = max(lowest, self._versions.setdefault(api.key, self.life.chance.randint(lowest, highest)))
        is_finished = False

        def finish(response: Message | None, error: Exception | None) -> None:
            nonlocal is_finished
            if not is_finished and self.is_alive:
                is_finished = True
                request.finish(response, error, self.now_ms)
                self.drive()

        timeout_ms = request.timeout_ms or self.settings.request_timeout_ms
        self.life.clockwork.schedule(int(timeout_ms), lambda: finish(None, ClientTimeout("no answer in time")))
        give = self.life.late(self, lambda answer: finish(answer, None))
        self.life.deliver(self, lambda: self.life.broker.answer(request, version, give))

    # The application

    def app_poll(self) -> None:
        if not self.is_alive:
            return
        if not self.is_paused and not self._is_busy:
            self.membership.polled(self.now_ms)
            self.membership.take_error()
            if self.membership.is_fatal:
                self.life.ended(self)
                return
            self.drive()
            self._carry_out(self._read_on)
        self.life.clockwork.schedule(self.life.chance.randrange(100, 1_000), self.app_poll)

    def _carry_out(self, then: Callable[[], None]) -> None:
        """Callbacks one after another; while one waits for its commit the application does nothing else."""
        callback = self.membership.next_callback()
        if callback is None:
            then()
            return
        self._is_busy = True

        def done() -> None:
            if not self.is_alive:
                return
            self._is_busy = False
            self.membership.callback_done(callback, self.now_ms)
            self.drive()
            self._carry_out(then)

        self.run(callback, done)

    def run(self, callback: RebalanceCallback, done: Callable[[], None]) -> None:
        partitions = set(callback.partitions)
        if callback.kind is CallbackKind.PREPARE:
            self._commit_and(done)
            return
        if callback.kind is CallbackKind.ASSIGNED:
            assert not partitions & self.owned, f"{self.name} got twice {partitions & self.owned}"
            self.owned |= partitions
            self.life.witness_assignment(self, callback.assignment)
        else:
            assert partitions <= self.owned, f"{self.name} loses what it never had: {partitions - self.owned}"
            self.owned -= partitions
        # A listener takes its time.
        self.life.clockwork.schedule(self.life.chance.choice((0, 0, 0, 300)), done)

    def _commit_and(self, done: Callable[[], None]) -> None:
        outcome = self._commit(self.now_ms + COMMIT_MS)
        outcome.on_done(lambda _: self.life.clockwork.schedule(0, done))
        self.drive()

    def _commit(self, deadline_ms: float | None) -> Outcome[None]:
        return self.commits.commit(self.subscriptions.all_consumed, deadline_ms)

    def _read_on(self) -> None:
        self._find_positions()
        for partition, position in self.subscriptions.fetchable.items():
            self.life.witness_reading(self, partition)
            step = self.life.chance.choice((0, 1, 7))
            self.subscriptions.consumed(partition, FetchPosition(position.offset + step))
        if self.life.chance.random() < 0.3:
            self._commit(None)
        self.drive()

    def _find_positions(self) -> None:
        wanted = [p for p in self.subscriptions.initializing() if p not in self._waiting_for]
        if not wanted:
            return
        self._waiting_for.update(wanted)
        outcome = self.commits.fetch(wanted, self.now_ms + 10_000)

        def found(outcome: Outcome[object]) -> None:
            self._waiting_for.difference_update(wanted)
            if outcome.error is None:
                self.subscriptions.start_at_committed(outcome.take(), {})  # type: ignore[arg-type]
                for partition, strategy in self.subscriptions.needing_reset(self.now_ms).items():
                    self.subscriptions.finish_reset(partition, strategy, FetchPosition(0))

        outcome.on_done(found)

    def die(self) -> None:
        """Without a word."""
        self.is_alive = False

    def leave(self) -> None:
        callback = self.membership.begin_leaving()
        if callback is not None:
            self.owned -= set(callback.partitions)
        self.membership.leave("it is told to", is_closing=True)
        self.drive()
        self.is_alive = False
