"""Offset lookups in the logs: resets, offsets by time, and validation of positions. No I/O.

Partition leaders receive ListOffsets for resets and for lookups by time, and OffsetsForLeaderEpoch for partitions whose
leader has changed (KIP-320). If a response shows that the leader is another broker, metadata is refreshed and the
request is repeated. Source: Kafka's OffsetFetcher.
leader is another one has metadata asked anew, and the question is repeated. Facts: Kafka's OffsetFetcher.
"""

from __future__ import annotations

from kcore.client.consumer import codes
from kcore.client.consumer.broker_request import NEVER_MS, Backoff, BrokerRequest
from kcore.client.consumer.consumer_errors import LogTruncated
from kcore.client.consumer.offset_reset import timestamp_of
from kcore.client.consumer.outcome import Outcome
from kcore.client.consumer.positions import (
    NO_EPOCH,
    EpochEnd,
    FetchPosition,
    OffsetAndMetadata,
    OffsetAndTimestamp,
)
from kcore.client.consumer.subscription_state import Truncation
from kcore.client.errors import ClientTimeout, UnsupportedByBroker, broker_error
from kcore.client.metadata.cluster import TopicPartition
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from kcore.client.config.auto_offset_reset import ResetStrategy
    from kcore.client.consumer.consumer_metadata import ConsumerMetadata
    from kcore.client.consumer.subscription_state import SubscriptionState
    from kcore.client.metadata.cluster import Node
    from kcore.protocol.message import Message

CONSUMER_REPLICA_ID = -1
# First version of ListOffsets whose response has a single offset.
FIRST_LIST_OFFSETS = 1
# First version of OffsetsForLeaderEpoch that consumers are authorized to use.
FIRST_EPOCH_VERSION = 3
RETRIED = frozenset(
    {
        codes.UNKNOWN_TOPIC_OR_PARTITION,
        codes.LEADER_NOT_AVAILABLE,
        codes.NOT_LEADER_OR_FOLLOWER,
        codes.REPLICA_NOT_AVAILABLE,
        codes.NETWORK_EXCEPTION,
        codes.KAFKA_STORAGE_ERROR,
        codes.FENCED_LEADER_EPOCH,
        codes.UNKNOWN_LEADER_EPOCH,
        codes.OFFSET_NOT_AVAILABLE,
        codes.UNKNOWN_TOPIC_ID,
    }
)


class TimeLookup:
    """One lookup of offsets by time. `targets` has the timestamp of each partition."""

    __slots__ = ("asked", "deadline_ms", "found", "outcome", "retry_ms", "targets")

    def __init__(self, targets: Mapping[TopicPartition, int], deadline_ms: float) -> None:
        self.targets = dict(targets)
        self.deadline_ms = deadline_ms
        self.retry_ms = 0.0
        self.asked: set[TopicPartition] = set()
        self.found: dict[TopicPartition, OffsetAndTimestamp | None] = {}
        self.outcome: Outcome[dict[TopicPartition, OffsetAndTimestamp | None]] = Outcome()

    @property
    def open(self) -> dict[TopicPartition, int]:
        """The targets that are neither answered nor in flight."""
        return {p: time for p, time in self.targets.items() if p not in self.found and p not in self.asked}


