"""The groups of one partition of `__consumer_offsets` (Kafka's `GroupCoordinatorShard`).

Concurrency: one lock. An event takes it, decides, writes, applies what was written and answers, so that answers leave
in the order of events and nothing is told to a client that a restart would forget. Timers ring on handler threads and
take the lock like any event.

Life: a shard is made when its partition is announced and refuses everything with COORDINATOR_LOAD_IN_PROGRESS until it
is `opened` with what its log says; when the partition leaves, `error` becomes NOT_COORDINATOR at once, and `close`
answers whoever waits. A shard never opens again: a partition that comes back gets a new one.
"""

from __future__ import annotations

from threading import Lock

from kcore.coordinator.group import codes, records
from kcore.coordinator.group.answers import join_failure, sync_failure
from kcore.coordinator.group.effects import Persist, Reply, StartTimer
from kcore.coordinator.group.offsets import CommittedOffset, Offsets
from kcore.coordinator.group.state import Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    from kcore.config.broker import BrokerConfig
    from kcore.coordinator.group.effects import Effect
    from kcore.coordinator.group.group_log import GroupLog
    from kcore.coordinator.group.offsets import TopicPartition
    from kcore.coordinator.group.records import Pair
    from kcore.coordinator.group.replay import Replay
    from kcore.coordinator.group.state import JoinAttempt, SyncAttempt
    from kcore.purgatory.timer import TimerHandle

    class Responder(Protocol):
        """What answers a request: a RequestContext."""

        def respond(self, fields: Mapping[str, Any]) -> None: ...

    class Scheduler(Protocol):
        """What runs a callable on a handler thread later."""

        def schedule(self, delay_ms: int, callback: Callable[[], None]) -> TimerHandle: ...


class Surroundings:
    """What all shards of a coordinator share: configuration, timers, clocks.

    `clock_ms` never goes back and starts at the wall clock's time, `wall_clock_ms` is what commits are stamped with.
    """

    __slots__ = ("clock_ms", "initial_rebalance_delay_ms", "max_metadata_length", "max_size", "timer", "wall_clock_ms")

    def __init__(
        self, config: BrokerConfig, timer: Scheduler, clock_ms: Callable[[], int], wall_clock_ms: Callable[[], int]
    ) -> None:
        self.initial_rebalance_delay_ms = config.number("group.initial.rebalance.delay.ms")
        self.max_size = config.number("group.max.size")
        self.max_metadata_length = config.number("offset.metadata.max.bytes")
        self.timer = timer
        self.clock_ms = clock_ms
        self.wall_clock_ms = wall_clock_ms


