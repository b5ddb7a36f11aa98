"""What a client knows of the cluster and what it wants to know: a state machine, without I/O and without a clock.

    want, retain, request_update, suggestion  ->  next_query(now)  ->  on_answer | on_failure  ->  what changed

Asked for: a topic that is new, at once; everything that is wanted, when it is `metadata.max.age.ms` old or something
proved wrong, but not sooner than `retry.backoff.ms` after the last time, doubling up to `retry.backoff.max.ms` while
answers fail or say nothing new.
A leader is only replaced by one of the same or a later epoch (KIP-320): a broker that lags behind cannot take a client
back. A topic that was made anew under its name is told by its id (KIP-516), and its epochs begin anew.
When no broker answers any more, or one says REBOOTSTRAP_REQUIRED, everything begins again with the bootstrap servers
(KIP-899, KIP-1102), unless `metadata.recovery.strategy` is none.

Times are milliseconds of a clock that does not go back. Facts: Metadata, ProducerMetadata, ConsumerMetadata of Kafka 4.
Concurrency: its owner's.
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
# Pauses are longer or shorter by up to this share, so that many clients do not ask at the same time.
JITTER = 0.2
REBOOTSTRAP_REQUIRED = 129
# What is over sooner or later, and to be asked about again: topics that are being made, leaders being elected.
# (InvalidMetadataException in Kafka.)
PASSING_CODES = frozenset({3, 5, 6, 9, 13, 56, 72, 74, 100, 103})
GONE_CODES = frozenset({3, 100})


class MetadataSettings(NamedTuple):
    """Kafka's configurations; `max_idle_ms` is None where topics are wanted until they are dropped (consumers)."""

    max_age_ms: float = 300_000
    max_idle_ms: float | None = None
    retry_backoff_ms: float = 100
    retry_backoff_max_ms: float = 1_000
    is_rebootstrapping: bool = True
    rebootstrap_trigger_ms: float = 300_000
    allow_auto_topic_creation: bool = True

    @classmethod
    def of(cls, config: ClientConfig) -> MetadataSettings:
        """What a client's configuration says of metadata; the keys that only one client has are the other's default."""
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
    """What to ask in a Metadata request: topics, or all of them for None. A partial one is of new topics only."""

    topics: tuple[str, ...] | None
    allow_auto_topic_creation: bool
    is_partial: bool
    # Whether somebody asked for it, other than by its age.
    is_requested: bool
    # Any answer but the newest query's is outdated.
    number: int

    def fields(self, version: int) -> Mapping[str, Any]:
        """The Metadata request; before version 4 a topic that is asked for is created, where the broker does that."""
        asked = {"topics": None if self.topics is None else [{"name": topic} for topic in self.topics]}
        if version < FIRST_WITH_AUTO_CREATION:
            return asked
        return {**asked, "allow_auto_topic_creation": self.allow_auto_topic_creation}


class MetadataChange(NamedTuple):
    """What an answer changed: topics with other partitions, leaders or ids; among them those made anew, those gone."""

    topics: frozenset[str]
    recreated: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    has_other_nodes: bool = False


NO_CHANGE = MetadataChange(frozenset())


