"""The groups of one partition of `__consumer_offsets` (Kafka's `GroupCoordinatorShard`).

Concurrency: one lock. Under it, an event decides, writes, applies the written records and answers. So responses leave
in the order of events, and no response contains a state that a restart would lose. Timers expire on handler threads and
take the lock like any event.

Life cycle: a new shard answers COORDINATOR_LOAD_IN_PROGRESS until `open` gives it the state of its log. When the
partition moves to another broker, `error` becomes NOT_COORDINATOR at once, and `close` answers the waiting requests. A
shard is not opened again: a partition that returns gets a new shard.
"""

from __future__ import annotations

from threading import Lock

from kcore.coordinator.group import codes
from kcore.coordinator.group.answers import join_failure, sync_failure
from kcore.coordinator.group.effects import Note, Persist, Reply, StartTimer
from kcore.coordinator.group.live_sessions import LiveSessions
from kcore.coordinator.group.offset_manager import OffsetManager
from kcore.coordinator.group.rebalancing import SESSION
from kcore.coordinator.group.state import AssignmentStored, Group
from kcore.logger import INFO, get_logger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from kcore.coordinator.group.attempts import JoinAttempt, SyncAttempt
    from kcore.coordinator.group.consumer.group import ConsumerGroup
    from kcore.coordinator.group.consumer_groups import ConsumerGroups
    from kcore.coordinator.group.descriptions import GroupDescription, GroupListing
    from kcore.coordinator.group.effects import Effect, StopTimer
    from kcore.coordinator.group.group_log import GroupLog
    from kcore.coordinator.group.records import GroupMetadata, Pair
    from kcore.coordinator.group.replay import Replay
    from kcore.coordinator.group.surroundings import Surroundings
    from kcore.protocol.message import Message
    from kcore.purgatory.timer import TimerHandle

LOG = get_logger("kcore.coordinator.group")
MAX_LOGGED = 1_000  # characters
# If a session timer expires this late, the broker was stopped or starved. Heartbeats of that time may still wait in
# sockets. The session gets CATCH_UP_MS more, so that they are read first.
HELD_UP_MS = 1_000
CATCH_UP_MS = 1_000


