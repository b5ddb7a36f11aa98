"""Where assigned partitions begin: at what their group has committed, else where `auto.offset.reset` says. No I/O.

A partition is looked up while it has no position and the application asks for records: from a `poll` or `position` on
until it is told of a failure, or assigns other partitions. What it then commits or seeks comes before the next lookup.
Nothing here waits to be told: each round of the background thread looks at what there is. An answer counts only for the
assignment that it was asked for, since whoever had the partition in between may have committed.
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
    """`commits` is None for a consumer without a group; driven before it, so that its questions leave at once."""

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
        # By partition, for which of its assignments: see SubscriptionState.seeks.
        self._asked: dict[TopicPartition, int] = {}
        self.is_wanted = False

    def poll(self, now_ms: float) -> list[BrokerRequest]:
        """Makes no requests of its own."""
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
