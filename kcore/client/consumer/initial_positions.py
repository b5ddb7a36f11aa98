"""Finds where assigned partitions begin: at the committed offset, otherwise where `auto.offset.reset` says. No I/O.

A partition is looked up while it has no position and the application requests records, which it does from a `poll` or
`position` until it receives an error or assigns other partitions. So it can commit or seek before the next lookup.
Each round of the background thread examines the current state, so no notifications are needed. An answer counts only
for the assignment that it was requested for, because another member may have committed in between.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.client.consumer.broker_request import BrokerRequest
    from kcore.client.consumer.consumer_metadata import ConsumerMetadata
    from kcore.client.consumer.offset_commits import OffsetCommits
    from kcore.client.consumer.outcome import Outcome
    from kcore.client.consumer.positions import OffsetAndMetadata
    from kcore.client.consumer.subscription_state import SubscriptionState
    from kcore.client.metadata.cluster import TopicPartition


class InitialPositions:
    """`commits` is None without a group. Polled before `commits`, so that lookups are sent in the same round."""

    def __init__(
        self,
        subscriptions: SubscriptionState,
        metadata: ConsumerMetadata,
        commits: OffsetCommits | None,
        api_timeout_ms: float,
    ) -> None:
        self._subscriptions = subscriptions
        self._metadata = metadata
        self._commits = commits
        self._api_timeout_ms = api_timeout_ms
        # The lookups in flight: SubscriptionState.seeks of each partition when its lookup began.
        self._asked: dict[TopicPartition, int] = {}
        self.is_wanted = False

    def poll(self, now_ms: float) -> list[BrokerRequest]:
        """Begin lookups where needed. Always returns an empty list: OffsetCommits sends the requests."""
        subscriptions = self._subscriptions
        waiting = {p: subscriptions.seeks(p) for p in subscriptions.initializing()} if self.is_wanted else {}
        asked = {partition: seeks for partition, seeks in waiting.items() if self._asked.get(partition) != seeks}
        if not asked:
            return []
        if self._commits is None:
            self._begin(asked, dict.fromkeys(asked))
            return []
        self._asked |= asked

        def found(outcome: Outcome[dict[TopicPartition, OffsetAndMetadata | None]]) -> None:
            for partition, seeks in asked.items():
                if self._asked.get(partition) == seeks:
                    del self._asked[partition]
            if outcome.error is None:
                self._begin(asked, outcome.take())
            elif not getattr(outcome.error, "retriable", False):
                subscriptions.fail((p for p, seeks in asked.items() if subscriptions.seeks(p) == seeks), outcome.error)

        self._commits.fetch(asked, now_ms + self._api_timeout_ms).on_done(found)
        return []

    def _begin(
        self, asked: Mapping[TopicPartition, int], committed: Mapping[TopicPartition, OffsetAndMetadata | None]
    ) -> None:
        current = {p: found for p, found in committed.items() if self._subscriptions.seeks(p) == asked[p]}
        self._subscriptions.start_at_committed(current, {p: self._metadata.leader(p) for p in current})
