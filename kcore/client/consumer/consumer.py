"""Consumer: reads topics, alone or as a member of a consumer group.

    with Consumer({"bootstrap.servers": "localhost:9092", "group.id": "billing"}) as consumer:
        consumer.subscribe(["orders"])
        for record in consumer:
            ...

A consumer is used by one application thread. Only `wakeup` may be called from any thread. The application's thread does
no I/O. A network thread fetches ahead without the GIL. A background thread sends heartbeats, metadata requests and
commits (see consumer_engine.py). The application must still call `poll` every `max.poll.interval.ms`. Callbacks of
rebalances and commits run on the application's thread, within its calls. Times are in milliseconds.
Source: KafkaConsumer of Kafka 4.
"""

from __future__ import annotations

import re
import threading

from kcore.client.clock import now_ms
from kcore.client.config.client_config import ConsumerConfig
from kcore.client.consumer.broker_request import NEVER_MS
from kcore.client.consumer.commit_calls import NEEDS_GROUP, CommitCalls
from kcore.client.consumer.consumer_coordinator import ConsumerCoordinator
from kcore.client.consumer.consumer_engine import ConsumerEngine
from kcore.client.consumer.consumer_errors import IllegalState
from kcore.client.consumer.consumer_membership import ConsumerMembership
from kcore.client.consumer.deserializers import deserializer_of
from kcore.client.consumer.group_settings import GroupMetadata
from kcore.client.consumer.interceptors import ConsumerInterceptors
from kcore.client.consumer.offset_reset import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TO_EARLIEST, TO_LATEST
from kcore.client.consumer.positions import FetchPosition, OffsetAndMetadata, OffsetAndTimestamp
from kcore.client.consumer.rebalance_callback import CallbackKind, RebalanceCallback, RebalanceListener
from kcore.client.consumer.subscription_pattern import SubscriptionPattern
from kcore.client.consumer.subscription_state import SubscriptionType
from kcore.client.errors import ClientTimeout, InvalidSetting
from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, TypeVar

    from kcore.client.consumer.consumer_engine import Committed, OnCommit
    from kcore.client.consumer.consumer_record import ConsumerRecord
    from kcore.client.consumer.record_columns import RecordColumns
    from kcore.client.network.connection_state import ConnectionState

    Value = TypeVar("Value")

CLOSE_MS = 30_000.0
ITERATION_MS = 1_000.0


