"""ConsumerEngine: creates the parts of a Consumer, and runs the rounds of its background thread.

    Fetcher (network thread)     fetches ahead, without the GIL
    ConsumerNetwork (background) drives the state machines: metadata, offsets, membership, positions, commits
    application                  waits here for outcomes, and takes errors and commit results of the rounds

Concurrency: the state machines are used under `network.lock` only. `wakeup` may be called from any thread.
"""

from __future__ import annotations

import time

from kcore.client.clock import now_ms
from kcore.client.config.auto_offset_reset import reset_strategy
from kcore.client.consumer.broker_request import Backoff
from kcore.client.consumer.consumer_coordinator import ConsumerCoordinator
from kcore.client.consumer.consumer_errors import Woken
from kcore.client.consumer.consumer_membership import ConsumerMembership
from kcore.client.consumer.consumer_metadata import ConsumerMetadata
from kcore.client.consumer.consumer_network import ConsumerNetwork
from kcore.client.consumer.coordinator_lookup import CoordinatorLookup
from kcore.client.consumer.fetch_assignment import FetchAssignment
from kcore.client.consumer.fetch_settings import FetchSettings
from kcore.client.consumer.fetcher import Fetcher
from kcore.client.consumer.group_settings import GroupSettings
from kcore.client.consumer.initial_positions import InitialPositions
from kcore.client.consumer.offset_commits import OffsetCommits
from kcore.client.consumer.offset_fetcher import OffsetFetcher
from kcore.client.consumer.offset_reset import NO_RESET
from kcore.client.consumer.subscription_state import SubscriptionState
from kcore.client.errors import ClientError, ClientTimeout
from kcore.client.metadata.metadata import Metadata, MetadataSettings
from kcore.client.network.network_settings import network_of
from kcore.client.network.network_thread import NetworkThread
from kcore.client.network.wakeup import Wakeup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from kcore.client.config.client_config import ConsumerConfig
    from kcore.client.consumer.group_member import GroupMember
    from kcore.client.consumer.outcome import Outcome
    from kcore.client.consumer.positions import OffsetAndMetadata
    from kcore.client.metadata.cluster import TopicPartition

    Value = TypeVar("Value")
    Committed = Mapping[TopicPartition, OffsetAndMetadata]
    OnCommit = Callable[[Committed, Exception | None], None]

CONSUMER_PROTOCOL = "consumer"