class GroupShard:
    """Groups, committed offsets and their log. `error` is what every request is answered while it is not 0."""

    __slots__ = ("_log", "_surroundings", "_timers", "error", "groups", "lock", "offsets")

    def __init__(self, surroundings: Surroundings, error: int = codes.COORDINATOR_LOAD_IN_PROGRESS) -> None:
        self.lock = Lock()
        self.error = error
        self.groups: dict[str, Group] = {}
        self.offsets = Offsets()
        self._surroundings = surroundings
        self._log: GroupLog | None = None
        self._timers: dict[tuple[str, tuple[str, ...]], TimerHandle] = {}

    # --- life -------------------------------------------------------------------------------------------------------

    def open(self, log: GroupLog, loaded: Replay) -> bool:
        """Serves from now on, with what was loaded; False if the partition has left in the meantime."""
        with self.lock:
            if self.error != codes.COORDINATOR_LOAD_IN_PROGRESS:
                return False
            self._log = log
            self.offsets = loaded.offsets
            now_ms = self._surroundings.clock_ms()
            for group_id, metadata in loaded.classic_groups.items():
                group = self._made(group_id)
                self._carry_out(group, group.restore(metadata, now_ms))
            self.error = codes.NONE
            return True

    def close(self, error: int) -> None:
        """Whoever waits is answered `error`, as is everybody from now on."""
        with self.lock:
            self.error = error
            for group in list(self.groups.values()):
                self._carry_out(group, group.end(error))
            self.groups.clear()
            self._timers.clear()

    def end_idle_groups(self) -> None:
        """Forgets the groups that have neither members nor offsets."""
        with self.lock:
            if self.error:
                return
            for group_id, group in list(self.groups.items()):
                if group.is_idle and not self.offsets.of_group(group_id):
                    self._carry_out(group, group.end(codes.COORDINATOR_NOT_AVAILABLE))
                    del self.groups[group_id]

    # --- membership -------------------------------------------------------------------------------------------------

    def join(self, group_id: str, attempt: JoinAttempt) -> None:
        """JoinGroup: answered now or later."""
        with self.lock:
            group = self.groups.get(group_id)
            error = self.error
            if group is None and not error and attempt.member_id:
                error = codes.UNKNOWN_MEMBER_ID
            if error:
                self._answer(attempt.token, join_failure(error, attempt.member_id))
                return
            group = group or self._made(group_id)
            self._carry_out(group, group.join(attempt, self._surroundings.clock_ms()))

    def sync(self, group_id: str, attempt: SyncAttempt) -> None:
        """SyncGroup: answered now or later. While groups load members join again: older clients know no better."""
        with self.lock:
            group = self.groups.get(group_id)
            if self.error == codes.COORDINATOR_LOAD_IN_PROGRESS:
                self._answer(attempt.token, sync_failure(codes.REBALANCE_IN_PROGRESS))
            elif self.error or group is None:
                self._answer(attempt.token, sync_failure(self.error or codes.UNKNOWN_MEMBER_ID))
            else:
                self._carry_out(group, group.sync(attempt, self._surroundings.clock_ms()))

    def heartbeat(self, group_id: str, member_id: str, group_instance_id: str | None, generation_id: int) -> int:
        """Heartbeat: the wire code. While groups load, everyone is taken to be alive."""
        with self.lock:
            group = self.groups.get(group_id)
            if self.error == codes.COORDINATOR_LOAD_IN_PROGRESS:
                return codes.NONE
            if self.error or group is None:
                return self.error or codes.UNKNOWN_MEMBER_ID
            return group.heartbeat(member_id, group_instance_id, generation_id, self._surroundings.clock_ms())

    def leave(self, group_id: str, members: Sequence[tuple[str, str | None]]) -> tuple[int, list[int]]:
        """LeaveGroup of (member id, instance id): the wire code of the request, and without an error one for each."""
        with self.lock:
            if self.error:
                return self.error, []
            group = self.groups.get(group_id)
            if group is None:
                return codes.NONE, [codes.UNKNOWN_MEMBER_ID] * len(members)
            results = []
            for member_id, group_instance_id in members:
                error, effects = group.leave(member_id, group_instance_id, self._surroundings.clock_ms())
                self._carry_out(group, effects)
                results.append(error)
            return codes.NONE, results

    # --- offsets ----------------------------------------------------------------------------------------------------

    def commit(
        self,
        group_id: str,
        member_id: str,
        generation_id: int,
        offsets: Mapping[TopicPartition, tuple[int, int, str | None]],
    ) -> dict[TopicPartition, int]:
        """OffsetCommit of (offset, leader epoch, metadata): a wire code for each partition."""
        with self.lock:
            error = self.error or self._commit_error(group_id, member_id, generation_id)
            return dict.fromkeys(offsets, error) if error else self._store(group_id, offsets)

    def _commit_error(self, group_id: str, member_id: str, generation_id: int) -> int:
        group = self.groups.get(group_id)
        if group is not None:
            return group.commit_error(member_id, None, generation_id, self._surroundings.clock_ms())
        if generation_id < 0:
            # Offsets kept in Kafka by a client that manages its partitions itself.
            return codes.NONE
        # A group that has offsets is known, without that member.
        return codes.UNKNOWN_MEMBER_ID if self.offsets.of_group(group_id) else codes.ILLEGAL_GENERATION

    def _store(
        self, group_id: str, offsets: Mapping[TopicPartition, tuple[int, int, str | None]]
    ) -> dict[TopicPartition, int]:
        now_ms = self._surroundings.wall_clock_ms()
        longest = self._surroundings.max_metadata_length
        accepted = {}
        results = {}
        for place, (offset, leader_epoch, metadata) in offsets.items():
            # Kafka calls the limit bytes, and counts characters.
            if metadata is not None and len(metadata) > longest:
                results[place] = codes.OFFSET_METADATA_TOO_LARGE
            else:
                accepted[place] = CommittedOffset(offset, leader_epoch, metadata or "", now_ms)
        if accepted:
            error = self._append(
                [records.offset_commit(group_id, *place, committed) for place, committed in accepted.items()]
            )
            if error in (codes.MESSAGE_TOO_LARGE, codes.RECORD_LIST_TOO_LARGE):
                error = codes.INVALID_COMMIT_OFFSET_SIZE
            if not error:
                for (topic, partition), committed in accepted.items():
                    self.offsets.commit(group_id, topic, partition, committed)
            results.update(dict.fromkeys(accepted, error))
        return results

    def fetch_offsets(self, group_id: str) -> tuple[int, Mapping[TopicPartition, CommittedOffset]]:
        """OffsetFetch: a wire code and everything that the group committed."""
        with self.lock:
            return (self.error, {}) if self.error else (codes.NONE, dict(self.offsets.of_group(group_id)))

    def forget_topic(self, topic: str) -> bool:
        """The committed offsets of a topic that is gone go with it; False if that could not be written."""
        with self.lock:
            if self.error:
                return True
            gone = [
                (group_id, index)
                for group_id in self.offsets.groups()
                for name, index in self.offsets.of_group(group_id)
                if name == topic
            ]
            if gone and self._append(
                [records.offset_commit_tombstone(group_id, topic, index) for group_id, index in gone]
            ):
                return False
            for group_id, index in gone:
                self.offsets.forget(group_id, topic, index)
            return True

    # --- carrying out -----------------------------------------------------------------------------------------------

    def _made(self, group_id: str) -> Group:
        surroundings = self._surroundings
        group = Group(group_id, surroundings.initial_rebalance_delay_ms, surroundings.max_size)
        self.groups[group_id] = group
        return group

    def _append(self, pairs: Sequence[Pair]) -> int:
        if self._log is None:
            return codes.NOT_COORDINATOR
        return self._log.append(pairs, self._surroundings.wall_clock_ms())

    def _answer(self, token: object, fields: Mapping[str, Any]) -> None:
        token.respond(fields)  # type: ignore[attr-defined]

    def _carry_out(self, group: Group, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Reply):
                self._answer(effect.token, effect.fields)
            elif isinstance(effect, Persist):
                error = self._append(effect.records)
                self._carry_out(group, group.on_persisted(effect.event, error, self._surroundings.clock_ms()))
            else:
                running = self._timers.pop((group.group_id, effect.name), None)
                if running is not None:
                    running.cancel()
                if isinstance(effect, StartTimer):
                    self._start_timer(group, effect)

    def _start_timer(self, group: Group, effect: StartTimer) -> None:
        key = (group.group_id, effect.name)

        def ring() -> None:
            with self.lock:
                # A timer that was replaced while it rang has nothing to say.
                if self._timers.get(key) is handle:
                    del self._timers[key]
                    self._carry_out(group, group.on_timer(effect.name, self._surroundings.clock_ms()))

        handle = self._timers[key] = self._surroundings.timer.schedule(effect.delay_ms, ring)
