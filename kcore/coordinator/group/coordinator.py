"""The group coordinator's I/O: groups and their timers, committed offsets and their log (Kafka's `GroupCoordinator`).

Concurrency: each group has a lock, held while an event runs through its state machine and the effects are carried out,
so that answers leave in the order of events. A partition of `__consumer_offsets` serves once its offsets are loaded;
until then its groups are answered COORDINATOR_LOAD_IN_PROGRESS.

Membership lives in memory: after a restart members are unknown and join again, while committed offsets are read back.
A group that nobody is in and that has no offsets ends at the next `end_idle_groups` (Kafka's `cleanupGroupMetadata`),
and with it the memory of its generation; who still held it is answered COORDINATOR_NOT_AVAILABLE, and asks again.
"""

from __future__ import annotations

import time
from threading import Lock

from kcore import uuid
from kcore.coordinator.group import codes
from kcore.coordinator.group.effects import Reply, StartTimer
from kcore.coordinator.group.offset_log import OffsetLog
from kcore.coordinator.group.offsets import CommittedOffset, Offsets
from kcore.coordinator.group.partitioner import partition_for
from kcore.coordinator.group.state import Group, JoinAttempt, join_failure, sync_failure
from kcore.logger import get_logger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    from kcore.config.broker import BrokerConfig
    from kcore.coordinator.group.effects import Effect
    from kcore.coordinator.group.offsets import TopicPartition
    from kcore.purgatory.timer import TimerHandle
    from kcore.replication.partition import Partition

    class Responder(Protocol):
        """What answers a request: a RequestContext."""

        def respond(self, fields: Mapping[str, Any]) -> None: ...

    class Scheduler(Protocol):
        """What runs a callable on a handler thread later."""

        def schedule(self, delay_ms: int, callback: Callable[[], None]) -> TimerHandle: ...


LOG = get_logger("kcore.coordinator.group")


class GroupSlot:
    """A group with its lock and running timers."""

    __slots__ = ("group", "lock", "timers")

    def __init__(self, group: Group) -> None:
        self.group = group
        self.lock = Lock()
        self.timers: dict[tuple[str, ...], TimerHandle] = {}


