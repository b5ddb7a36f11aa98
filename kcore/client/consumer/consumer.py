"""Consumer: reads topics, alone or as a member of a group. Kafka's consumer in Python's clothes.

    with Consumer({"bootstrap.servers": "localhost:9092", "group.id": "billing"}) as consumer:
        consumer.subscribe(["orders"])
        for record in consumer:
            ...

One application thread uses a consumer (`wakeup` alone may be called from any); it does no I/O. Beside it a network
thread fetches ahead without the GIL, and a background thread keeps the membership, metadata and commits going, so that
heartbeats do not wait for the application; `poll` has to be called every `max.poll.interval.ms` all the same. Times are
milliseconds. Callbacks of a rebalance and of commits run within the calls of the application's thread.
Facts: KafkaConsumer of Kafka 4.
"""

from __future__ import annotations

import re
import threading
import time

from kcore.client.clock import now_ms
from kcore.client.config.auto_offset_reset import reset_strategy
from kcore.client.config.client_config import ConsumerConfig
from kcore.client.consumer.broker_request import NEVER_MS, Backoff
from kcore.client.consumer.consumer_coordinator import ConsumerCoordinator
from kcore.client.consumer.consumer_errors import IllegalState, Woken
from kcore.client.consumer.consumer_membership import ConsumerMembership
from kcore.client.consumer.consumer_metadata import ConsumerMetadata
from kcore.client.consumer.consumer_network import ConsumerNetwork
from kcore.client.consumer.coordinator_lookup import CoordinatorLookup
from kcore.client.consumer.deserializers import deserializer_of
from kcore.client.consumer.fetch_assignment import FetchAssignment
from kcore.client.consumer.fetch_settings import FetchSettings
from kcore.client.consumer.fetcher import Fetcher
from kcore.client.consumer.group_settings import GroupMetadata, GroupSettings
from kcore.client.consumer.initial_positions import InitialPositions
from kcore.client.consumer.interceptors import ConsumerInterceptors
from kcore.client.consumer.offset_commits import OffsetCommits
from kcore.client.consumer.offset_fetcher import OffsetFetcher
from kcore.client.consumer.offset_reset import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, NO_RESET, TO_EARLIEST, TO_LATEST
from kcore.client.consumer.positions import FetchPosition, OffsetAndMetadata, OffsetAndTimestamp
from kcore.client.consumer.rebalance_callback import CallbackKind, RebalanceCallback, RebalanceListener
from kcore.client.consumer.subscription_state import SubscriptionState, SubscriptionType
from kcore.client.errors import ClientError, ClientTimeout, InvalidSetting
from kcore.client.metadata.cluster import TopicPartition
from kcore.client.metadata.metadata import Metadata, MetadataSettings
from kcore.client.network.network_settings import network_of
from kcore.client.network.network_thread import NetworkThread
from kcore.client.network.wakeup import Wakeup
from kcore.errors import KafkaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, TypeVar

    from kcore.client.consumer.consumer_record import ConsumerRecord
    from kcore.client.consumer.group_member import GroupMember
    from kcore.client.consumer.outcome import Outcome
    from kcore.client.consumer.record_columns import RecordColumns
    from kcore.client.network.connection_state import ConnectionState

    Value = TypeVar("Value")
    Committed = Mapping[TopicPartition, OffsetAndMetadata]
    OnCommit = Callable[[Committed, Exception | None], None]

CONSUMER_PROTOCOL = "consumer"
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
NEEDS_GROUP = "To use the group management or offset commit APIs, you must provide a valid group.id"
CLOSE_MS = 30_000.0
ITERATION_MS = 1_000.0


class SubscriptionPattern(str):
    """A regular expression in RE2's syntax that the broker matches (KIP-848); only with group.protocol=consumer."""

    __slots__ = ()