class Consumer:
    """Configurations have Kafka's names, or are keywords with underscores: `Consumer(bootstrap_servers=...)`.

    Times are in milliseconds. If `timeout_ms` is None, a call waits up to `default.api.timeout.ms`, then raises
    ClientTimeout.
    """

    def __init__(self, config: ConsumerConfig | Mapping[str, Any] | None = None, **keywords: Any) -> None:
        """Raises ConfigException for an invalid configuration. Does not wait for a connection."""
        self.config = config = ConsumerConfig.of(config, keywords)
        self._interceptors = ConsumerInterceptors(config.objects("interceptor.classes"))
        self._key_deserializer = deserializer_of("key.deserializer", config["key.deserializer"])
        self._value_deserializer = deserializer_of("value.deserializer", config["value.deserializer"])
        self._api_timeout_ms = float(config["default.api.timeout.ms"])
        self._max_poll_records: int = config["max.poll.records"]
        self._engine = engine = ConsumerEngine(config)
        self._subscriptions = engine.subscriptions
        self._metadata = engine.metadata
        self._membership = engine.membership
        self._fetcher = engine.fetcher
        self._fetches = engine.fetches
        self._positions = engine.positions
        self._network = engine.network
        self._commits = CommitCalls(engine, self._interceptors)
        self._listener: RebalanceListener | None = None
        self._is_closed = False
        self._user: int | None = None
        engine.start()

    # The application's thread

    def _enter(self) -> None:
        if self._is_closed:
            raise IllegalState("This consumer has already been closed. Create a new one.")
        thread = threading.get_ident()
        if self._user is not None and self._user != thread:
            raise IllegalState(
                "KafkaConsumer is not safe for multi-threaded access: another thread is in a call. Call only wakeup() "
                "meanwhile"
            )
        self._user = thread

    def _leave(self) -> None:
        self._user = None

    def _deadline(self, timeout_ms: float | None) -> float:
        return now_ms() + (self._api_timeout_ms if timeout_ms is None else timeout_ms)

    def wakeup(self) -> None:
        """Make the current or next waiting call raise Woken. Any thread may call this."""
        self._engine.wakeup()

    def forget_wakeup(self) -> None:
        """Cancel a `wakeup` that has not ended a call yet."""
        self._engine.forget_wakeup()

    # Subscribing

    def subscribe(
        self,
        topics: Iterable[str] | re.Pattern[str] | SubscriptionPattern,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Subscribe to topics. From the next `poll` on, the group assigns their partitions to its members.

        `topics` is a list of names, a compiled pattern that must match whole names (also of topics created later), or,
        with the consumer protocol, a SubscriptionPattern that the broker matches. An empty list unsubscribes.
        """
        if self._membership is None:
            raise IllegalState(NEEDS_GROUP)
        names = None if isinstance(topics, (re.Pattern, SubscriptionPattern)) else list(topics)
        if names is not None and not names:
            self.unsubscribe()
            return
        self._enter()
        try:
            with self._network.lock:
                self._subscribe(topics, names)
                self._listener = listener
                assert self._engine.commits is not None
                self._engine.commits.membership = self._membership
                self._membership.polled(now_ms())
            self._network.wake()
        finally:
            self._leave()

    def _subscribe(
        self, topics: Iterable[str] | re.Pattern[str] | SubscriptionPattern, names: list[str] | None
    ) -> None:
        if isinstance(topics, re.Pattern):
            self._subscriptions.subscribe_pattern(topics)
            self._metadata.request_update()
        elif isinstance(topics, SubscriptionPattern):
            if not isinstance(self._membership, ConsumerMembership):
                raise IllegalState(
                    "a SubscriptionPattern needs group.protocol=consumer. With the classic protocol pass a pattern of "
                    "re.compile instead"
                )
            self._subscriptions.subscribe_broker_pattern(str(topics))
        else:
            assert names is not None
            if isinstance(topics, str) or not all(isinstance(name, str) and name.strip() for name in names):
                raise InvalidSetting(f"cannot subscribe to {topics!r}. Pass a list of topic names, none of them empty")
            self._subscriptions.subscribe(names)

    def assign(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        """Read exactly these partitions, without group rebalances.

        Reading starts at the committed offsets, or where `auto.offset.reset` says.
        """
        wanted = [TopicPartition(*partition) for partition in partitions]
        if not wanted:
            self.unsubscribe()
            return
        self._enter()
        try:
            with self._network.lock:
                self._commits.begin_automatic(None)
                self._subscriptions.assign(wanted)
                self._positions.is_wanted = False
                self._fetches.push()
            self._network.wake()
        finally:
            self._leave()

    def unsubscribe(self) -> None:
        """Drop the assignment and leave the group."""
        self._enter()
        try:
            self._give_up("the consumer unsubscribed from all topics", is_closing=False)
        finally:
            self._leave()

    def _give_up(self, reason: str, *, is_closing: bool, deadline_ms: float = NEVER_MS) -> None:
        with self._network.lock:
            self._fetches.pull()
            callback = self._membership.begin_leaving() if self._membership is not None else None
        try:
            if callback is not None:
                self._call_listener(callback, deadline_ms)
        finally:
            with self._network.lock:
                if self._membership is not None and self._subscriptions.is_auto_assigned:
                    self._membership.leave(reason, is_closing=is_closing)
                    assert self._engine.commits is not None
                    self._engine.commits.membership = None
                self._subscriptions.unsubscribe()
                self._fetches.push()
            self._network.wake()

    @property
    def assignment(self) -> list[TopicPartition]:
        with self._network.lock:
            return self._subscriptions.assigned

    @property
    def subscription(self) -> frozenset[str]:
        with self._network.lock:
            return self._subscriptions.topics if self._subscriptions.is_auto_assigned else frozenset()

    # Reading

    def poll(self, timeout_ms: float = 0.0) -> list[ConsumerRecord]:
        """Return the next records, at most `max.poll.records`. Waits up to `timeout_ms` for the first one."""
        records: list[ConsumerRecord] = self._poll(
            timeout_ms, lambda: self._fetcher.take_records(self._max_poll_records, 0)
        )
        if records and (self._key_deserializer or self._value_deserializer):
            records = [self._deserialized(record) for record in records]
        return self._interceptors.on_consume(records) if self._interceptors and records else records

    def poll_columns(
        self, timeout_ms: float = 0.0, *, max_records: int | None = None, include_headers: bool = False
    ) -> RecordColumns:
        """Return the next records as NumPy columns, without an object per record. No rows if none arrived in time."""
        return self._poll(
            timeout_ms, lambda: self._fetcher.take_columns(max_records, 0, include_headers=include_headers)
        )

    def poll_arrow(
        self, timeout_ms: float = 0.0, *, max_records: int | None = None, include_headers: bool = False
    ) -> RecordColumns:
        """Return the next records for Arrow. `pyarrow.table(...)`, polars and others read the C data interface."""
        return self._poll(timeout_ms, lambda: self._fetcher.take_arrow(max_records, 0, include_headers=include_headers))

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """Yield records as they arrive, endlessly."""
        while not self._is_closed:
            yield from self.poll(ITERATION_MS)

    def _poll(self, timeout_ms: float, take: Callable[[], Value]) -> Value:
        self._enter()
        try:
            if self._subscriptions.type is SubscriptionType.NONE:
                raise IllegalState("Consumer is not subscribed to any topics or assigned any partitions")
            deadline_ms = now_ms() + timeout_ms
            self._want_positions()
            while True:
                self._engine.raise_if_interrupted()
                self._attend()
                with self._network.lock:
                    found = take()
                if len(found):  # type: ignore[arg-type]
                    return found
                remaining_ms = deadline_ms - now_ms()
                if remaining_ms <= 0.0:
                    return found
                self._fetcher.wakeup.wait_for(self._until_something_is_due(remaining_ms))
        finally:
            self._leave()

    def _want_positions(self) -> None:
        if not self._positions.is_wanted:
            with self._network.lock:
                self._positions.is_wanted = True
            self._network.wake()

    def _until_something_is_due(self, remaining_ms: float) -> float:
        if not self._commits.is_automatic:
            return remaining_ms
        return float(max(0.0, min(remaining_ms, self._commits.due_ms - now_ms())))

    def _attend(self) -> None:
        """Raise pending errors, run due callbacks and begin due automatic commits."""
        membership = self._membership
        now = now_ms()
        if membership is not None and self._subscriptions.is_auto_assigned:
            with self._network.lock:
                was_out = membership.is_out
                membership.polled(now)
                error = membership.take_error()
            if was_out:
                self._network.wake()
            if error is not None:
                self._engine.errors.insert(0, error)
        self._engine.raise_errors()
        self._commits.run_callbacks()
        self._run_callbacks()
        self._commits.begin_if_due()

    def _deserialized(self, record: ConsumerRecord) -> ConsumerRecord:
        key, value = record.key, record.value
        if key is not None and self._key_deserializer is not None:
            key = self._key_deserializer(record.topic, key)
        if value is not None and self._value_deserializer is not None:
            value = self._value_deserializer(record.topic, value)
        return record.with_contents(key, value)

    # Rebalances

    def _run_callbacks(self) -> None:
        membership = self._membership
        while membership is not None and membership.has_callbacks:
            with self._network.lock:
                self._fetches.pull()
                callback = membership.next_callback()
                self._fetches.push()
            if callback is None:
                return
            try:
                self._call_listener(callback)
            finally:
                with self._network.lock:
                    membership.callback_done(callback, now_ms())
                    self._fetches.push()
                self._network.wake()

    def _call_listener(self, callback: RebalanceCallback, deadline_ms: float = NEVER_MS) -> None:
        if callback.kind in (CallbackKind.PREPARE, CallbackKind.REVOKED) and self._commits.is_automatic:
            self._commits.commit_before_rebalance(deadline_ms)
        listener = self._listener
        if listener is None or callback.kind is CallbackKind.PREPARE:
            return
        user, self._user = self._user, None
        try:
            if callback.kind is CallbackKind.ASSIGNED:
                listener.on_partitions_assigned(callback.partitions)
            elif callback.kind is CallbackKind.REVOKED:
                listener.on_partitions_revoked(callback.partitions)
            else:
                listener.on_partitions_lost(callback.partitions)
        finally:
            self._user = user

    def enforce_rebalance(self, reason: str = "rebalance enforced by user") -> None:
        """Make the group rebalance with the next `poll` (KIP-568). No effect with the consumer protocol."""
        if self._membership is None:
            raise IllegalState(NEEDS_GROUP)
        if isinstance(self._membership, ConsumerCoordinator):
            with self._network.lock:
                self._membership.request_rejoin(reason)
            self._network.wake()

    def group_metadata(self) -> GroupMetadata:
        """Return this member's current identity, for `Producer.send_offsets_to_transaction`."""
        if self._membership is None:
            raise IllegalState(NEEDS_GROUP)
        with self._network.lock:
            return self._membership.group_metadata

    # Pausing and seeking

    def pause(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        """Stop returning records of these partitions until `resume`. Records already fetched are kept."""
        self._change(lambda: self._subscriptions.pause([TopicPartition(*p) for p in partitions]))

    def resume(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        self._change(lambda: self._subscriptions.resume([TopicPartition(*p) for p in partitions]))

    @property
    def paused(self) -> list[TopicPartition]:
        with self._network.lock:
            return self._subscriptions.paused

    def _change(self, act: Callable[[], None]) -> None:
        self._enter()
        try:
            with self._network.lock:
                self._fetches.pull()
                act()
                self._fetches.push()
            self._network.wake()
        finally:
            self._leave()

    def seek(self, partition: TopicPartition | tuple[str, int], offset: int | OffsetAndMetadata) -> None:
        """Move an assigned partition. The next record read is the first one at or after `offset`."""
        found = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
        if found.offset < 0:
            raise InvalidSetting(f"seek offset must not be a negative number: {found.offset}")
        where = TopicPartition(*partition)

        def act() -> None:
            leader = self._metadata.leader(where)
            self._subscriptions.seek(where, FetchPosition(found.offset, found.leader_epoch, leader))

        self._change(act)

    def seek_to_beginning(self, partitions: Iterable[TopicPartition | tuple[str, int]] = ()) -> None:
        """Move to the first records at the next `poll` or `position`. Default: all assigned partitions."""
        self._seek_by_reset(partitions, TO_EARLIEST)

    def seek_to_end(self, partitions: Iterable[TopicPartition | tuple[str, int]] = ()) -> None:
        self._seek_by_reset(partitions, TO_LATEST)

    def _seek_by_reset(self, partitions: Iterable[TopicPartition | tuple[str, int]], strategy: Any) -> None:
        wanted = [TopicPartition(*partition) for partition in partitions]

        def act() -> None:
            for partition in wanted or self._subscriptions.assigned:
                self._subscriptions.request_reset(partition, strategy)

        self._change(act)

    def seek_to_time(
        self,
        timestamp_ms: int,
        partitions: Iterable[TopicPartition | tuple[str, int]] = (),
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """Move to the first record at or after a time in each partition, or to the end if there is none."""
        wanted = [TopicPartition(*partition) for partition in partitions] or self.assignment
        found = self.offsets_for_times(dict.fromkeys(wanted, timestamp_ms), timeout_ms=timeout_ms)
        without = [partition for partition in wanted if found.get(partition) is None]
        for partition, where in found.items():
            if where is not None:
                self.seek(partition, OffsetAndMetadata(where.offset))
        if without:
            self.seek_to_end(without)

    def position(self, partition: TopicPartition | tuple[str, int], *, timeout_ms: float | None = None) -> int:
        """Return the offset of the next record that `poll` returns from this partition."""
        where = TopicPartition(*partition)
        deadline_ms = self._deadline(timeout_ms)
        self._enter()
        try:
            self._want_positions()
            while True:
                with self._network.lock:
                    self._fetches.pull()
                    found = self._subscriptions.position(where)
                if found is not None:
                    return found.offset
                self._engine.raise_errors()
                if now_ms() >= deadline_ms:
                    raise ClientTimeout(
                        f"the position of {where} is not known in time. Check the brokers, or raise the timeout"
                    )
                self._network.wake()
                self._engine.wait_for_change(deadline_ms - now_ms())
        finally:
            self._leave()

    def current_lag(self, partition: TopicPartition | tuple[str, int]) -> int | None:
        """Return the offsets between the position and the end in the last fetch response (KIP-695).

        Returns None before the first response.
        """
        where = TopicPartition(*partition)
        with self._network.lock:
            _, high_watermark, stable = self._fetcher.watermarks().get(where, (-1, -1, -1))
            end = stable if self.config["isolation.level"] == "read_committed" else high_watermark
            self._fetches.pull()
            position = self._subscriptions.position(where)
        return None if end < 0 or position is None else max(0, end - position.offset)

    # Committing

    def commit(
        self,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """Commit and wait. Default: the current positions. `offsets` are those of the next records to read.

        Raises CommitFailed if the group has removed this member, and RebalanceInProgress during a rebalance.
        """
        self._enter()
        try:
            deadline_ms = self._deadline(timeout_ms)
            with self._network.lock:
                committed, outcome = self._commits.begin(_as_offsets(offsets), deadline_ms)
            self._engine.wait(outcome, deadline_ms)
            self._interceptors.on_commit(committed)
            self._commits.run_callbacks()
        finally:
            self._leave()

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None,
        callback: OnCommit | None = None,
    ) -> None:
        """Commit without waiting and without retries. A later call of the consumer runs `callback(offsets, error)`."""
        self._enter()
        try:
            with self._network.lock:
                committed, outcome = self._commits.begin(_as_offsets(offsets), None)
                outcome.on_done(lambda done: self._commits.note(callback, committed, done.error))
            self._network.wake()
        finally:
            self._leave()

    def committed(
        self, partitions: Iterable[TopicPartition | tuple[str, int]], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the group's committed offset of each partition; None if there is none."""
        commits = self._engine.commits
        if commits is None:
            raise IllegalState(NEEDS_GROUP)
        deadline_ms = self._deadline(timeout_ms)
        self._enter()
        try:
            with self._network.lock:
                outcome = commits.fetch([TopicPartition(*p) for p in partitions], deadline_ms)
            found: dict[TopicPartition, OffsetAndMetadata | None] = self._engine.wait(outcome, deadline_ms)
            return found
        finally:
            self._leave()

    # Offsets and partitions

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record at or after a time in milliseconds, per partition; None if there is none (KIP-79)."""
        if any(timestamp < 0 for timestamp in timestamps.values()):
            raise InvalidSetting("a timestamp must not be negative. Pass milliseconds since 1970")
        return self._offsets_at(timestamps, timeout_ms)

    def beginning_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the first offset of each partition."""
        found = self._offsets_at(dict.fromkeys(partitions, EARLIEST_TIMESTAMP), timeout_ms)
        return {partition: where.offset for partition, where in found.items() if where is not None}

    def end_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset after the last readable record of each partition."""
        found = self._offsets_at(dict.fromkeys(partitions, LATEST_TIMESTAMP), timeout_ms)
        return {partition: where.offset for partition, where in found.items() if where is not None}

    def _offsets_at(
        self, targets: Mapping[TopicPartition, int], timeout_ms: float | None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        deadline_ms = self._deadline(timeout_ms)
        wanted = {TopicPartition(*partition): timestamp for partition, timestamp in targets.items()}
        self._enter()
        try:
            with self._network.lock:
                outcome = self._engine.offsets.offsets_for_times(wanted, deadline_ms)
            found: dict[TopicPartition, OffsetAndTimestamp | None] = self._engine.wait(outcome, deadline_ms)
            return found
        finally:
            self._leave()

    def connection_states(self) -> list[ConnectionState]:
        """Return the state of each connection. Any thread may call this."""
        from kcore.client.network.connection_state import connection_states

        return connection_states(self._engine.client)

    def partitions_for(self, topic: str, *, timeout_ms: float | None = None) -> list[TopicPartition]:
        """Return the partitions of a topic; an empty list if it does not exist and the broker does not create it."""
        deadline_ms = self._deadline(timeout_ms)
        self._enter()
        try:
            with self._network.lock:
                self._metadata.add([topic])
            self._network.wake()
            while not self._metadata.knows([topic]):
                if now_ms() >= deadline_ms:
                    raise ClientTimeout(f"topic {topic}: no metadata in time. Check the brokers, or raise the timeout")
                self._engine.wait_for_change(deadline_ms - now_ms())
            with self._network.lock:
                found = self._metadata.topic(topic)
                self._metadata.forget([topic])
            return [TopicPartition(topic, info.partition) for info in found.partitions] if found is not None else []
        finally:
            self._leave()

    # Closing

    def close(self, timeout_ms: float = CLOSE_MS) -> None:
        """Commit if commits are automatic, leave the group and close the connections, within `timeout_ms`."""
        if self._is_closed:
            return
        self._enter()
        deadline_ms = now_ms() + timeout_ms
        try:
            if self._subscriptions.is_auto_assigned:
                self._give_up("the consumer is being closed", is_closing=True, deadline_ms=deadline_ms)
            elif self._commits.is_automatic:
                self._commits.commit_before_rebalance(deadline_ms)
            self._finish(deadline_ms)
        finally:
            self._is_closed = True
            self._user = None
            self._engine.close()
            self._commits.run_callbacks()
            self._interceptors.close()

    def _finish(self, deadline_ms: float) -> None:
        """Wait for the responses to commits and to the request that leaves the group."""
        commits = self._engine.commits
        self._network.wake()
        while now_ms() < deadline_ms and self._network.failure is None:
            with self._network.lock:
                has_commits = commits is not None and commits.has_unanswered
                is_leaving = self._membership is not None and self._membership.is_leaving
            if not has_commits and not is_leaving:
                return
            self._engine.changed.wait_for(min(deadline_ms - now_ms(), 100.0))

    def __enter__(self) -> Consumer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """Close the consumer. After an error it does not commit, because records may not have been processed."""
        if kind is not None and not issubclass(kind, (KeyboardInterrupt, GeneratorExit)):
            self._commits.is_automatic = False
        self.close()


def _as_offsets(offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None) -> Committed | None:
    if offsets is None:
        return None
    return {
        TopicPartition(*partition): where if isinstance(where, OffsetAndMetadata) else OffsetAndMetadata(where)
        for partition, where in offsets.items()
    }