class GroupCoordinator:
    """Serves the groups whose partition of `__consumer_offsets` this broker leads.

    `timer` runs callables on handler threads; `now_ms` is the wall clock of commits.
    """

    def __init__(self, config: BrokerConfig, timer: Scheduler, now_ms: Callable[[], int]) -> None:
        # What is configured counts until there is a topic, which keeps its number of partitions.
        self._partition_count = config.number("offsets.topic.num.partitions")
        self._initial_rebalance_delay_ms = config.number("group.initial.rebalance.delay.ms")
        self._max_size = config.number("group.max.size")
        self._min_session_timeout_ms = config.number("group.min.session.timeout.ms")
        self._max_session_timeout_ms = config.number("group.max.session.timeout.ms")
        self._max_metadata_length = config.number("offset.metadata.max.bytes")
        self._timer = timer
        self._now_ms = now_ms
        self._slots: dict[str, GroupSlot] = {}
        self._logs: dict[int, OffsetLog] = {}
        self._loading: set[int] = set()
        self._lock = Lock()  # guards the three above

    # --- partitions of __consumer_offsets ---------------------------------------------------------------------------

    def partition_for(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` that a group belongs to."""
        return partition_for(group_id, self._partition_count)

    def announce(self, index: int, partition_count: int) -> None:
        """A partition, one of so many, is about to be loaded."""
        with self._lock:
            self._partition_count = partition_count
            self._loading.add(index)

    def load(self, partition: Partition) -> None:
        """Reads the commits of an announced partition back; its groups are served from then on."""
        log = OffsetLog(partition, Offsets())
        try:
            count = log.load()
            with self._lock:
                if partition.index in self._loading:
                    self._logs[partition.index] = log
        finally:
            with self._lock:
                self._loading.discard(partition.index)
        if count:
            LOG.info("Loaded %d records of committed offsets from %s-%d", count, partition.topic, partition.index)

    def unload(self, index: int) -> None:
        """The partition is no longer ours; its groups end on a handler thread, since the caller may hold any lock."""
        with self._lock:
            self._logs.pop(index, None)
            self._loading.discard(index)
            lost = [slot for group_id, slot in self._slots.items() if self.partition_for(group_id) == index]
            for slot in lost:
                del self._slots[slot.group.group_id]
        if lost:
            self._timer.schedule(0, lambda: self._end(lost))

    def _end(self, slots: list[GroupSlot]) -> None:
        for slot in slots:
            with slot.lock:
                self._carry_out(slot, slot.group.end(codes.NOT_COORDINATOR))

    def end_idle_groups(self) -> None:
        """Forgets the groups that have neither members nor offsets; to be called now and then."""
        for group_id, slot in list(self._slots.items()):
            with slot.lock, self._lock:
                log = self._logs.get(self.partition_for(group_id))
                if slot.group.is_idle and log is not None and not log.offsets.of_group(group_id):
                    self._carry_out(slot, slot.group.end(codes.COORDINATOR_NOT_AVAILABLE))
                    self._slots.pop(group_id, None)

    def coordinates(self, index: int) -> bool:
        """Whether this partition's groups are served here, at the latest when its commits have been read back."""
        return index in self._loading or index in self._logs

    def _availability_error(self, group_id: str) -> int:
        index = self.partition_for(group_id)
        if index in self._loading:
            return codes.COORDINATOR_LOAD_IN_PROGRESS
        return codes.NONE if index in self._logs else codes.NOT_COORDINATOR

    # --- membership -------------------------------------------------------------------------------------------------

    def join(self, context: Responder, request: Any, client_id: str, client_host: str, needs_member_id: bool) -> None:
        """JoinGroup; `needs_member_id`: a client new enough is first told its member id (KIP-394)."""
        error = self._join_error(request)
        if error:
            context.respond(join_failure(error, request.member_id))
            return
        slot = self._slot(request.group_id)
        attempt = JoinAttempt(
            token=context,
            member_id=request.member_id,
            new_member_id=f"{request.group_instance_id or client_id}-{new_suffix()}",
            needs_member_id=needs_member_id and request.group_instance_id is None,
            client_id=client_id,
            client_host=client_host,
            protocol_type=request.protocol_type,
            protocols=[(protocol.name, bytes(protocol.metadata)) for protocol in request.protocols],
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=max(request.rebalance_timeout_ms, 0) or request.session_timeout_ms,
            group_instance_id=request.group_instance_id,
        )
        with slot.lock:
            self._carry_out(slot, slot.group.join(attempt, clock_ms()))

    def _join_error(self, request: Any) -> int:
        if not request.group_id:
            return codes.INVALID_GROUP_ID
        error = self._availability_error(request.group_id)
        if error:
            return error
        if not self._min_session_timeout_ms <= request.session_timeout_ms <= self._max_session_timeout_ms:
            return codes.INVALID_SESSION_TIMEOUT
        is_known = request.group_id in self._slots or not request.member_id
        return codes.NONE if is_known else codes.UNKNOWN_MEMBER_ID

    def sync(self, context: Responder, request: Any) -> None:
        """SyncGroup."""
        slot, error = self._known_slot(request.group_id)
        if slot is None:
            context.respond(sync_failure(error))
            return
        assignments = {entry.member_id: bytes(entry.assignment) for entry in request.assignments}
        with slot.lock:
            effects = slot.group.sync(
                context,
                request.member_id,
                request.generation_id,
                assignments,
                request.protocol_type,
                request.protocol_name,
                clock_ms(),
            )
            self._carry_out(slot, effects)

    def heartbeat(self, group_id: str, member_id: str, generation_id: int) -> int:
        """Heartbeat: the wire code."""
        slot, error = self._known_slot(group_id)
        if slot is None:
            return error
        with slot.lock:
            return slot.group.heartbeat(member_id, generation_id, clock_ms())

    def leave(self, group_id: str, member_ids: list[str]) -> tuple[int, list[int]]:
        """LeaveGroup: the wire code of the request, and one for each member."""
        slot, error = self._known_slot(group_id)
        if slot is None:
            return error if error != codes.UNKNOWN_MEMBER_ID else codes.NONE, [error] * len(member_ids)
        results = []
        with slot.lock:
            for member_id in member_ids:
                error, effects = slot.group.leave(member_id, clock_ms())
                self._carry_out(slot, effects)
                results.append(error)
        return codes.NONE, results

    def _slot(self, group_id: str) -> GroupSlot:
        with self._lock:
            slot = self._slots.get(group_id)
            if slot is None:
                group = Group(group_id, self._initial_rebalance_delay_ms, self._max_size)
                slot = self._slots[group_id] = GroupSlot(group)
            return slot

    def _known_slot(self, group_id: str) -> tuple[GroupSlot | None, int]:
        error = codes.INVALID_GROUP_ID if not group_id else self._availability_error(group_id)
        if error:
            return None, error
        slot = self._slots.get(group_id)
        return slot, codes.NONE if slot is not None else codes.UNKNOWN_MEMBER_ID

    def _carry_out(self, slot: GroupSlot, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Reply):
                effect.token.respond(effect.fields)  # type: ignore[attr-defined]
            else:
                running = slot.timers.pop(effect.name, None)
                if running is not None:
                    running.cancel()
                if isinstance(effect, StartTimer):
                    self._start_timer(slot, effect)

    def _start_timer(self, slot: GroupSlot, effect: StartTimer) -> None:
        def ring() -> None:
            with slot.lock:
                # A timer that was replaced while it rang has nothing to say.
                if slot.timers.get(effect.name) is handle:
                    del slot.timers[effect.name]
                    self._carry_out(slot, slot.group.on_timer(effect.name, clock_ms()))

        handle = slot.timers[effect.name] = self._timer.schedule(effect.delay_ms, ring)

    # --- offsets ----------------------------------------------------------------------------------------------------

    def commit(
        self,
        group_id: str,
        member_id: str,
        generation_id: int,
        offsets: Mapping[TopicPartition, tuple[int, int, str | None]],
    ) -> dict[TopicPartition, int]:
        """OffsetCommit of (offset, leader epoch, metadata): a wire code for each partition.

        A group's lock is held until the commit is written, so that none of an old generation follows one of the next.
        """
        error = self._availability_error(group_id)
        if error:
            return dict.fromkeys(offsets, error)
        slot = self._slots.get(group_id)
        if slot is None:
            # Offsets kept in Kafka by a client that manages its partitions itself.
            error = codes.NONE if generation_id < 0 else self._no_member(group_id)
            return dict.fromkeys(offsets, error) if error else self._store(group_id, offsets)
        with slot.lock:
            error = slot.group.commit_error(member_id, generation_id, clock_ms())
            return dict.fromkeys(offsets, error) if error else self._store(group_id, offsets)

    def _no_member(self, group_id: str) -> int:
        """A member's commit to a group without members: one that has offsets is known, without that member."""
        log = self._logs.get(self.partition_for(group_id))
        known = log is not None and log.offsets.of_group(group_id)
        return codes.UNKNOWN_MEMBER_ID if known else codes.ILLEGAL_GENERATION

    def _store(
        self, group_id: str, offsets: Mapping[TopicPartition, tuple[int, int, str | None]]
    ) -> dict[TopicPartition, int]:
        log = self._logs.get(self.partition_for(group_id))
        if log is None:
            return dict.fromkeys(offsets, codes.NOT_COORDINATOR)
        now_ms = self._now_ms()
        accepted = {}
        results = {}
        for place, (offset, leader_epoch, metadata) in offsets.items():
            # Kafka calls the limit bytes, and counts characters.
            if metadata is not None and len(metadata) > self._max_metadata_length:
                results[place] = codes.OFFSET_METADATA_TOO_LARGE
            else:
                accepted[place] = CommittedOffset(offset, leader_epoch, metadata or "", now_ms)
        error = log.append(group_id, accepted, now_ms) if accepted else codes.NONE
        results.update(dict.fromkeys(accepted, error))
        return results

    def fetch_offsets(self, group_id: str) -> tuple[int, Mapping[TopicPartition, CommittedOffset]]:
        """OffsetFetch: a wire code and everything that the group committed."""
        error = self._availability_error(group_id)
        if error:
            return error, {}
        log = self._logs.get(self.partition_for(group_id))
        return (codes.NOT_COORDINATOR, {}) if log is None else (codes.NONE, log.offsets.of_group(group_id))

    def committed_offsets(self) -> list[tuple[str, Mapping[TopicPartition, CommittedOffset]]]:
        """Every group coordinated here with what it has committed, members or not, as it is at the moment."""
        with self._lock:
            logs = list(self._logs.values())
        return [(group_id, dict(log.offsets.of_group(group_id))) for log in logs for group_id in log.offsets.groups()]

    def group_states(self) -> list[tuple[str, str, int]]:
        """(group, state, number of members) of the groups in memory."""
        with self._lock:
            groups = [slot.group for slot in self._slots.values()]
        return [(group.group_id, group.state, len(group.members)) for group in groups]

    def forget_topic(self, topic: str) -> None:
        """A topic was deleted: its committed offsets go with it (Kafka's `handleDeletedPartitions`)."""
        with self._lock:
            logs = list(self._logs.values())
        for log in logs:
            log.forget_topic(topic, self._now_ms())


def clock_ms() -> int:
    """Milliseconds of a clock that never goes back."""
    return time.monotonic_ns() // 1_000_000


def new_suffix() -> str:
    """The random end of a member id, in the form of Java's `UUID.toString`."""
    text = uuid.random_uuid().hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
