"""Fetch (key 1) on a handler thread: every rare case of the native path, and all of them where that is turned off.

v4 brings record format 2 and isolation, v5 the log start offset, v7 sessions (KIP-227), v9 leader epochs, v12 flexible
fields and the epoch of the last fetched record (KIP-595), v13 topic ids (KIP-516), v15 a tagged replica state
(KIP-903). A request that finds fewer than `min_bytes` waits in the purgatory and reads again when it is woken.
Sessions are not kept: a full request is answered without one, and one that names a session is told that it is gone,
upon which clients send a full one.
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.replication.partition import FetchOutcome, Partition
    from kcore.server.request_context import Fields, RequestContext
    from kcore.storage.log import Log

FIRST_BY_TOPIC_ID = 13
FIRST_WITH_REPLICA_STATE = 15
CONSUMER, DEBUG_CONSUMER = -1, -2
INITIAL_SESSION_EPOCH, FINAL_SESSION_EPOCH = 0, -1
READ_COMMITTED = 1
# Log's isolation levels.
LOG_END, HIGH_WATERMARK, TXN_COMMITTED = 0, 1, 2
NO_EPOCH = -1


class FetchError:
    """A partition that cannot be read."""

    __slots__ = ("code", "diverging_epoch", "log")

    def __init__(self, code: int, diverging_epoch: tuple[int, int] | None = None, log: Log | None = None) -> None:
        self.code = code
        self.diverging_epoch = diverging_epoch
        self.log = log


class FetchAttempt:
    """One reading of everything that a request asks for, in its order."""

    __slots__ = ("failed", "outcomes", "size_bytes")

    def __init__(self) -> None:
        self.outcomes: list[FetchOutcome | FetchError] = []
        self.size_bytes = 0
        self.failed = False

    def add(self, outcome: FetchOutcome | FetchError) -> None:
        """Takes the next partition's outcome."""
        self.outcomes.append(outcome)
        if isinstance(outcome, FetchError):
            self.failed = True
        else:
            self.failed |= outcome.error != errors.NONE
            self.size_bytes += len(outcome.records)


class Fetch:
    """A request resolved: its partitions, and the bounds that hold for it."""

    __slots__ = ("context", "isolation", "max_bytes", "min_bytes", "request", "wanted")

    def __init__(self, context: RequestContext, request: Any) -> None:
        self.context = context
        self.request = request
        by_id = context.api_version >= FIRST_BY_TOPIC_ID
        self.isolation = isolation_of(context, request)
        self.max_bytes = min(request.max_bytes, context.broker.config.number("fetch.max.bytes"))
        self.min_bytes = min(request.min_bytes, self.max_bytes)
        self.wanted = [
            (resolve(context, topic.topic_id if by_id else topic.topic, asked.partition), asked)
            for topic in request.topics
            for asked in topic.partitions
        ]

    def read(self) -> FetchAttempt:
        """The first partition with records gives a whole batch, whatever the bounds."""
        attempt = FetchAttempt()
        for partition, asked in self.wanted:
            if isinstance(partition, FetchError):
                attempt.add(partition)
                continue
            error = divergence(partition, asked)
            left = max(0, self.max_bytes - attempt.size_bytes)
            attempt.add(
                error
                or partition.fetch(
                    asked.fetch_offset,
                    min(asked.partition_max_bytes, left),
                    self.isolation,
                    at_least_one=attempt.size_bytes == 0,
                    leader_epoch=asked.current_leader_epoch,
                )
            )
        return attempt

    def is_satisfied(self, attempt: FetchAttempt) -> bool:
        """Whether the answer goes out now."""
        return (
            attempt.failed or attempt.size_bytes >= self.min_bytes or self.request.max_wait_ms <= 0 or not self.wanted
        )

    def wait(self, attempt: FetchAttempt) -> None:
        """Answers later, with what can be read then."""
        reads = [
            (
                partition,
                asked.current_leader_epoch,
                asked.partition_max_bytes,
                outcome.segment_base_offset,
                outcome.position,
            )
            for (partition, asked), outcome in zip(self.wanted, attempt.outcomes, strict=True)
            if not isinstance(partition, FetchError) and not isinstance(outcome, FetchError)
        ]
        broker = self.context.broker
        broker.delayed_requests.wait_for_records(
            broker.fetch_purgatory,
            reads,
            self.isolation,
            self.min_bytes,
            self.request.max_wait_ms,
            self.context.respond_later(lambda: self.answer(self.read())),
        )

    def answer(self, attempt: FetchAttempt) -> Fields:
        """The response's fields."""
        outcomes = iter(attempt.outcomes)
        responses = [
            {
                "topic": topic.topic,
                "topic_id": topic.topic_id,
                "partitions": [self._describe(asked.partition, next(outcomes)) for asked in topic.partitions],
            }
            for topic in self.request.topics
        ]
        return {"responses": responses}

    def _describe(self, index: int, outcome: FetchOutcome | FetchError) -> Fields:
        if isinstance(outcome, FetchError):
            return failure(index, outcome)
        if outcome.error != errors.NONE:
            return failure(index, FetchError(outcome.error))
        return {
            "partition_index": index,
            "high_watermark": outcome.high_watermark,
            "last_stable_offset": outcome.last_stable_offset,
            "log_start_offset": outcome.log_start_offset,
            "aborted_transactions": [] if self.isolation == TXN_COMMITTED else None,
            "records": outcome.records,
        }