def _fetch_settings(config: ConsumerConfig, isolation_level: int) -> FetchSettings:
    return FetchSettings(
        client_id=config["client.id"],
        client_rack=config["client.rack"],
        fetch_min_bytes=config["fetch.min.bytes"],
        fetch_max_wait_ms=config["fetch.max.wait.ms"],
        fetch_max_bytes=config["fetch.max.bytes"],
        max_partition_fetch_bytes=config["max.partition.fetch.bytes"],
        isolation_level=isolation_level,
        check_crcs=config["check.crcs"],
        request_timeout_ms=config["request.timeout.ms"],
        retry_backoff_ms=config["retry.backoff.ms"],
        retry_backoff_max_ms=config["retry.backoff.max.ms"],
        kcli_fetch_buffer_bytes=config["kcli.fetch.buffer.bytes"],
        kcli_fetch_decompressed_max_bytes=config["kcli.fetch.decompressed.max.bytes"],
    )


def _group_settings(config: ConsumerConfig) -> GroupSettings:
    return GroupSettings(
        config["group.id"],
        instance_id=config["group.instance.id"],
        rack=config["client.rack"],
        session_timeout_ms=config["session.timeout.ms"],
        heartbeat_interval_ms=config["heartbeat.interval.ms"],
        rebalance_timeout_ms=config["max.poll.interval.ms"],
        request_timeout_ms=config["request.timeout.ms"],
        retry_backoff_ms=config["retry.backoff.ms"],
        retry_backoff_max_ms=config["retry.backoff.max.ms"],
        remote_assignor=config["group.remote.assignor"],
    )