class Metadata:
    """`cluster` is what is known, `errors` why a wanted topic cannot be described."""

    def __init__(self, settings: MetadataSettings, random: Callable[[], float] | None = None) -> None:
        """`random` answers numbers from 0 to 1; 0.5 stands for no jitter."""
        self.settings = settings
        self.cluster = NO_CLUSTER
        self.errors: dict[str, KafkaError] = {}
        self._random = random or (lambda: 0.5)
        self._wants_all = False
        # When each wanted topic is no longer wanted, None for never; and those that were not asked for yet.
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

    # What is wanted

    def want(self, topic: str, now_ms: float) -> bool:
        """A topic is used now; says whether it is known already. One that is not is asked for at once."""
        idle_ms = self.settings.max_idle_ms
        self._wanted[topic] = None if idle_ms is None else now_ms + idle_ms
        if topic in self.cluster.topics:
            return True
        if topic in self.errors:
            # Asked for before: once more, when the pause is over.
            self._must_update = True
        else:
            self._new.add(topic)
        return False

    def retain(self, topics: Iterable[str]) -> None:
        """Exactly these topics are wanted from now on; what is not known of them is asked for at once."""
        wanted = dict.fromkeys(topics)
        self._forget(self._wanted.keys() - wanted.keys())
        self._wanted = {**wanted}
        self._new |= wanted.keys() - self.cluster.topics.keys()

    def want_all(self, is_wanted: bool) -> None:
        """Whether every topic of the cluster is wanted, as by those who subscribe to a pattern."""
        if is_wanted and not self._wants_all:
            self._must_update = True
        self._wants_all = is_wanted

    def request_update(self) -> None:
        """What is known has proved wrong: everything wanted is asked for as soon as the pause is over."""
        self._must_update = True

    @property
    def wants_all(self) -> bool:
        return self._wants_all

    @property
    def asked_number(self) -> int:
        """That of the newest query."""
        return self._number

    def is_wanted(self, topic: str) -> bool:
        return self._wants_all or topic in self._wanted

    def expire(self, now_ms: float) -> frozenset[str]:
        """Forgets topics that nobody has used for `metadata.max.idle.ms`, and says which."""
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

    # When and what to ask

    def next_query_in(self, now_ms: float) -> float:
        """Milliseconds until the next query is due; 0: now. Infinite while one is on its way."""
        if self._in_flight is not None:
            return float("inf")
        return max(self._due_in(now_ms), self._pause_in(now_ms))

    def _due_in(self, now_ms: float) -> float:
        if self._must_update or self._new or self._last_answer_ms is None:
            return 0.0
        return max(0.0, self._last_answer_ms + self.settings.max_age_ms - now_ms)

    def _pause_in(self, now_ms: float) -> float:
        """New topics wait for nothing, unless answers fail."""
        if self._last_attempt_ms is None or (self._new and not self._failures):
            return 0.0
        pause_ms = max(self._pause_ms(self._failures), self._pause_ms(self._vain_answers))
        return max(0.0, self._last_attempt_ms + pause_ms - now_ms)

    def _pause_ms(self, attempts: int) -> float:
        settings = self.settings
        # The exponent is bounded, as a float's is.
        grown_ms = settings.retry_backoff_ms * 2.0 ** min(max(attempts - 1, 0), 30)
        pause_ms = min(grown_ms, settings.retry_backoff_max_ms)
        if pause_ms < settings.retry_backoff_max_ms or attempts > 1:
            pause_ms *= 1.0 + JITTER * (2.0 * self._random() - 1.0)
        return min(pause_ms, settings.retry_backoff_max_ms)

    def next_query(self, now_ms: float) -> MetadataQuery | None:
        """What to ask now; None while nothing is due. Until it is answered or failed there is no other."""
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

    # What came of it

    def on_answer(self, query: MetadataQuery, answer: Cluster, now_ms: float, error_code: int = NONE) -> MetadataChange:
        """Takes an answer over; an outdated one changes nothing. `error_code` is the response's own."""
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
        """A query got no answer: what it asked for is asked for again after a pause."""
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

    # Leaders that answers to other requests name (KIP-951)

    def suggest_leader(self, topic: str, partition: int, node_id: int, epoch: int) -> bool:
        """Takes over a leader of a later epoch, if its broker is known. Whether or not, metadata is asked for soon."""
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

    # Beginning again

    def must_rebootstrap(self, now_ms: float) -> bool:
        """Whether it is time to go back to the bootstrap servers: no broker has answered for
        `metadata.recovery.rebootstrap.trigger.ms`.
        """
        if not self.settings.is_rebootstrapping or not self.cluster.nodes:
            return False
        since_ms = self._without_answer_since_ms
        return since_ms is not None and now_ms - since_ms >= self.settings.rebootstrap_trigger_ms

    def rebootstrap(self, now_ms: float) -> None:
        """Forgets the brokers; what is known of topics stays until an answer says otherwise."""
        if not self.settings.is_rebootstrapping:
            return
        self.cluster = self.cluster._replace(nodes={}, controller_id=-1)
        self._in_flight = None
        self._must_update = True
        self._last_attempt_ms = None
        self._without_answer_since_ms = now_ms


def _is_made_anew(former: TopicDescription, newer: TopicDescription) -> bool:
    """Only where both ids are known can they differ."""
    return NO_TOPIC_ID not in (former.topic_id, newer.topic_id) and former.topic_id != newer.topic_id


def _merged(former: TopicDescription, newer: TopicDescription) -> TopicDescription:
    """The newer description, but for partitions of which something later is known."""
    known = {info.partition: info for info in former.partitions}
    partitions = [_later(known.get(info.partition), info) for info in newer.partitions]
    topic_id = former.topic_id if newer.topic_id == NO_TOPIC_ID else newer.topic_id
    return newer._replace(partitions=partitions, topic_id=topic_id)


def _later(former: PartitionInfo | None, newer: PartitionInfo) -> PartitionInfo:
    if former is None or newer.leader_epoch == NO_EPOCH or newer.leader_epoch >= former.leader_epoch:
        return newer
    return former


def _without_leaders(topic: TopicDescription) -> TopicDescription:
    """A topic that the cluster does not know for the moment: its partitions are kept for when it does."""
    return topic._replace(partitions=[info._replace(leader=NO_LEADER) for info in topic.partitions])