def handle(context: RequestContext, request: Any) -> Fields | None:
    """Reads, and waits when that is not enough."""
    if request.session_epoch not in (INITIAL_SESSION_EPOCH, FINAL_SESSION_EPOCH):
        raise errors.FetchSessionIdNotFoundError()
    fetch = Fetch(context, request)
    attempt = fetch.read()
    if fetch.is_satisfied(attempt):
        return fetch.answer(attempt)
    fetch.wait(attempt)
    return None


def isolation_of(context: RequestContext, request: Any) -> int:
    """How far the asker may read. Nobody follows this broker yet, so a follower is in the wrong place."""
    tagged = context.api_version >= FIRST_WITH_REPLICA_STATE
    replica_id = request.replica_state.replica_id if tagged else request.replica_id
    if replica_id == DEBUG_CONSUMER:
        return LOG_END
    if replica_id != CONSUMER:
        raise errors.NotLeaderOrFollowerError()
    return TXN_COMMITTED if request.isolation_level == READ_COMMITTED else HIGH_WATERMARK


def resolve(context: RequestContext, topic: str | bytes, index: int) -> Partition | FetchError:
    """A partition by its topic's name or id."""
    broker = context.broker
    if isinstance(topic, bytes):
        found = broker.metadata_cache.topic_by_id(topic)
        if found is None:
            return FetchError(errors.UnknownTopicIdError.code)
        topic = found.name
    partition = broker.replica_manager.partition(topic, index)
    return partition if partition is not None else FetchError(broker.missing_partition_error(topic, index))


def divergence(partition: Partition, asked: Any) -> FetchError | None:
    """Whether what the client read last is not in this log: then it is told where the two part (KIP-595)."""
    if asked.last_fetched_epoch == NO_EPOCH:
        return None
    code = partition.leadership_error(asked.current_leader_epoch)
    if code != errors.NONE:
        return FetchError(code)
    epoch, end_offset = partition.log.end_offset_for_epoch(asked.last_fetched_epoch)
    if epoch == NO_EPOCH:
        return FetchError(errors.OffsetOutOfRangeError.code)
    if epoch < asked.last_fetched_epoch or end_offset < asked.fetch_offset:
        return FetchError(errors.NONE, (epoch, end_offset), partition.log)
    return None


def failure(index: int, error: FetchError) -> Fields:
    """One partition without records."""
    fields: dict[str, Any] = {
        "partition_index": index,
        "error_code": error.code,
        "high_watermark": -1,
        "last_stable_offset": -1,
        "log_start_offset": -1,
        "aborted_transactions": None,
        "records": b"",
    }
    if error.diverging_epoch is not None:
        epoch, end_offset = error.diverging_epoch
        fields["diverging_epoch"] = {"epoch": epoch, "end_offset": end_offset}
    if error.log is not None:
        fields["high_watermark"] = error.log.high_watermark
        fields["last_stable_offset"] = error.log.last_stable_offset
        fields["log_start_offset"] = error.log.start_offset
    return fields


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """A session's error stands alone, any other one on every partition."""
    if isinstance(error, errors.FetchSessionIdNotFoundError):
        return {"error_code": error.code, "responses": []}
    return {
        "responses": [
            {
                "topic": topic.topic,
                "topic_id": topic.topic_id,
                "partitions": [failure(asked.partition, FetchError(error.code)) for asked in topic.partitions],
            }
            for topic in request.topics
        ]
    }
