"""ConsumerMetadata: the metadata that a consumer needs.

It covers the topics that are subscribed and assigned, those of the whole group while this member is its leader, and all
topics if a pattern is matched. Requests go through the state machine that all clients share (Metadata).
"""

from __future__ import annotations

from kcore.client.consumer.broker_request import BrokerRequest
from kcore.client.consumer.positions import NO_LEADER, LeaderAndEpoch
from kcore.client.consumer.subscription_state import SubscriptionType
from kcore.client.metadata.cluster import TopicDescription, TopicPartition, cluster_from
from kcore.client.metadata.metadata import GONE_CODES
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcore.client.consumer.assignors.assignor import ReplicaRacks
    from kcore.client.consumer.subscription_state import SubscriptionState
    from kcore.client.metadata.cluster import Node
    from kcore.client.metadata.metadata import Metadata, MetadataQuery
    from kcore.protocol.message import Message

# First versions of Metadata where null means all topics, and where topics have ids (KIP-516).
FIRST_WITH_ALL_TOPICS = 1
FIRST_WITH_TOPIC_IDS = 10
# With a pattern, all topics are requested, including internal ones.
PATTERNS = (SubscriptionType.PATTERN, SubscriptionType.BROKER_PATTERN)


class ConsumerMetadata:
    def __init__(
        self,
        metadata: Metadata,
        subscriptions: SubscriptionState,
        *,
        exclude_internal_topics: bool = True,
        needs_topic_ids: bool = False,
    ) -> None:
        """`needs_topic_ids` is set for the consumer protocol, which identifies topics by id only (KIP-848)."""
        self._min_version = FIRST_WITH_TOPIC_IDS if needs_topic_ids else FIRST_WITH_ALL_TOPICS
        self.metadata = metadata
        self._subscriptions = subscriptions
        self._exclude_internal = exclude_internal_topics
        self._extra: set[str] = set()
        self._retained: frozenset[str] = frozenset()
        # Number of answers so far, and the number of the last complete query that was answered.
        self.version = 0
        self._answered_number = 0
        # Called with re-created topics, because their old offsets are no longer valid.
        self.on_recreated: Callable[[frozenset[str]], None] = lambda topics: None

    # Known metadata

    def topic(self, name: str) -> TopicDescription | None:
        found = self.metadata.cluster.topics.get(name)
        return found if found is not None and name not in self.metadata.errors else None

    def replica_racks(self, name: str) -> ReplicaRacks | None:
        """Return the racks of each partition's replicas; None if the topic is not known."""
        topic = self.topic(name)
        if topic is None:
            return None
        rack_of = {node.id: node.rack for node in self.metadata.cluster.nodes.values() if node.rack}
        return [frozenset(rack_of[replica] for replica in p.replicas if replica in rack_of) for p in topic.partitions]

    def leader(self, partition: TopicPartition) -> LeaderAndEpoch:
        topic = self.metadata.cluster.topics.get(partition.topic)
        partitions = topic.partitions if topic is not None else []
        if partition.partition < len(partitions) and partitions[partition.partition].partition == partition.partition:
            info = partitions[partition.partition]
            return LeaderAndEpoch(info.leader, info.leader_epoch)
        for info in partitions:
            if info.partition == partition.partition:
                return LeaderAndEpoch(info.leader, info.leader_epoch)
        return LeaderAndEpoch()

    def leader_node(self, partition: TopicPartition) -> Node | None:
        leader = self.leader(partition).leader
        return self.metadata.cluster.nodes.get(leader) if leader != NO_LEADER else None

    def topic_id(self, name: str) -> bytes | None:
        topic = self.topic(name)
        return topic.topic_id if topic is not None else None

    def is_gone(self, name: str) -> bool:
        """Return whether the cluster has answered that there is no such topic."""
        error = self.metadata.errors.get(name)
        if error is not None:
            return error.code in GONE_CODES
        return self.metadata.wants_all and name not in self.metadata.cluster.topics

    def topic_name(self, topic_id: bytes) -> str | None:
        for topic in self.metadata.cluster.topics.values():
            if topic.topic_id == topic_id:
                return topic.name
        return None

    def knows(self, topics: Iterable[str]) -> bool:
        """Return whether the cluster has answered for all these topics, be it with an error."""
        return all(topic in self.metadata.cluster.topics or topic in self.metadata.errors for topic in topics)

    def take_error(self) -> Exception | None:
        """Return an error for the application: a wanted topic is invalid, or the client is not authorized for it."""
        for topic, error in list(self.metadata.errors.items()):
            if not error.retriable and topic in self._retained:
                del self.metadata.errors[topic]
                return error
        return None

    # Wanted metadata

    def request_update(self) -> None:
        """Request new metadata, because the current one is wrong or may be outdated."""
        self.metadata.request_update()

    def ask_anew(self) -> int:
        """Request all metadata again. Pass the result to `is_newer_than` to check whether it has arrived."""
        self.metadata.request_update()
        return self.metadata.asked_number

    def is_newer_than(self, asked: int) -> bool:
        return self._answered_number > asked

    def add(self, topics: Iterable[str]) -> None:
        """Add topics that are not subscribed to. They are requested until `forget`."""
        self._extra.update(topics)

    def forget(self, topics: Iterable[str]) -> None:
        self._extra.difference_update(topics)

    def _retain(self) -> None:
        self.metadata.want_all(self._subscriptions.type in PATTERNS)
        wanted = self._subscriptions.metadata_topics | self._extra
        if wanted != self._retained:
            self._retained = wanted
            self.metadata.retain(wanted)

    # Requests

    def poll(self, now_ms: float) -> list[BrokerRequest]:
        self._retain()
        if self.metadata.must_rebootstrap(now_ms):
            self.metadata.rebootstrap(now_ms)
        query = self.metadata.next_query(now_ms)
        return [] if query is None else [self._request(query)]

    def wake_ms(self, now_ms: float) -> float:
        return now_ms + self.metadata.next_query_in(now_ms)

    def _request(self, query: MetadataQuery) -> BrokerRequest:
        def answered(response: Message | None, error: Exception | None, now_ms: float) -> None:
            if response is None:
                self.metadata.on_failure(query, now_ms)
            else:
                self._answered(query, response, now_ms)

        return BrokerRequest(apis.METADATA, query.fields, None, answered, min_version=self._min_version)

    def _answered(self, query: MetadataQuery, response: Message, now_ms: float) -> None:
        code = getattr(response, "error_code", 0)
        change = self.metadata.on_answer(query, cluster_from(response), now_ms, code)
        self.version += 1
        if not code and not query.is_partial:
            self._answered_number = query.number
        if change.recreated:
            self.on_recreated(change.recreated)
        if self._subscriptions.type is SubscriptionType.PATTERN:
            self._subscriptions.match_pattern(
                topic.name
                for topic in self.metadata.cluster.topics.values()
                if not (topic.is_internal and self._exclude_internal)
            )
