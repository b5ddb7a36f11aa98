"""Metadata: a client's knowledge of the cluster, and what to request next. A state machine without I/O or clock.

    want, retain, request_update, suggestion  ->  next_query(now)  ->  on_answer | on_failure  ->  what changed

New topics are requested at once. All wanted topics are requested when the metadata is `metadata.max.age.ms` old or has
proved wrong, at the earliest `retry.backoff.ms` after the last request. That pause doubles up to `retry.backoff.max.ms`
while requests fail or change nothing.
A leader is only replaced by one with the same or a later epoch (KIP-320), so a broker with outdated metadata cannot set
a client back. A re-created topic is recognised by its id (KIP-516); its epochs start again.
If no broker responds any more, or one returns REBOOTSTRAP_REQUIRED, the client starts again with the bootstrap servers
(KIP-899, KIP-1102), unless `metadata.recovery.strategy` is none.

Times are milliseconds of a monotonic clock. Source: Metadata, ProducerMetadata, ConsumerMetadata of Kafka 4.
Concurrency: no lock; the owner must hold one.
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.errors import NONE, broker_error
from kcore.client.metadata.cluster import NO_CLUSTER, Cluster, PartitionInfo, TopicDescription

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Set
    from typing import Any

    from kcore.client.config.client_config import ClientConfig
    from kcore.errors import KafkaError

FIRST_WITH_AUTO_CREATION = 4
NO_TOPIC_ID = bytes(16)
NO_EPOCH = -1
NO_LEADER = -1
# Random share by which pauses differ, so that many clients do not send requests at the same time.
JITTER = 0.2
REBOOTSTRAP_REQUIRED = 129
# Temporary errors after which metadata is requested again: topics being created, leaders being elected
# (InvalidMetadataException in Kafka).
PASSING_CODES = frozenset({3, 5, 6, 9, 13, 56, 72, 74, 100, 103})
GONE_CODES = frozenset({3, 100})


class MetadataSettings(NamedTuple):
    """Kafka's configurations, in ms. `max_idle_ms` is None if topics are wanted until they are dropped (consumers)."""

    max_age_ms: float = 300_000
    max_idle_ms: float | None = None
    retry_backoff_ms: float = 100
    retry_backoff_max_ms: float = 1_000
    is_rebootstrapping: bool = True
    rebootstrap_trigger_ms: float = 300_000
    allow_auto_topic_creation: bool = True

    @classmethod
    def of(cls, config: ClientConfig) -> MetadataSettings:
        """Return the settings of a client's configuration. Keys that it does not have get their defaults."""
        return cls(
            max_age_ms=config["metadata.max.age.ms"],
            max_idle_ms=config["metadata.max.idle.ms"] if "metadata.max.idle.ms" in config.KEYS else None,
            retry_backoff_ms=config["retry.backoff.ms"],
            retry_backoff_max_ms=config["retry.backoff.max.ms"],
            is_rebootstrapping=config["metadata.recovery.strategy"].lower() == "rebootstrap",
            rebootstrap_trigger_ms=config["metadata.recovery.rebootstrap.trigger.ms"],
            allow_auto_topic_creation="allow.auto.create.topics" not in config.KEYS
            or config["allow.auto.create.topics"],
        )


class MetadataQuery(NamedTuple):
    """A Metadata request for some topics; None: all topics. A partial query contains new topics only."""

    topics: tuple[str, ...] | None
    allow_auto_topic_creation: bool
    is_partial: bool
    # Whether it was requested, and is not due to age alone.
    is_requested: bool
    # Only the response to the newest query counts.
    number: int

    def fields(self, version: int) -> Mapping[str, Any]:
        """Return the request's fields. Before version 4, the broker may always create a missing topic."""
        asked = {"topics": None if self.topics is None else [{"name": topic} for topic in self.topics]}
        if version < FIRST_WITH_AUTO_CREATION:
            return asked
        return {**asked, "allow_auto_topic_creation": self.allow_auto_topic_creation}


class MetadataChange(NamedTuple):
    """The effects of a response. `topics` have other partitions, leaders or ids. The next two sets are part of them."""

    topics: frozenset[str]
    recreated: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    has_other_nodes: bool = False


NO_CHANGE = MetadataChange(frozenset())