class Consumer:
    """Takes Kafka's configurations by their dotted names, or as keywords: `Consumer(bootstrap_servers=...)`."""

    def __init__(self, config: ConsumerConfig | Mapping[str, Any] | None = None, **keywords: Any) -> None:
        """ConfigException for a configuration that cannot be; nothing is connected to yet."""
        self.config = config = ConsumerConfig.of(config, keywords)
        isolation_level = READ_COMMITTED if config["isolation.level"] == "read_committed" else READ_UNCOMMITTED
        self._interceptors = ConsumerInterceptors(config.objects("interceptor.classes"))
        self._key_deserializer = deserializer_of("key.deserializer", config["key.deserializer"])
        self._value_deserializer = deserializer_of("value.deserializer", config["value.deserializer"])
        self._api_timeout_ms = float(config["default.api.timeout.ms"])
        self._max_poll_records: int = config["max.poll.records"]
        is_consumer_protocol = config["group.protocol"] == CONSUMER_PROTOCOL
        self._subscriptions = SubscriptionState(reset_strategy(config["auto.offset.reset"]) or NO_RESET)
        self._metadata = self._make_metadata(needs_topic_ids=is_consumer_protocol)
        self._offsets = OffsetFetcher(
            self._subscriptions,
            self._metadata,
            self._backoff(),
            lambda: int(time.time() * 1000),
            isolation_level=isolation_level,
            request_timeout_ms=config["request.timeout.ms"],
        )
        self._membership: GroupMember | None = None
        self._commits: OffsetCommits | None = None
        self._lookup: CoordinatorLookup | None = None
        if config["group.id"] is not None:
            self._make_group(_group_settings(config), is_consumer_protocol)
        self._client = client = network_of(config)
        self._thread = NetworkThread(client)
        self._fetcher = Fetcher(client, _fetch_settings(config, isolation_level))
        self._positions = InitialPositions(self._subscriptions, self._metadata, self._commits, self._api_timeout_ms)
        machines = (self._membership, self._positions, self._commits)
        coordinated: list[Any] = [machine for machine in machines if machine is not None]
        self._network = ConsumerNetwork(client, config["client.id"], config["request.timeout.ms"], coordinated)
        self._fetches = FetchAssignment(
            self._fetcher, self._subscriptions, self._metadata, self._network.slot, config["metadata.max.age.ms"]
        )
        self._metadata.on_recreated = self._fetches.forget_topic_ids
        self._listener: RebalanceListener | None = None
        self._is_auto_committing: bool = config["enable.auto.commit"]
        self._next_commit_ms = now_ms() + config["auto.commit.interval.ms"]
        self._committed_in_background: list[tuple[OnCommit | None, Committed, Exception | None]] = []
        self._errors: list[Exception] = []
        self._changed = Wakeup()
        self._is_woken = False
        self._is_closed = False
        self._user: int | None = None
        self._start()

    def _backoff(self) -> Backoff:
        return Backoff(self.config["retry.backoff.ms"], self.config["retry.backoff.max.ms"])

    def _make_metadata(self, *, needs_topic_ids: bool) -> ConsumerMetadata:
        from random import Random

        config = self.config
        return ConsumerMetadata(
            # Not the module's own generator, whose sequence belongs to the application.
            Metadata(MetadataSettings.of(config), Random().random),
            self._subscriptions,
            exclude_internal_topics=config["exclude.internal.topics"],
            needs_topic_ids=needs_topic_ids,
        )

    def _make_group(self, settings: GroupSettings, is_consumer_protocol: bool) -> None:
        self._lookup = CoordinatorLookup(settings.group_id, self._backoff())
        parts = (settings, self._subscriptions, self._metadata, self._lookup)
        if is_consumer_protocol:
            self._membership = ConsumerMembership(*parts)
        else:
            from kcore.client.consumer.assignors import chosen

            strategies = chosen(self.config.objects("partition.assignment.strategy"))
            self._membership = ConsumerCoordinator(*parts, strategies)
        self._commits = OffsetCommits(settings, self._lookup, has_member_epochs=is_consumer_protocol)

    # The background thread

    def _start(self) -> None:
        self._fetcher.start()
        self._thread.start()
        self._fetcher.wake_by(self._network.replies.descriptor)
        wake_times: list[Callable[[float], float]] = [
            self._metadata.wake_ms,
            lambda now: self._offsets.wake_ms(),
        ]
        plain: list[Any] = [self._metadata, self._offsets]
        if self._lookup is not None and self._membership is not None and self._commits is not None:
            lookup, membership, commits = self._lookup, self._membership, self._commits
            plain.insert(0, lookup)
            wake_times += [
                lambda now: lookup.wake_ms(),
                lambda now: membership.wake_ms(),
                lambda now: commits.wake_ms(),
            ]
        self._network.drive(self._before_round, plain, wake_times, self._after_round, self._wake_application)

    def _before_round(self, now: float) -> None:
        """Under the lock: the machines see how far the reader has come, and what the fetcher has met."""
        self._fetches.pull()
        self._fetches.take_events()

    def _after_round(self, now: float) -> None:
        """Under the lock: what the machines have decided reaches the fetcher, and the application."""
        self._fetches.push()
        for source in (self._offsets, self._fetches, self._lookup):
            if source is not None and source.error is not None:
                self._errors.append(source.error)
                source.error = None
        error = self._metadata.take_error()
        if error is not None:
            self._errors.append(error)
        self._changed.notify()
        if self._needs_application:
            self._fetcher.wake()

    def _wake_application(self) -> None:
        self._changed.notify()
        self._fetcher.wake()

    @property
    def _needs_application(self) -> bool:
        membership = self._membership
        has_news = membership is not None and (membership.has_callbacks or membership.error is not None)
        return has_news or self._subscriptions.has_failure or bool(self._errors or self._committed_in_background)

    # The application's thread

    def _enter(self) -> None:
        if self._is_closed:
            raise IllegalState("This consumer has already been closed.")
        thread = threading.get_ident()
        if self._user is not None and self._user != thread:
            raise IllegalState("KafkaConsumer is not safe for multi-threaded access: another thread is in a call")
        self._user = thread

    def _leave(self) -> None:
        self._user = None

    def _wait(self, outcome: Outcome[Value], deadline_ms: float) -> Value:
        """What comes of it; signals and `wakeup` end the wait."""
        self._network.wake()
        while not outcome.is_done:
            remaining_ms = deadline_ms - now_ms()
            if remaining_ms <= 0.0:
                raise ClientTimeout("the time given is over: the cluster has not answered")
            self._wait_for_change(remaining_ms)
        with self._network.lock:
            return outcome.take()

    def _deadline(self, timeout_ms: float | None) -> float:
        return now_ms() + (self._api_timeout_ms if timeout_ms is None else timeout_ms)

    def _wait_for_change(self, timeout_ms: float) -> None:
        self._raise_if_interrupted()
        self._changed.wait_for(timeout_ms)
        self._raise_if_interrupted()

    def _raise_if_interrupted(self) -> None:
        """What ends a wait, whatever is waited for."""
        failure = self._network.failure
        if failure is not None:
            raise ClientError(f"the consumer's background thread has ended: {failure!r}") from failure
        if self._is_woken:
            self._is_woken = False
            raise Woken("wakeup() was called")

    def wakeup(self) -> None:
        """Ends the present call of another thread, or its next one that waits, with Woken."""
        self._is_woken = True
        self._wake_application()

    def forget_wakeup(self) -> None:
        """Takes a `wakeup` back that has ended no call yet."""
        self._is_woken = False

    # What to read

    def subscribe(
        self,
        topics: Iterable[str] | re.Pattern[str] | SubscriptionPattern,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Reads the partitions of these topics that the group gives this member, from the next `poll` on.

        Topics by name; by a pattern, which has to match as a whole, new topics too as they come; or, with the consumer
        protocol, by a SubscriptionPattern, which the broker matches. No topics: `unsubscribe`.
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
                assert self._commits is not None
                self._commits.membership = self._membership
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
                raise IllegalState("a SubscriptionPattern needs group.protocol=consumer; re.compile makes one for here")
            self._subscriptions.subscribe_broker_pattern(str(topics))
        else:
            assert names is not None
            if isinstance(topics, str) or not all(isinstance(name, str) and name.strip() for name in names):
                raise InvalidSetting(f"{topics!r}: a list of topic names is needed, none of them empty")
            self._subscriptions.subscribe(names)

    def assign(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        """Reads these partitions and no others, without a membership; from what is committed, or where a reset says."""
        wanted = [TopicPartition(*partition) for partition in partitions]
        if not wanted:
            self.unsubscribe()
            return
        self._enter()
        try:
            with self._network.lock:
                self._auto_commit(None)
                self._subscriptions.assign(wanted)
                self._positions.is_wanted = False
                self._fetches.push()
            self._network.wake()
        finally:
            self._leave()

    def unsubscribe(self) -> None:
        """Gives up what is assigned, and leaves the group."""
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
                    assert self._commits is not None
                    self._commits.membership = None
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
        """The next records, at most `max.poll.records`; none if none came within the time."""
        records: list[ConsumerRecord] = self._poll(
            timeout_ms, lambda: self._fetcher.take_records(self._max_poll_records, 0)
        )
        if records and (self._key_deserializer or self._value_deserializer):
            records = [self._deserialized(record) for record in records]
        return self._interceptors.on_consume(records) if self._interceptors and records else records

    def poll_columns(
        self, timeout_ms: float = 0.0, *, max_records: int | None = None, include_headers: bool = False
    ) -> RecordColumns:
        """The next records as NumPy columns, without an object each; of no rows if none came within the time."""
        return self._poll(
            timeout_ms, lambda: self._fetcher.take_columns(max_records, 0, include_headers=include_headers)
        )

    def poll_arrow(
        self, timeout_ms: float = 0.0, *, max_records: int | None = None, include_headers: bool = False
    ) -> RecordColumns:
        """The same for Arrow: `pyarrow.table(...)`, polars and others take it by its C data interface."""
        return self._poll(timeout_ms, lambda: self._fetcher.take_arrow(max_records, 0, include_headers=include_headers))

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """Records as they come, for ever."""
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
                self._raise_if_interrupted()
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
        if not self._is_auto_committing:
            return remaining_ms
        return float(max(0.0, min(remaining_ms, self._next_commit_ms - now_ms())))

    def _attend(self) -> None:
        """What the application's thread owes to the rest: errors, callbacks, commits that are due."""
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
                self._errors.insert(0, error)
        self._raise_errors()
        self._run_commit_callbacks()
        self._run_callbacks()
        if self._is_auto_committing and now_ms() >= self._next_commit_ms:
            with self._network.lock:
                self._auto_commit(None)

    def _raise_errors(self) -> None:
        if not self._errors and not self._subscriptions.has_failure:
            return
        with self._network.lock:
            error = self._errors.pop(0) if self._errors else self._subscriptions.take_failure()
            if error is None:
                return
            # What the application does about it comes before the next attempt.
            self._positions.is_wanted = False
        raise error

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
        if callback.kind in (CallbackKind.PREPARE, CallbackKind.REVOKED) and self._is_auto_committing:
            self._commit_before_it_is_too_late(deadline_ms)
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

    def _commit_before_it_is_too_late(self, deadline_ms: float) -> None:
        """Best effort: a member that was thrown out may not commit, and others then read some records again."""
        limit_ms = min(self.config["max.poll.interval.ms"], self._api_timeout_ms)
        deadline_ms = min(deadline_ms, now_ms() + limit_ms)
        with self._network.lock:
            outcome = self._auto_commit(deadline_ms)
        if outcome is not None:
            try:
                self._wait(outcome, deadline_ms)
            except (ClientError, KafkaError) as error:
                self._warn("the offsets could not be committed before a rebalance: %s", error)

    def enforce_rebalance(self, reason: str = "rebalance enforced by user") -> None:
        """Has the group rebalance with the next `poll` (KIP-568); the consumer protocol has no need of it."""
        if self._membership is None:
            raise IllegalState(NEEDS_GROUP)
        if isinstance(self._membership, ConsumerCoordinator):
            with self._network.lock:
                self._membership.request_rejoin(reason)
            self._network.wake()

    def group_metadata(self) -> GroupMetadata:
        """This member at this moment, for `Producer.send_offsets_to_transaction`."""
        if self._membership is None:
            raise IllegalState(NEEDS_GROUP)
        with self._network.lock:
            return self._membership.group_metadata

    # Pausing and seeking

    def pause(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        """Reads nothing of these until `resume`; what was fetched ahead is kept."""
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
        """The next record read of an assigned partition is the one at `offset`, or the first one after it."""
        found = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
        if found.offset < 0:
            raise InvalidSetting("seek offset must not be a negative number")
        where = TopicPartition(*partition)

        def act() -> None:
            leader = self._metadata.leader(where)
            self._subscriptions.seek(where, FetchPosition(found.offset, found.leader_epoch, leader))

        self._change(act)

    def seek_to_beginning(self, partitions: Iterable[TopicPartition | tuple[str, int]] = ()) -> None:
        """All that are assigned, without arguments; carried out with the next `poll` or `position`."""
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
        """The first record at or after a time, in each partition; the end where there is none."""
        wanted = [TopicPartition(*partition) for partition in partitions] or self.assignment
        found = self.offsets_for_times(dict.fromkeys(wanted, timestamp_ms), timeout_ms=timeout_ms)
        without = [partition for partition in wanted if found.get(partition) is None]
        for partition, where in found.items():
            if where is not None:
                self.seek(partition, OffsetAndMetadata(where.offset))
        if without:
            self.seek_to_end(without)

    def position(self, partition: TopicPartition | tuple[str, int], *, timeout_ms: float | None = None) -> int:
        """The offset of the next record that `poll` returns of this partition."""
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
                self._raise_errors()
                if now_ms() >= deadline_ms:
                    raise ClientTimeout(f"the position of {where} could not be determined in time")
                self._network.wake()
                self._wait_for_change(deadline_ms - now_ms())
        finally:
            self._leave()

    def current_lag(self, partition: TopicPartition | tuple[str, int]) -> int | None:
        """How many offsets the end is away, as far as fetches have told; None before the first has (KIP-695)."""
        where = TopicPartition(*partition)
        with self._network.lock:
            _, high_watermark, stable = self._fetcher.watermarks().get(where, (-1, -1, -1))
            end = stable if self.config["isolation.level"] == "read_committed" else high_watermark
            self._fetches.pull()
            position = self._subscriptions.position(where)
        return None if end < 0 or position is None else max(0, end - position.offset)

    # Committing

    def _offsets_to_commit(self) -> dict[TopicPartition, OffsetAndMetadata]:
        self._fetches.pull()
        return self._subscriptions.all_consumed

    def _begin_commit(self, offsets: Committed | None, deadline_ms: float | None) -> tuple[Committed, Outcome[None]]:
        """Under the lock."""
        if self._commits is None:
            raise IllegalState(NEEDS_GROUP)
        wanted = self._offsets_to_commit() if offsets is None else offsets
        if any(where.offset < 0 for where in wanted.values()):
            raise InvalidSetting("Invalid negative offset: there is nothing before 0 to commit")
        return wanted, self._commits.commit(wanted, deadline_ms)

    def commit(
        self,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """Commits, and waits for it: where reading stands, or the given offsets, each that of the next record to read.

        CommitFailed when the group has gone on without this member, RebalanceInProgress while it rebalances.
        """
        self._enter()
        try:
            deadline_ms = self._deadline(timeout_ms)
            with self._network.lock:
                committed, outcome = self._begin_commit(_as_offsets(offsets), deadline_ms)
            self._wait(outcome, deadline_ms)
            self._interceptors.on_commit(committed)
            self._run_commit_callbacks()
        finally:
            self._leave()

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None,
        callback: OnCommit | None = None,
    ) -> None:
        """Commits without waiting, and once; a later `poll` or `commit` calls `callback(offsets, error)`."""
        self._enter()
        try:
            with self._network.lock:
                committed, outcome = self._begin_commit(_as_offsets(offsets), None)
                outcome.on_done(lambda done: self._note_commit(callback, committed, done.error))
            self._network.wake()
        finally:
            self._leave()

    def _note_commit(self, callback: OnCommit | None, offsets: Committed, error: Exception | None) -> None:
        self._committed_in_background.append((callback, offsets, error))

    def _run_commit_callbacks(self) -> None:
        while self._committed_in_background:
            callback, offsets, error = self._committed_in_background.pop(0)
            if error is None:
                self._interceptors.on_commit(offsets)
            if callback is not None:
                callback(offsets, error)

    def _auto_commit(self, deadline_ms: float | None) -> Outcome[None] | None:
        """Under the lock: commits where reading stands, if that is automatic and there is somebody to commit to."""
        if not self._is_auto_committing or self._commits is None:
            return None
        self._next_commit_ms = now_ms() + self.config["auto.commit.interval.ms"]
        membership = self._commits.membership
        if membership is not None and not membership.can_commit:
            return None
        offsets, outcome = self._begin_commit(None, deadline_ms)
        if deadline_ms is None:
            outcome.on_done(lambda done: self._note_auto_commit(offsets, done.error))
        self._network.wake()
        return outcome

    def _note_auto_commit(self, offsets: Committed, error: Exception | None) -> None:
        if error is None:
            self._note_commit(None, offsets, None)
        else:
            self._warn("the offsets could not be committed, and will be with the next commit: %s", error)

    def committed(
        self, partitions: Iterable[TopicPartition | tuple[str, int]], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed for each partition; None where it has not."""
        if self._commits is None:
            raise IllegalState(NEEDS_GROUP)
        deadline_ms = self._deadline(timeout_ms)
        self._enter()
        try:
            with self._network.lock:
                outcome = self._commits.fetch([TopicPartition(*p) for p in partitions], deadline_ms)
            found: dict[TopicPartition, OffsetAndMetadata | None] = self._wait(outcome, deadline_ms)
            return found
        finally:
            self._leave()

    # Where things are

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """For each partition the first record at or after a time in milliseconds; None where there is none (KIP-79)."""
        if any(timestamp < 0 for timestamp in timestamps.values()):
            raise InvalidSetting("a time is milliseconds since 1970, and not negative")
        return self._offsets_at(timestamps, timeout_ms)

    def beginning_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        found = self._offsets_at(dict.fromkeys(partitions, EARLIEST_TIMESTAMP), timeout_ms)
        return {partition: where.offset for partition, where in found.items() if where is not None}

    def end_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset after the last readable record of each partition."""
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
                outcome = self._offsets.offsets_for_times(wanted, deadline_ms)
            found: dict[TopicPartition, OffsetAndTimestamp | None] = self._wait(outcome, deadline_ms)
            return found
        finally:
            self._leave()

    def connection_states(self) -> list[ConnectionState]:
        """The state of each connection, from any thread."""
        from kcore.client.network.connection_state import connection_states

        return connection_states(self._client)

    def partitions_for(self, topic: str, *, timeout_ms: float | None = None) -> list[TopicPartition]:
        """The partitions of a topic; none of one that is not there, unless the broker makes it."""
        deadline_ms = self._deadline(timeout_ms)
        self._enter()
        try:
            with self._network.lock:
                self._metadata.add([topic])
            self._network.wake()
            while not self._metadata.knows([topic]):
                if now_ms() >= deadline_ms:
                    raise ClientTimeout(f"topic {topic}: the cluster has not described it in time")
                self._wait_for_change(deadline_ms - now_ms())
            with self._network.lock:
                found = self._metadata.topic(topic)
                self._metadata.forget([topic])
            return [TopicPartition(topic, info.partition) for info in found.partitions] if found is not None else []
        finally:
            self._leave()

    # The end

    def close(self, timeout_ms: float = CLOSE_MS) -> None:
        """Commits where that is automatic, leaves the group, and lets the connections go; at most so long."""
        if self._is_closed:
            return
        self._enter()
        deadline_ms = now_ms() + timeout_ms
        try:
            if self._subscriptions.is_auto_assigned:
                self._give_up("the consumer is being closed", is_closing=True, deadline_ms=deadline_ms)
            elif self._is_auto_committing:
                self._commit_before_it_is_too_late(deadline_ms)
            self._finish(deadline_ms)
        finally:
            self._is_closed = True
            self._user = None
            self._network.close()
            self._thread.close()
            self._network.take_leavings()
            self._fetcher.let_go()
            self._run_commit_callbacks()
            self._interceptors.close()

    def _finish(self, deadline_ms: float) -> None:
        """Waits for commits and the word of leaving to be answered."""
        self._network.wake()
        while now_ms() < deadline_ms and self._network.failure is None:
            with self._network.lock:
                has_commits = self._commits is not None and self._commits.has_unanswered
                is_leaving = self._membership is not None and self._membership.is_leaving
            if not has_commits and not is_leaving:
                return
            self._changed.wait_for(min(deadline_ms - now_ms(), 100.0))

    def _warn(self, text: str, *arguments: object) -> None:
        from kcore.logger import get_logger

        get_logger("kcore.client.consumer").warn(f"[{self.config['client.id']}] {text}", *arguments)

    def __enter__(self) -> Consumer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """After an error nothing is committed that may not have been worked on."""
        if kind is not None and not issubclass(kind, (KeyboardInterrupt, GeneratorExit)):
            self._is_auto_committing = False
        self.close()


def _as_offsets(offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None) -> Committed | None:
    if offsets is None:
        return None
    return {
        TopicPartition(*partition): where if isinstance(where, OffsetAndMetadata) else OffsetAndMetadata(where)
        for partition, where in offsets.items()
    }
