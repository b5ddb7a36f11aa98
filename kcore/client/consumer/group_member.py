"""GroupMember: the common part of members under both protocols: identity, errors, due callbacks, pending requests.

`consumer_coordinator.py` implements the classic protocol, `consumer_membership.py` that of KIP-848. Consumer and
OffsetCommits mostly use this interface. A state machine without I/O, driven under the consumer's lock; see
broker_request.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from kcore.client.consumer.broker_request import Backoff
from kcore.client.consumer.rebalance_callback import CallbackKind, CallbackQueue, RebalanceCallback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.consumer.broker_request import BrokerRequest
    from kcore.client.consumer.consumer_metadata import ConsumerMetadata
    from kcore.client.consumer.coordinator_lookup import CoordinatorLookup
    from kcore.client.consumer.group_settings import GroupMetadata, GroupSettings
    from kcore.client.consumer.subscription_state import SubscriptionState


class GroupMember(ABC):
    """A member of a group. `error` is for the application. If `is_fatal` is set, the member does nothing more."""

    def __init__(
        self,
        settings: GroupSettings,
        subscriptions: SubscriptionState,
        metadata: ConsumerMetadata,
        lookup: CoordinatorLookup,
    ) -> None:
        self._settings = settings
        self._subscriptions = subscriptions
        self._metadata = metadata
        self._lookup = lookup
        self._backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        self._callbacks = CallbackQueue(subscriptions)
        # Requests that `poll` has not returned yet.
        self._outbox: list[BrokerRequest] = []
        self.rebalances = 0
        # Whether a request to leave the group is in flight.
        self.is_leaving = False
        self.error: Exception | None = None
        self.is_fatal = False

    # Queries

    @property
    @abstractmethod
    def group_metadata(self) -> GroupMetadata: ...

    @property
    @abstractmethod
    def can_commit(self) -> bool:
        """Whether the coordinator would accept a commit of this member, as far as is known."""

    @property
    @abstractmethod
    def is_rebalancing(self) -> bool: ...

    @abstractmethod
    def commit_refused(self, metadata: GroupMetadata, code: int) -> None:
        """Handle a commit error about the membership. `metadata` is the member's identity in that commit."""

    def take_error(self) -> Exception | None:
        error = self.error
        if not self.is_fatal:
            self.error = None
        return error

    # The application's side

    @abstractmethod
    def polled(self, now_ms: float) -> None:
        """Note that the application called `poll`. A member that was removed for missing polls joins again."""

    @property
    @abstractmethod
    def is_out(self) -> bool:
        """Whether the member has left because the application did not call `poll` in time."""

    @property
    def has_callbacks(self) -> bool:
        return bool(self._callbacks)

    def next_callback(self) -> RebalanceCallback | None:
        return self._callbacks.next()

    def callback_done(self, callback: RebalanceCallback, now_ms: float) -> None:
        self._callbacks.done(callback)
        if not self._callbacks:
            self._callbacks_done(callback.kind)

    @abstractmethod
    def _callbacks_done(self, last: CallbackKind | None = None) -> None:
        """All callbacks have run. `last` is the kind of the last one; None if there was none."""

    # Time

    def poll(self, now_ms: float) -> list[BrokerRequest]:
        if not self.is_fatal and self._subscriptions.is_auto_assigned:
            self._go_on(now_ms)
        requests, self._outbox = self._outbox, []
        return requests

    @abstractmethod
    def _go_on(self, now_ms: float) -> None:
        """Do what is due. Called while there is a subscription."""

    @abstractmethod
    def wake_ms(self) -> float: ...

    # Leaving

    def begin_leaving(self) -> RebalanceCallback | None:
        """Return the callback to run before `leave`, for `unsubscribe` and `close`; None if there is none."""
        self._callbacks.clear()
        owned = tuple(self._subscriptions.assigned)
        if not owned or not self._subscriptions.is_auto_assigned:
            return None
        return RebalanceCallback(CallbackKind.REVOKED if self.can_commit else CallbackKind.LOST, owned)

    @abstractmethod
    def leave(self, reason: str, *, is_closing: bool = False) -> None: ...