class Metadata:
    """`cluster` is the current metadata. `errors` has the errors of wanted topics."""

    def __init__(self, settings: MetadataSettings, random: Callable[[], float] | None = None) -> None:
        """`random` returns numbers from 0 to 1; 0.5 means no jitter."""
        self.settings = settings
        self.cluster = NO_CLUSTER
        self.errors: dict[str, KafkaError] = {}
        self._random = random or (lambda: 0.5)
        self._wants_all = False
        # When each wanted topic expires; None: never. And the topics that were not requested yet.
        self._wanted: dict[str, float | None] = {}
        self._new: set[str] = set()
        self._must_update = True
        self._asked_of_all = False
        self._number = 0
        self._in_flight: MetadataQuery | None = None
        self._last_answer_ms: float | None = None
        self._last_attempt_ms: float | None = None
        self._failures = 0
        self._vain_answers = 0
        self._without_answer_since_ms: float | None = None

    # Wanted topics

    def want(self, topic: str, now_ms: float) -> bool:
        """Mark a topic as used. Returns whether it is known. If not, it is requested at once."""
        idle_ms = self.settings.max_idle_ms
        self._wanted[topic] = None if idle_ms is None else now_ms + idle_ms
        if topic in self.cluster.topics:
            return True
        if topic in self.errors:
            # Requested before without success: request it again after the pause.
            self._must_update = True
        else:
            self._new.add(topic)
        return False

    def retain(self, topics: Iterable[str]) -> None:
        """Want exactly these topics from now on. Unknown ones are requested at once."""
        wanted = dict.fromkeys(topics)
        self._forget(self._wanted.keys() - wanted.keys())
        self._wanted = {**wanted}
        self._new |= wanted.keys() - self.cluster.topics.keys()

    def want_all(self, is_wanted: bool) -> None:
        """Want every topic of the cluster or not. Needed for pattern subscriptions."""
        if is_wanted and not self._wants_all:
            self._must_update = True
        self._wants_all = is_wanted

    def request_update(self) -> None:
        """Request all wanted topics again after the pause, because the metadata has proved wrong."""
        self._must_update = True

    @property
    def wants_all(self) -> bool:
        return self._wants_all

    @property
    def asked_number(self) -> int:
        """The number of the newest query."""
        return self._number

    def is_wanted(self, topic: str) -> bool:
        return self._wants_all or topic in self._wanted

    def expire(self, now_ms: float) -> frozenset[str]:
        """Drop topics that were not used for `metadata.max.idle.ms`, and return them."""
        idle = {topic for topic, until in self._wanted.items() if until is not None and until <= now_ms}
        idle -= self._new
        self._forget(idle)
        return frozenset(idle)

    def _forget(self, forgotten: Set[str]) -> None:
        if not forgotten:
            return
        for topic in forgotten:
            self._wanted.pop(topic, None)
            self.errors.pop(topic, None)
        self._new -= forgotten
        if not self._wants_all:
            topics = {name: known for name, known in self.cluster.topics.items() if name not in forgotten}
            self.cluster = self.cluster._replace(topics=topics)

    # Queries

    def next_query_in(self, now_ms: float) -> float:
        """Return the milliseconds until the next query is due; 0: now. Infinite while one is in flight."""
        if self._in_flight is not None:
            return float("inf")
        return max(self._due_in(now_ms), self._pause_in(now_ms))

    def _due_in(self, now_ms: float) -> float:
        if self._must_update or self._new or self._last_answer_ms is None:
            return 0.0
        return max(0.0, self._last_answer_ms + self.settings.max_age_ms - now_ms)

    def _pause_in(self, now_ms: float) -> float:
        """New topics need no pause, unless requests fail."""
        if self._last_attempt_ms is None or (self._new and not self._failures):
            return 0.0
        pause_ms = max(self._pause_ms(self._failures), self._pause_ms(self._vain_answers))
        return max(0.0, self._last_attempt_ms + pause_ms - now_ms)

    def _pause_ms(self, attempts: int) -> float:
        settings = self.settings
        # Limit the exponent to avoid a float overflow.
        grown_ms = settings.retry_backoff_ms * 2.0 ** min(max(attempts - 1, 0), 30)
        pause_ms = min(grown_ms, settings.retry_backoff_max_ms)
        if pause_ms < settings.retry_backoff_max_ms or attempts > 1:
            pause_ms *= 1.0 + JITTER * (2.0 * self._random() - 1.0)
        return min(pause_ms, settings.retry_backoff_max_ms)

    def next_query(self, now_ms: float) -> MetadataQuery | None:
        """Return the query to send now, if one is due. There is no other until it is answered or has failed."""
        if self.next_query_in(now_ms) > 0:
            return None
        self.expire(now_ms)
        is_partial = bool(self._new) and not self._must_update and not self._wants_all and not self._is_old(now_ms)
        names = self._new if is_partial else self._wanted.keys()
        topics = None if self._wants_all else tuple(sorted(names))
        self._number += 1
        creates = self.settings.allow_auto_topic_creation and not self._wants_all
        self._in_flight = MetadataQuery(topics, creates, is_partial, self._must_update or is_partial, self._number)
        self._last_attempt_ms = now_ms
        if self._without_answer_since_ms is None:
            self._without_answer_since_ms = now_ms
        if not is_partial:
            self._must_update = False
        self._new = set()
        return self._in_flight

    def _is_old(self, now_ms: float) -> bool:
        return self._last_answer_ms is None or now_ms - self._last_answer_ms >= self.settings.max_age_ms

    # Responses

    def on_answer(self, query: MetadataQuery, answer: Cluster, now_ms: float, error_code: int = NONE) -> MetadataChange:
        """Apply a response. An outdated one changes nothing. `error_code` is that of the whole response."""
        if self._in_flight is None or query.number != self._in_flight.number:
            return NO_CHANGE
        if error_code:
            self.on_failure(query, now_ms)
            if error_code == REBOOTSTRAP_REQUIRED:
                self.rebootstrap(now_ms)
            return NO_CHANGE
        self._in_flight = None
        self._failures = 0
        self._without_answer_since_ms = None
        if not query.is_partial:
            self._last_answer_ms = now_ms
        change = self._merge(query, answer)
        self._vain_answers = self._vain_answers + 1 if query.is_requested and not change.topics else 0
        return change

    def on_failure(self, query: MetadataQuery, now_ms: float) -> None:
        """Note that a query failed. Its topics are requested again after a pause."""
        if self._in_flight is None or query.number != self._in_flight.number:
            return
        self._in_flight = None
        self._failures += 1
        self._last_attempt_ms = now_ms
        if query.is_partial:
            self._new |= set(query.topics or ()) & self._wanted.keys()
        else:
            self._must_update = True

    def _merge(self, query: MetadataQuery, answer: Cluster) -> MetadataChange:
        before = self.cluster
        known = dict(before.topics)
        recreated, gone = set(), set()
        for name, newer in answer.topics.items():
            if not self.is_wanted(name):
                continue
            if newer.error_code:
                self._note_error(name, newer.error_code)
                if name in known and newer.error_code in GONE_CODES:
                    known[name] = _without_leaders(known[name])
                    gone.add(name)
                continue
            self.errors.pop(name, None)
            former = known.get(name)
            if former is not None and _is_made_anew(former, newer):
                recreated.add(name)
                former = None
            known[name] = newer if former is None else _merged(former, newer)
            if any(info.error_code in PASSING_CODES for info in newer.partitions):
                self._must_update = True
        if query.topics is None:
            for name in before.topics.keys() - answer.topics.keys():
                del known[name]
                gone.add(name)
        cluster_id = answer.cluster_id or before.cluster_id
        self.cluster = Cluster(cluster_id, answer.controller_id, answer.nodes or before.nodes, known)
        touched = answer.topics.keys() | gone
        changed = {name for name in touched if before.topics.get(name) != known.get(name)}
        return MetadataChange(
            frozenset(changed), frozenset(recreated), frozenset(gone & changed), self.cluster.nodes != before.nodes
        )

    def _note_error(self, topic: str, code: int) -> None:
        self.errors[topic] = broker_error(code, f"topic {topic}")
        if code in PASSING_CODES:
            self._must_update = True

    # Leaders from responses to other requests (KIP-951)

    def suggest_leader(self, topic: str, partition: int, node_id: int, epoch: int) -> bool:
        """Apply a leader with a later epoch if its broker is known. Metadata is requested soon in any case."""
        self._must_update = True
        known = self.cluster.topics.get(topic)
        if known is None or node_id not in self.cluster.nodes:
            return False
        partitions = list(known.partitions)
        for index, info in enumerate(partitions):
            if info.partition == partition and epoch > info.leader_epoch:
                partitions[index] = info._replace(leader=node_id, leader_epoch=epoch, error_code=NONE)
                topics = {**self.cluster.topics, topic: known._replace(partitions=partitions)}
                self.cluster = self.cluster._replace(topics=topics)
                return True
        return False

    # Rebootstrapping

    def must_rebootstrap(self, now_ms: float) -> bool:
        """Return whether to go back to the bootstrap servers.

        That is the case if no broker has responded for `metadata.recovery.rebootstrap.trigger.ms`.
        """
        if not self.settings.is_rebootstrapping or not self.cluster.nodes:
            return False
        since_ms = self._without_answer_since_ms
        return since_ms is not None and now_ms - since_ms >= self.settings.rebootstrap_trigger_ms

    def rebootstrap(self, now_ms: float) -> None:
        """Forget the brokers. Topics are kept until a response changes them."""
        if not self.settings.is_rebootstrapping:
            return
        self.cluster = self.cluster._replace(nodes={}, controller_id=-1)
        self._in_flight = None
        self._must_update = True
        self._last_attempt_ms = None
        self._without_answer_since_ms = now_ms


def _is_made_anew(former: TopicDescription, newer: TopicDescription) -> bool:
    """Return whether the topic was re-created. Its ids can only be compared if both are known."""
    return NO_TOPIC_ID not in (former.topic_id, newer.topic_id) and former.topic_id != newer.topic_id


def _merged(former: TopicDescription, newer: TopicDescription) -> TopicDescription:
    """Return the newer description, except for partitions whose former leader epoch is later."""
    known = {info.partition: info for info in former.partitions}
    partitions = [_later(known.get(info.partition), info) for info in newer.partitions]
    topic_id = former.topic_id if newer.topic_id == NO_TOPIC_ID else newer.topic_id
    return newer._replace(partitions=partitions, topic_id=topic_id)


def _later(former: PartitionInfo | None, newer: PartitionInfo) -> PartitionInfo:
    if former is None or newer.leader_epoch == NO_EPOCH or newer.leader_epoch >= former.leader_epoch:
        return newer
    return former


def _without_leaders(topic: TopicDescription) -> TopicDescription:
    """Return a topic without leaders, which the cluster currently does not know. Its partitions are kept."""
    return topic._replace(partitions=[info._replace(leader=NO_LEADER) for info in topic.partitions])