class ConsumerEngine:
    """The parts of a consumer. Without a group.id there is no membership, no coordinator lookup and no commits."""

    def __init__(self, config: ConsumerConfig) -> None:
        self.config = config
        is_consumer_protocol = config["group.protocol"] == CONSUMER_PROTOCOL
        settings = FetchSettings.of(config)
        self.subscriptions = SubscriptionState(reset_strategy(config["auto.offset.reset"]) or NO_RESET)
        self.metadata = self._make_metadata(needs_topic_ids=is_consumer_protocol)
        self.offsets = OffsetFetcher(
            self.subscriptions,
            self.metadata,
            self._backoff(),
            lambda: int(time.time() * 1000),
            isolation_level=settings.isolation_level,
            request_timeout_ms=config["request.timeout.ms"],
        )
        self.membership: GroupMember | None = None
        self.commits: OffsetCommits | None = None
        self._lookup: CoordinatorLookup | None = None
        if config["group.id"] is not None:
            self._make_group(GroupSettings.of(config), is_consumer_protocol)
        self.client = network_of(config)
        self._thread = NetworkThread(self.client)
        self.fetcher = Fetcher(self.client, settings)
        self.positions = InitialPositions(
            self.subscriptions, self.metadata, self.commits, float(config["default.api.timeout.ms"])
        )
        machines = (self.membership, self.positions, self.commits)
        coordinated: list[Any] = [machine for machine in machines if machine is not None]
        self.network = ConsumerNetwork(self.client, config["client.id"], config["request.timeout.ms"], coordinated)
        self.fetches = FetchAssignment(
            self.fetcher, self.subscriptions, self.metadata, self.network.slot, config["metadata.max.age.ms"]
        )
        self.metadata.on_recreated = self.fetches.forget_topic_ids
        # For the application's thread: errors to raise, and results of asynchronous commits.
        self.errors: list[Exception] = []
        self.commit_results: list[tuple[OnCommit | None, Committed, Exception | None]] = []
        self.changed = Wakeup()
        self._is_woken = False

    def _backoff(self) -> Backoff:
        return Backoff(self.config["retry.backoff.ms"], self.config["retry.backoff.max.ms"])

    def _make_metadata(self, *, needs_topic_ids: bool) -> ConsumerMetadata:
        from random import Random

        config = self.config
        return ConsumerMetadata(
            # The random module's own generator belongs to the application, which may seed it.
            Metadata(MetadataSettings.of(config), Random().random),
            self.subscriptions,
            exclude_internal_topics=config["exclude.internal.topics"],
            needs_topic_ids=needs_topic_ids,
        )

    def _make_group(self, settings: GroupSettings, is_consumer_protocol: bool) -> None:
        self._lookup = CoordinatorLookup(settings.group_id, self._backoff())
        parts = (settings, self.subscriptions, self.metadata, self._lookup)
        if is_consumer_protocol:
            self.membership = ConsumerMembership(*parts)
        else:
            from kcore.client.consumer.assignors import chosen

            strategies = chosen(self.config.objects("partition.assignment.strategy"))
            self.membership = ConsumerCoordinator(*parts, strategies)
        self.commits = OffsetCommits(settings, self._lookup, has_member_epochs=is_consumer_protocol)

    # The background thread

    def start(self) -> None:
        """Start the network thread and the background thread."""
        self.fetcher.start()
        self._thread.start()
        self.fetcher.wake_by(self.network.replies.descriptor)
        wake_times: list[Callable[[float], float]] = [
            self.metadata.wake_ms,
            lambda now: self.offsets.wake_ms(),
        ]
        plain: list[Any] = [self.metadata, self.offsets]
        if self._lookup is not None and self.membership is not None and self.commits is not None:
            lookup, membership, commits = self._lookup, self.membership, self.commits
            plain.insert(0, lookup)
            wake_times += [
                lambda now: lookup.wake_ms(),
                lambda now: membership.wake_ms(),
                lambda now: commits.wake_ms(),
            ]
        self.network.drive(self._before_round, plain, wake_times, self._after_round, self._wake_application)

    def _before_round(self, now: float) -> None:
        """Called under the lock. Passes the reader's positions and the fetcher's events to the state machines."""
        self.fetches.pull()
        self.fetches.take_events()

    def _after_round(self, now: float) -> None:
        """Called under the lock. Passes the state machines' decisions to the fetcher, and errors to the application."""
        self.fetches.push()
        for source in (self.offsets, self.fetches, self._lookup):
            if source is not None and source.error is not None:
                self.errors.append(source.error)
                source.error = None
        error = self.metadata.take_error()
        if error is not None:
            self.errors.append(error)
        self.changed.notify()
        if self._needs_application:
            self.fetcher.wake()

    def _wake_application(self) -> None:
        self.changed.notify()
        self.fetcher.wake()

    @property
    def _needs_application(self) -> bool:
        membership = self.membership
        has_news = membership is not None and (membership.has_callbacks or membership.error is not None)
        return has_news or self.subscriptions.has_failure or bool(self.errors or self.commit_results)

    def close(self) -> None:
        """End both threads and close the connections."""
        self.network.close()
        self._thread.close()
        self.network.take_leavings()
        self.fetcher.let_go()

    # The application's thread

    def wait(self, outcome: Outcome[Value], deadline_ms: float) -> Value:
        """Return the outcome's value. Raises ClientTimeout at the deadline. Signals and `wakeup` end the wait."""
        self.network.wake()
        while not outcome.is_done:
            remaining_ms = deadline_ms - now_ms()
            if remaining_ms <= 0.0:
                raise ClientTimeout("the cluster has not answered in time. Check the brokers, or raise the timeout")
            self.wait_for_change(remaining_ms)
        with self.network.lock:
            return outcome.take()

    def wait_for_change(self, timeout_ms: float) -> None:
        """Wait for the end of a round, at most `timeout_ms`."""
        self.raise_if_interrupted()
        self.changed.wait_for(timeout_ms)
        self.raise_if_interrupted()

    def raise_if_interrupted(self) -> None:
        """Raise Woken after `wakeup`, or ClientError if the background thread has failed."""
        failure = self.network.failure
        if failure is not None:
            raise ClientError(
                f"the consumer's background thread has failed: {failure!r}. Close the consumer and create a new one"
            ) from failure
        if self._is_woken:
            self._is_woken = False
            raise Woken("wakeup() was called")

    def raise_errors(self) -> None:
        """Raise the next error of the background thread. Positions are looked up again at the next `poll`."""
        if not self.errors and not self.subscriptions.has_failure:
            return
        with self.network.lock:
            error = self.errors.pop(0) if self.errors else self.subscriptions.take_failure()
            if error is None:
                return
            # The next attempt waits until the application has handled the error and polls again.
            self.positions.is_wanted = False
        raise error

    def wakeup(self) -> None:
        """Make the current or next waiting call raise Woken."""
        self._is_woken = True
        self._wake_application()

    def forget_wakeup(self) -> None:
        """Cancel a `wakeup` that has not ended a call yet."""
        self._is_woken = False

    def warn(self, text: str, *arguments: object) -> None:
        """Log a warning with the client.id."""
        from kcore.logger import get_logger

        get_logger("kcore.client.consumer").warn(f"[{self.config['client.id']}] {text}", *arguments)