class GroupShard:
    """Groups, their committed offsets (`offsets`) and their log. While `error` is not 0, it answers every request.

    Processors answer most heartbeats of stable groups by `sessions`, without the shard.
    """

    __slots__ = (
        "_log",
        "_served_consumer_groups",
        "_surroundings",
        "_timers",
        "error",
        "groups",
        "lock",
        "offsets",
        "sessions",
    )

    def __init__(self, surroundings: Surroundings, error: int = codes.COORDINATOR_LOAD_IN_PROGRESS) -> None:
        self.lock = Lock()
        self.error = error
        self.groups: dict[str, Group | ConsumerGroup] = {}
        self._surroundings = surroundings
        self._served_consumer_groups: ConsumerGroups | None = None
        self.offsets = OffsetManager(self, surroundings)
        self.sessions = LiveSessions(surroundings.sessions)
        self._log: GroupLog | None = None
        self._timers: dict[tuple[str, tuple[str, ...]], TimerHandle] = {}

    # --- life cycle -------------------------------------------------------------------------------------------------

    def open(self, log: GroupLog, loaded: Replay) -> bool:
        """Starts to serve with the loaded state. False if the partition has moved to another broker meanwhile."""
        with self.lock:
            if self.error != codes.COORDINATOR_LOAD_IN_PROGRESS:
                return False
            self._log = log
            self.offsets.open(log, loaded.offsets)
            now_ms = self._surroundings.clock_ms()
            for group_id, metadata in loaded.classic_groups.items():
                if group_id in loaded.consumer_groups:
                    continue
                group = self.make_classic(group_id)
                self._carry_out(group, group.restore(metadata, now_ms))
            for consumer_group in loaded.consumer_groups.values():
                self._consumer_groups.loaded(consumer_group)
            for group_id in loaded.offsets.groups_with_any():
                if group_id not in self.groups:
                    self.make_classic(group_id)
            self.error = codes.NONE
            return True

    def close(self, error: int) -> None:
        """Answers all waiting and later requests with `error`."""
        with self.lock:
            self.error = error
            for group in list(self.groups.values()):
                self._carry_out(group, group.end(error))
            self.groups.clear()
            self._timers.clear()

    @property
    def _consumer_groups(self) -> ConsumerGroups:
        """The part for consumer groups. Imported for the first group, to keep the broker's start short."""
        if self._served_consumer_groups is None:
            from kcore.coordinator.group.consumer_groups import ConsumerGroups

            self._served_consumer_groups = ConsumerGroups(self, self._surroundings)
        return self._served_consumer_groups

    # --- membership -------------------------------------------------------------------------------------------------

    def join(self, group_id: str, attempt: JoinAttempt) -> None:
        """JoinGroup: answered at once or later."""
        with self.lock:
            group = self.groups.get(group_id)
            error = self.error
            if not error and attempt.member_id and (group is None or self._has_any_type(group)):
                error = codes.UNKNOWN_MEMBER_ID
            elif not error and group is not None and self._has_any_type(group):
                error, group = self._end(group, codes.NONE), None
            if error:
                self.answer(attempt.token, join_failure(error, attempt.member_id))
                return
            group = group or self.make_classic(group_id)
            if not isinstance(group, Group):
                self._consumer_groups.join(group, attempt)
                return
            self._carry_out(group, group.join(attempt, self._surroundings.clock_ms()))

    @staticmethod
    def _has_any_type(group: Group | ConsumerGroup) -> bool:
        """Whether it is a consumer group without members: the next member's protocol decides its type."""
        return not isinstance(group, Group) and not group.members

    def sync(self, group_id: str, attempt: SyncAttempt) -> None:
        """SyncGroup: answered at once or later. During a load members have to join again, for older clients."""
        with self.lock:
            group = self.groups.get(group_id)
            if self.error == codes.COORDINATOR_LOAD_IN_PROGRESS:
                self.answer(attempt.token, sync_failure(codes.REBALANCE_IN_PROGRESS))
            elif self.error or group is None:
                self.answer(attempt.token, sync_failure(self.error or codes.UNKNOWN_MEMBER_ID))
            elif not isinstance(group, Group):
                self._consumer_groups.sync(group, attempt)
            else:
                self._carry_out(group, group.sync(attempt, self._surroundings.clock_ms()))

    def heartbeat(
        self,
        group_id: str,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        is_connected: bool = True,
    ) -> int:
        """Heartbeat: the error code. During a load all members count as alive."""
        with self.lock:
            group = self.groups.get(group_id)
            if self.error == codes.COORDINATOR_LOAD_IN_PROGRESS:
                return codes.NONE
            if self.error or group is None:
                return self.error or codes.UNKNOWN_MEMBER_ID
            if not isinstance(group, Group):
                return self._consumer_groups.classic_heartbeat(
                    group, member_id, group_instance_id, generation_id, is_connected
                )
            now_ms = self._surroundings.clock_ms()
            return group.heartbeat(member_id, group_instance_id, generation_id, now_ms, is_connected)

    def leave(self, group_id: str, members: Sequence[tuple[str, str | None]]) -> tuple[int, list[int]]:
        """LeaveGroup of (member id, instance id): an error code; without an error one for each member."""
        with self.lock:
            if self.error:
                return self.error, []
            group = self.groups.get(group_id)
            if group is None:
                return codes.NONE, [codes.UNKNOWN_MEMBER_ID] * len(members)
            if not isinstance(group, Group):
                return self._consumer_groups.leave(group, members)
            results = []
            for member_id, group_instance_id in members:
                error, effects = group.leave(member_id, group_instance_id, self._surroundings.clock_ms())
                self._carry_out(group, effects)
                results.append(error)
            return codes.NONE, results

    def consumer_heartbeat(
        self, request: Message, member_id: str, client_id: str, client_host: str, is_connected: bool = True
    ) -> Mapping[str, Any]:
        """ConsumerGroupHeartbeat of a checked request: the response fields."""
        with self.lock:
            if self.error:
                return {"error_code": self.error}
            return self._consumer_groups.heartbeat(request, member_id, client_id, client_host, is_connected)

    def describe_consumer(self, group_id: str) -> Mapping[str, Any]:
        """One group of ConsumerGroupDescribe."""
        with self.lock:
            group = self.groups.get(group_id)
            if self.error:
                return {"group_id": group_id, "error_code": self.error}
            if group is not None and not isinstance(group, Group):
                return self._consumer_groups.describe(group)
            complaint = "not found" if group is None else "is not a consumer group"
            return {
                "group_id": group_id,
                "error_code": codes.GROUP_ID_NOT_FOUND,
                "error_message": f"Group {group_id} {complaint}.",
            }

    # --- the end of groups ------------------------------------------------------------------------------------------

    def delete_group(self, group_id: str) -> int:
        """DeleteGroups of one group, with all its offsets: the error code."""
        with self.lock:
            group = self.groups.get(group_id)
            if self.error or group is None:
                return self.error or codes.GROUP_ID_NOT_FOUND
            error = group.delete_error()
            if error:
                return error
            error = self.offsets.remove_all(group_id, group.tombstones())
            if not error:
                self._forget(group, codes.GROUP_ID_NOT_FOUND)
            return error

    def clean_up(self) -> tuple[int, int]:
        """Removes expired offsets, and groups without members and offsets (Kafka's `cleanupGroupMetadata`).

        Returns the number of offsets, and the error code of an append. After an error the next call does the rest. The
        lock is taken for each group separately, so that requests do not wait long.
        """
        count = 0
        for group_id in list(self.groups):
            with self.lock:
                group = self.groups.get(group_id)
                if self.error or group is None:
                    continue
                removed, error = self.offsets.expire(group)
                count += removed
                error = error or self._end_if_idle(group)
            if error:
                return count, error
        return count, codes.NONE

    def _end_if_idle(self, group: Group | ConsumerGroup) -> int:
        if not group.is_idle or self.offsets.has_any(group.group_id):
            return codes.NONE
        return self._end(group, codes.COORDINATOR_NOT_AVAILABLE)

    def _end(self, group: Group | ConsumerGroup, error: int) -> int:
        """Deletes a group. Its waiting requests get `error`. The error code of the append."""
        append_error = self.append(group.tombstones())
        if not append_error:
            self._forget(group, error)
        return append_error

    def _forget(self, group: Group | ConsumerGroup, error: int) -> None:
        self._carry_out(group, group.end(error))
        del self.groups[group.group_id]

    def end_quietly(self, group: Group | ConsumerGroup) -> None:
        """Ends a group that another one replaces. Its waiting members have to join again."""
        self._carry_out(group, group.end(codes.REBALANCE_IN_PROGRESS))

    def become_classic(self, group: ConsumerGroup, metadata: GroupMetadata, must_rebalance: bool) -> None:
        """Replaces a consumer group by a classic group, whose records are written already."""
        now_ms = self._surroundings.clock_ms()
        self._carry_out(group, group.end(codes.NONE))
        classic = self.make_classic(group.group_id)
        effects = classic.restore(metadata, now_ms)
        if must_rebalance:
            classic.begin(now_ms)
            classic.rebalance("it was a consumer group, and its members are to know their protocol")
            effects = [*effects, *classic.take_effects()]
        self._carry_out(classic, effects)

    # --- listing and describing -------------------------------------------------------------------------------------

    def list_groups(self) -> tuple[int, list[GroupListing]]:
        """ListGroups: an error code and all groups."""
        # Rarely used: imported late to keep the broker's start short.
        from kcore.coordinator.group.descriptions import list_group

        with self.lock:
            if self.error:
                return self.error, []
            return codes.NONE, [list_group(group) for group in self.groups.values()]

    def describe_classic(self, group_id: str) -> tuple[int, GroupDescription | None, str | None]:
        """DescribeGroups of one group: an error code, the group, and an error message."""
        from kcore.coordinator.group.descriptions import describe_group

        with self.lock:
            group = self.groups.get(group_id)
            if self.error:
                return self.error, None, None
            if group is None:
                return codes.GROUP_ID_NOT_FOUND, None, f"Group {group_id} not found."
            if not isinstance(group, Group):
                return codes.GROUP_ID_NOT_FOUND, None, f"Group {group_id} is not a classic group."
            return codes.NONE, describe_group(group), None

    # --- carrying out -----------------------------------------------------------------------------------------------

    def make_classic(self, group_id: str) -> Group:
        """Creates a classic group without members."""
        surroundings = self._surroundings
        group = Group(group_id, surroundings.initial_rebalance_delay_ms, surroundings.max_size)
        self.groups[group_id] = group
        return group

    def append(self, pairs: Sequence[Pair]) -> int:
        """Writes records in one batch. The error code."""
        if self._log is None:
            return codes.NOT_COORDINATOR
        return self._log.append(pairs, self._surroundings.wall_clock_ms())[0]

    def answer(self, token: object, fields: Mapping[str, Any]) -> None:
        """Answers a request."""
        token.respond(fields)  # type: ignore[attr-defined]

    def _carry_out(self, group: Group | ConsumerGroup, effects: Sequence[Effect]) -> None:
        if isinstance(group, Group):
            self.sessions.follow(group)
        for effect in effects:
            if isinstance(effect, Reply):
                self.answer(effect.token, effect.fields)
            elif isinstance(effect, Persist):
                assert isinstance(group, Group)
                error = self.append(effect.records)
                if not error and isinstance(effect.event, AssignmentStored):
                    self._surroundings.counts.count_rebalance()
                self._carry_out(group, group.on_persisted(effect.event, error, self._surroundings.clock_ms()))
            elif isinstance(effect, Note):
                group_id = loggable(group.group_id)
                LOG.limited(INFO, group_id, "a group changed", "Group %s %s", group_id, loggable(effect.text))
            else:
                self.change_timers(group, (effect,))

    def change_timers(self, group: Group | ConsumerGroup, effects: Iterable[StartTimer | StopTimer]) -> None:
        """Starts and stops timers of a group."""
        for effect in effects:
            running = self._timers.pop((group.group_id, effect.name), None)
            if running is not None:
                running.cancel()
            if isinstance(effect, StartTimer):
                self._start_timer(group, effect)

    def _start_timer(self, group: Group | ConsumerGroup, effect: StartTimer) -> None:
        key = (group.group_id, effect.name)
        due_ms = self._surroundings.clock_ms() + effect.delay_ms

        def ring() -> None:
            with self.lock:
                # Ignore a timer that was replaced while it expired.
                if self._timers.get(key) is handle:
                    del self._timers[key]
                    if self.groups.get(group.group_id) is not group:
                        # Ignore a timer of a group that was replaced.
                        return
                    if effect.name[0] == SESSION and self._surroundings.clock_ms() - due_ms > HELD_UP_MS:
                        self._start_timer(group, StartTimer(effect.name, CATCH_UP_MS))
                    elif not isinstance(group, Group):
                        self._consumer_groups.on_timer(group, effect.name)
                    else:
                        if effect.name[0] == SESSION:
                            self.sessions.catch_up(group, effect.name[1])
                        self._carry_out(group, group.on_timer(effect.name, self._surroundings.clock_ms()))

        handle = self._timers[key] = self._surroundings.timer.schedule(effect.delay_ms, ring)


def loggable(text: str) -> str:
    """Text with names that clients chose, shortened and escaped for a log line."""
    text = text if len(text) <= MAX_LOGGED else f"{text[:MAX_LOGGED]}..."
    return text if text.isprintable() else repr(text)[1:-1]