class OffsetFetcher:
    """`error` is an error for the application."""

    def __init__(
        self,
        subscriptions: SubscriptionState,
        metadata: ConsumerMetadata,
        backoff: Backoff,
        time_of_day_ms: Callable[[], int],
        *,
        isolation_level: int = 0,
        request_timeout_ms: float = 30_000.0,
    ) -> None:
        self._subscriptions = subscriptions
        self._metadata = metadata
        self._backoff = backoff
        self._time_of_day_ms = time_of_day_ms
        self._isolation_level = isolation_level
        self._request_timeout_ms = request_timeout_ms
        self._resetting: set[TopicPartition] = set()
        self._validating: set[TopicPartition] = set()
        self._lookups: list[TimeLookup] = []
        self.error: Exception | None = None

    def offsets_for_times(self, targets: Mapping[TopicPartition, int], deadline_ms: float) -> Outcome[Any]:
        """Return the first record at or after a timestamp per partition; None if there is none.

        The timestamps -1 and -2 return the end and the start of the log.
        """
        lookup = TimeLookup(targets, deadline_ms)
        if targets:
            self._metadata.add({partition.topic for partition in targets})
            self._lookups.append(lookup)
        else:
            lookup.outcome.complete({})
        return lookup.outcome

    # Time

    def poll(self, now_ms: float) -> list[BrokerRequest]:
        self._note_leaders()
        requests = self._reset_requests(now_ms) + self._validation_requests(now_ms)
        for lookup in list(self._lookups):
            if lookup.deadline_ms <= now_ms:
                names = ", ".join(map(str, list(lookup.open or lookup.targets)[:5]))
                self._end(lookup, ClientTimeout(f"no offsets of {names} in time"))
            elif lookup.retry_ms <= now_ms:
                requests += self._time_requests(lookup, now_ms)
        return requests

    def wake_ms(self) -> float:
        times = [min(lookup.deadline_ms, lookup.retry_ms if lookup.open else NEVER_MS) for lookup in self._lookups]
        return min([self._subscriptions.wake_ms(self._resetting | self._validating), *times])

    def _note_leaders(self) -> None:
        for partition in self._subscriptions.assigned:
            self._subscriptions.note_leader(partition, self._metadata.leader(partition))

    def _by_leader(
        self, partitions: Iterable[TopicPartition], now_ms: float
    ) -> tuple[dict[Node, list[TopicPartition]], list[TopicPartition]]:
        """Group partitions by leader, and return those without a known leader. These trigger a metadata update."""
        by_leader: dict[Node, list[TopicPartition]] = {}
        unknown = []
        for partition in partitions:
            node = self._metadata.leader_node(partition)
            if node is None:
                unknown.append(partition)
            else:
                by_leader.setdefault(node, []).append(partition)
        if unknown:
            self._metadata.request_update()
        return by_leader, unknown

    # Resets

    def _reset_requests(self, now_ms: float) -> list[BrokerRequest]:
        needing = {p: s for p, s in self._subscriptions.needing_reset(now_ms).items() if p not in self._resetting}
        by_leader, unknown = self._by_leader(needing, now_ms)
        self._subscriptions.retry_at(unknown, now_ms + self._pause_ms(now_ms))
        requests = []
        for node, partitions in by_leader.items():
            self._resetting.update(partitions)
            strategies = {partition: needing[partition] for partition in partitions}
            requests.append(self._reset_request(node, strategies))
        return requests

    def _reset_request(self, node: Node, strategies: dict[TopicPartition, ResetStrategy]) -> BrokerRequest:
        time_ms = self._time_of_day_ms()
        targets = {partition: timestamp_of(strategy, time_ms) for partition, strategy in strategies.items()}

        def take(found: dict[TopicPartition, OffsetAndTimestamp | int], now_ms: float) -> None:
            self._resetting.difference_update(strategies)
            again = []
            for partition, strategy in strategies.items():
                answer = found.get(partition, codes.NETWORK_EXCEPTION)
                if isinstance(answer, int):
                    again.append(partition)
                    if answer not in RETRIED and self._subscriptions.is_assigned(partition):
                        self.error = broker_error(answer, f"partition {partition}")
                elif answer.offset >= 0:
                    position = FetchPosition(answer.offset, answer.leader_epoch, self._metadata.leader(partition))
                    self._subscriptions.finish_reset(partition, strategy, position)
                else:
                    # No record is as recent as the reset requires: reset to the end of the log (KIP-1106).
                    self._subscriptions.finish_reset_at_end(partition, strategy)
            if again:
                self._subscriptions.retry_at(again, now_ms + self._pause_ms(now_ms))

        return self._list_offsets(node, targets, take)

    def _pause_ms(self, now_ms: float) -> float:
        self._backoff.failed(now_ms)
        pause_ms = self._backoff.until_ms - now_ms
        self._backoff.succeeded()
        return pause_ms

    # By time

    def _time_requests(self, lookup: TimeLookup, now_ms: float) -> list[BrokerRequest]:
        targets = lookup.open
        by_leader, unknown = self._by_leader(targets, now_ms)
        if unknown:
            lookup.retry_ms = now_ms + self._pause_ms(now_ms)
        requests = []
        for node, partitions in by_leader.items():
            lookup.asked.update(partitions)
            requests.append(self._time_request(lookup, node, {p: targets[p] for p in partitions}))
        return requests

    def _time_request(self, lookup: TimeLookup, node: Node, targets: dict[TopicPartition, int]) -> BrokerRequest:
        def take(found: dict[TopicPartition, OffsetAndTimestamp | int], now_ms: float) -> None:
            lookup.asked.difference_update(targets)
            for partition in targets:
                answer = found.get(partition, codes.NETWORK_EXCEPTION)
                if isinstance(answer, int):
                    lookup.retry_ms = now_ms + self._pause_ms(now_ms)
                    if answer == codes.UNSUPPORTED_FOR_MESSAGE_FORMAT:
                        lookup.found[partition] = None
                    elif answer not in RETRIED:
                        self._end(lookup, broker_error(answer, f"partition {partition}"))
                else:
                    lookup.found[partition] = answer if answer.offset >= 0 else None
            if len(lookup.found) == len(lookup.targets):
                self._end(lookup, None)

        return self._list_offsets(node, targets, take)

    def _end(self, lookup: TimeLookup, error: Exception | None) -> None:
        if lookup in self._lookups:
            self._lookups.remove(lookup)
            still_wanted = {partition.topic for other in self._lookups for partition in other.targets}
            self._metadata.forget({partition.topic for partition in lookup.targets} - still_wanted)
        if error is not None:
            lookup.outcome.fail(error)
        else:
            lookup.outcome.complete(lookup.found)

    def _list_offsets(
        self,
        node: Node,
        targets: Mapping[TopicPartition, int],
        take: Callable[[dict[TopicPartition, OffsetAndTimestamp | int], float], None],
    ) -> BrokerRequest:
        topics: dict[str, list[dict[str, Any]]] = {}
        for partition, timestamp in targets.items():
            epoch = self._metadata.leader(partition).epoch
            row = {"partition_index": partition.partition, "current_leader_epoch": epoch, "timestamp": timestamp}
            topics.setdefault(partition.topic, []).append(row)
        fields = {
            "replica_id": CONSUMER_REPLICA_ID,
            "isolation_level": self._isolation_level,
            "topics": [{"name": topic, "partitions": rows} for topic, rows in topics.items()],
            "timeout_ms": int(self._request_timeout_ms),
        }

        def answered(response: Message | None, error: Exception | None, now_ms: float) -> None:
            found: dict[TopicPartition, OffsetAndTimestamp | int] = {}
            for topic in response.topics if response is not None else ():
                for entry in topic.partitions:
                    where = OffsetAndTimestamp(entry.offset, entry.timestamp, getattr(entry, "leader_epoch", NO_EPOCH))
                    code = entry.error_code
                    found[TopicPartition(topic.name, entry.partition_index)] = code if code else where
            if response is None or any(isinstance(answer, int) for answer in found.values()):
                self._metadata.request_update()
            take(found, now_ms)

        return BrokerRequest(apis.LIST_OFFSETS, lambda version: fields, node, answered, min_version=FIRST_LIST_OFFSETS)

    # Validation

    def _validation_requests(self, now_ms: float) -> list[BrokerRequest]:
        waiting = self._subscriptions.needing_validation(now_ms)
        asked = {partition: at for partition, at in waiting.items() if partition not in self._validating}
        by_leader, unknown = self._by_leader(asked, now_ms)
        self._subscriptions.retry_at(unknown, now_ms + self._pause_ms(now_ms))
        requests = []
        for node, partitions in by_leader.items():
            self._validating.update(partitions)
            requests.append(self._validation_request(node, {p: asked[p] for p in partitions}))
        return requests

    def _validation_request(self, node: Node, asked: dict[TopicPartition, FetchPosition]) -> BrokerRequest:
        topics: dict[str, list[dict[str, Any]]] = {}
        for partition, position in asked.items():
            row = {
                "partition": partition.partition,
                "current_leader_epoch": position.current_leader.epoch,
                "leader_epoch": position.offset_epoch,
            }
            topics.setdefault(partition.topic, []).append(row)
        rows = [{"topic": topic, "partitions": entries} for topic, entries in topics.items()]
        fields = {"replica_id": CONSUMER_REPLICA_ID, "topics": rows}

        def answered(response: Message | None, error: Exception | None, now_ms: float) -> None:
            self._validating.difference_update(asked)
            if isinstance(error, UnsupportedByBroker):
                for partition, position in asked.items():
                    end = EpochEnd(position.offset_epoch, position.offset)
                    self._subscriptions.finish_validation(partition, position, end)
                return
            self._validated(asked, response, now_ms)

        return BrokerRequest(
            apis.OFFSET_FOR_LEADER_EPOCH, lambda version: fields, node, answered, min_version=FIRST_EPOCH_VERSION
        )

    def _validated(self, asked: dict[TopicPartition, FetchPosition], response: Message | None, now_ms: float) -> None:
        open_questions = set(asked)
        truncated: dict[TopicPartition, int] = {}
        divergent: dict[TopicPartition, OffsetAndMetadata] = {}
        for topic in response.topics if response is not None else ():
            for entry in topic.partitions:
                partition = TopicPartition(topic.topic, entry.partition)
                if partition not in asked:
                    continue
                if entry.error_code:
                    if entry.error_code not in RETRIED:
                        self.error = broker_error(entry.error_code, f"partition {partition}")
                    continue
                open_questions.discard(partition)
                end = EpochEnd(entry.leader_epoch, entry.end_offset)
                outcome = self._subscriptions.finish_validation(partition, asked[partition], end)
                if outcome is Truncation.UNRESOLVED:
                    truncated[partition] = asked[partition].offset
                    self._subscriptions.retry_at([partition], NEVER_MS)
                    if end.end_offset >= 0:
                        divergent[partition] = OffsetAndMetadata(end.end_offset, "", end.leader_epoch)
        if truncated:
            self._subscriptions.fail(truncated, LogTruncated(truncated, divergent))
        if open_questions:
            self._metadata.request_update()
            self._subscriptions.retry_at(open_questions, now_ms + self._pause_ms(now_ms))
