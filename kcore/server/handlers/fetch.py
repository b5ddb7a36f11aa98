"""Fetch (key 1) on a handler thread: the requests that the native path refuses, or all if it is disabled.

v4 adds record format 2 and isolation levels, v5 the log start offset, v7 sessions (KIP-227), v9 leader epochs, v12
flexible fields and the last fetched epoch (KIP-595), v13 topic ids (KIP-516), v15 a tagged replica state (KIP-903). A
request that finds fewer than `min_bytes` waits in the purgatory and reads again when it is woken.

A request with session epoch 0 lists all its partitions and opens a session if the cache has room. Epoch -1 opens none.
Both close the session whose id they have. With any other epoch, the request has the changes of its session, and the
response only the partitions with something new. Unknown partitions do not end the wait for the others, unless there are
no others.
"""

from __future__ import annotations

from kcore import errors
from kcore.config.definition import INT_MAX
from kcore.quota.client_quota_manager import FETCH as FETCH_QUOTA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.replication.partition import FetchOutcome, Partition
    from kcore.server.fetch_sessions import HandlerSession
    from kcore.server.request_context import Fields, RequestContext

FIRST_WITH_SESSION = 7
FIRST_WITH_DIVERGING_EPOCH = 12
FIRST_BY_TOPIC_ID = 13
FIRST_WITH_REPLICA_STATE = 15
CONSUMER, DEBUG_CONSUMER = -1, -2
NO_SESSION = 0
NO_LEADER_EPOCH = -1
INITIAL_SESSION_EPOCH, FINAL_SESSION_EPOCH = 0, -1
READ_COMMITTED = 1
# Log's isolation levels.
LOG_END, HIGH_WATERMARK, TXN_COMMITTED = 0, 1, 2
# Of a response, for quotas: the bytes before all partitions, and those of each partition with records.
HEAD_BYTES, PARTITION_BYTES = 24, 42
NO_SUCH_PARTITION = (errors.UnknownTopicOrPartitionError.code, errors.UnknownTopicIdError.code)
SESSION_ERRORS = (
    errors.FetchSessionIdNotFoundError,
    errors.InvalidFetchSessionEpochError,
    errors.FetchSessionTopicIdError,
)


class FetchError:
    """The error of a partition that cannot be read."""

    __slots__ = ("code",)

    def __init__(self, code: int) -> None:
        self.code = code


class Asked:
    """The fetch parameters of one partition. `topic` is the topic's name or id."""

    __slots__ = ("fetch_offset", "index", "last_fetched_epoch", "leader_epoch", "max_bytes", "topic")

    def __init__(
        self, topic: bytes, index: int, leader_epoch: int, fetch_offset: int, last_fetched_epoch: int, max_bytes: int
    ) -> None:
        self.topic = topic
        self.index = index
        self.leader_epoch = leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.max_bytes = max_bytes

    @property
    def fields(self) -> tuple[bytes, int, int, int, int, int]:
        """The parameters in the shape that sessions take."""
        return (
            self.topic,
            self.index,
            self.leader_epoch,
            self.fetch_offset,
            self.last_fetched_epoch,
            self.max_bytes,
        )


class FetchAttempt:
    """The result of reading all partitions once, in their order."""

    __slots__ = ("failed", "outcomes", "size_bytes")

    def __init__(self) -> None:
        self.outcomes: list[FetchOutcome | FetchError] = []
        self.size_bytes = 0
        self.failed = False

    def add(self, outcome: FetchOutcome | FetchError) -> None:
        """Adds the outcome of the next partition."""
        self.outcomes.append(outcome)
        if isinstance(outcome, FetchError):
            self.failed |= outcome.code not in NO_SUCH_PARTITION
        else:
            self.failed |= outcome.error != errors.NONE or outcome.diverging_epoch is not None
            self.size_bytes += len(outcome.records)


class Fetch:
    """A fetch request with its partitions resolved and its bounds applied. This class has no session."""

    __slots__ = ("_by_id", "_has_divergence", "context", "isolation", "max_bytes", "min_bytes", "request", "wanted")

    def __init__(self, context: RequestContext, request: Any, isolation: int, wanted: list[Asked]) -> None:
        self.context = context
        self.request = request
        self._by_id = context.api_version >= FIRST_BY_TOPIC_ID
        # A session may have a last fetched epoch from a request with a later version than this one.
        self._has_divergence = context.api_version >= FIRST_WITH_DIVERGING_EPOCH
        self.isolation = isolation
        self.max_bytes = min(request.max_bytes, context.broker.config.number("fetch.max.bytes"), quota_bytes(context))
        self.min_bytes = min(request.min_bytes, self.max_bytes)
        self.wanted = [(resolve(context, asked.topic, asked.index, self._by_id), asked) for asked in wanted]

    def read(self) -> FetchAttempt:
        """Reads all partitions. The first one with records returns a whole batch despite the bounds."""
        attempt = FetchAttempt()
        for partition, asked in self.wanted:
            if isinstance(partition, FetchError):
                attempt.add(partition)
                continue
            left = max(0, self.max_bytes - attempt.size_bytes)
            attempt.add(
                partition.fetch(
                    asked.fetch_offset,
                    min(asked.max_bytes, left),
                    self.isolation,
                    at_least_one=attempt.size_bytes == 0,
                    leader_epoch=asked.leader_epoch,
                    last_fetched_epoch=asked.last_fetched_epoch if self._has_divergence else NO_LEADER_EPOCH,
                )
            )
        return attempt

    def is_satisfied(self, attempt: FetchAttempt) -> bool:
        """Whether to respond now."""
        return (
            attempt.failed
            or attempt.size_bytes >= self.min_bytes
            or self.request.max_wait_ms <= 0
            or all(isinstance(partition, FetchError) for partition, _ in self.wanted)
        )

    def wait(self, attempt: FetchAttempt) -> None:
        """Delays the request. It reads again and responds when it is woken."""
        reads = [
            (partition, asked.leader_epoch, asked.max_bytes, outcome.segment_base_offset, outcome.position)
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
        if is_throttled(self.context, attempt):
            # Send neither records nor a session: the client repeats the whole request.
            return {"session_id": NO_SESSION, "responses": []}
        self._count_bytes_out(attempt)
        outcomes = iter(attempt.outcomes)
        responses = [
            {
                "topic": topic.topic,
                "topic_id": topic.topic_id,
                "partitions": [self._describe(asked.partition, next(outcomes)) for asked in topic.partitions],
            }
            for topic in self.request.topics
        ]
        return {"session_id": self._open_session(attempt), "responses": responses}

    def _count_bytes_out(self, attempt: FetchAttempt) -> None:
        for (partition, _), outcome in zip(self.wanted, attempt.outcomes, strict=True):
            if not isinstance(partition, FetchError) and not isinstance(outcome, FetchError):
                partition.note_bytes_out(len(outcome.records))

    def _open_session(self, attempt: FetchAttempt) -> int:
        """Opens a session with the partitions of this response. NO_SESSION if none is wanted or the cache is full."""
        version = self.context.api_version
        if version < FIRST_WITH_SESSION or self.request.session_epoch != INITIAL_SESSION_EPOCH:
            return NO_SESSION
        from kcore.server.fetch_sessions import open_session

        return open_session(
            self.context.broker.fetch_session_cache,
            self._by_id,
            replica_id_of(self.context, self.request) >= 0,
            [asked.fields for _, asked in self.wanted],
            [told_by(outcome) for outcome in attempt.outcomes],
        )

    def _describe(self, index: int, outcome: FetchOutcome | FetchError) -> Fields:
        code = outcome.code if isinstance(outcome, FetchError) else outcome.error
        if isinstance(outcome, FetchError) or code != errors.NONE:
            return failure(index, code)
        fields: dict[str, Any] = {
            "partition_index": index,
            "high_watermark": outcome.high_watermark,
            "last_stable_offset": outcome.last_stable_offset,
            "log_start_offset": outcome.log_start_offset,
            "aborted_transactions": [
                {"producer_id": producer_id, "first_offset": first_offset}
                for producer_id, first_offset in outcome.aborted_transactions
            ]
            if self.isolation == TXN_COMMITTED
            else None,
            "records": outcome.records,
        }
        if outcome.diverging_epoch is not None:
            epoch, end_offset = outcome.diverging_epoch
            fields["diverging_epoch"] = {"epoch": epoch, "end_offset": end_offset}
            fields["aborted_transactions"] = None
        return fields


class IncrementalFetch(Fetch):
    """A request of a session: reads all partitions of the session, and responds with those that have something new."""

    __slots__ = ("_session",)

    def __init__(self, context: RequestContext, request: Any, isolation: int, session: HandlerSession) -> None:
        super().__init__(context, request, isolation, [Asked(*fields) for fields in session.partitions()])
        self._session = session

    def answer(self, attempt: FetchAttempt) -> Fields:
        """The partitions with something new, in the session's order. Consecutive ones of a topic are grouped."""
        if is_throttled(self.context, attempt):
            # Do not update the session: the partitions are read again.
            return {"session_id": self._session.session_id, "responses": []}
        try:
            news = self._session.tell([told_by(outcome) for outcome in attempt.outcomes])
        except errors.InvalidFetchSessionEpochError as error:
            return {"error_code": error.code, "session_id": self._session.session_id, "responses": []}
        self._count_bytes_out(attempt)
        responses: list[Any] = []
        previous = None
        for (_, asked), outcome, is_news in zip(self.wanted, attempt.outcomes, news, strict=True):
            if not is_news:
                continue
            if asked.topic != previous:
                previous = asked.topic
                name = {"topic_id": asked.topic} if self._by_id else {"topic": asked.topic.decode()}
                responses.append({**name, "partitions": []})
            responses[-1]["partitions"].append(self._describe(asked.index, outcome))
        return {"session_id": self._session.session_id, "responses": responses}


def handle(context: RequestContext, request: Any) -> Fields | None:
    """Reads, and delays the request if it finds too little."""
    isolation = isolation_of(context, request)
    fetch = make_fetch(context, request, isolation)
    attempt = fetch.read()
    if fetch.is_satisfied(attempt):
        return fetch.answer(attempt)
    fetch.wait(attempt)
    return None


def make_fetch(context: RequestContext, request: Any, isolation: int) -> Fetch:
    """Resolves the request, and applies its changes to its session, if any. Raises the session's error."""
    by_id = context.api_version >= FIRST_BY_TOPIC_ID
    sessions = context.broker.fetch_session_cache
    wanted = [
        Asked(
            topic.topic_id if by_id else topic.topic.encode(),
            asked.partition,
            asked.current_leader_epoch,
            asked.fetch_offset,
            asked.last_fetched_epoch,
            asked.partition_max_bytes,
        )
        for topic in request.topics
        for asked in topic.partitions
    ]
    if request.session_epoch in (INITIAL_SESSION_EPOCH, FINAL_SESSION_EPOCH):
        if request.session_id != NO_SESSION:
            sessions.remove_session(request.session_id)
        return Fetch(context, request, isolation, wanted)
    from kcore.server.fetch_sessions import take_up_session

    forgotten = [
        (topic.topic_id if by_id else topic.topic.encode(), index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]
    session = take_up_session(
        sessions, request.session_id, request.session_epoch, by_id, [asked.fields for asked in wanted], forgotten
    )
    if session is None:
        return Fetch(context, request, isolation, wanted)
    return IncrementalFetch(context, request, isolation, session)


def quota_bytes(context: RequestContext) -> int:
    """The most bytes to read: what is left of the quota, but at least the amount of one window."""
    return int(
        min(INT_MAX, context.broker.client_quotas.most_at_once_for(FETCH_QUOTA, context.user, context.client_id))
    )


def is_throttled(context: RequestContext, attempt: FetchAttempt) -> bool:
    """Charges the client for approximately the bytes of the response. If throttled, it is not charged for records."""
    counts = sum(1 for outcome in attempt.outcomes if not isinstance(outcome, FetchError) and outcome.records)
    size_bytes = HEAD_BYTES + PARTITION_BYTES * counts + attempt.size_bytes
    context.charge_time()
    # If its time throttles the request, the response has no records to charge. Its bytes may throttle it for longer.
    context.charge(FETCH_QUOTA, 0 if context.throttle_ms else size_bytes, strictly=True)
    return context.throttle_ms > 0


def told_by(outcome: FetchOutcome | FetchError) -> tuple[int, int, int, int, bool]:
    """The outcome of a partition in the shape that sessions take."""
    if isinstance(outcome, FetchError):
        return -1, -1, 0, outcome.code, False
    if outcome.error != errors.NONE:
        return -1, -1, 0, outcome.error, False
    diverges = outcome.diverging_epoch is not None
    return outcome.high_watermark, outcome.log_start_offset, len(outcome.records), errors.NONE, diverges


def replica_id_of(context: RequestContext, request: Any) -> int:
    """The broker id of a follower. Negative for clients."""
    tagged = context.api_version >= FIRST_WITH_REPLICA_STATE
    return int(request.replica_state.replica_id if tagged else request.replica_id)


def isolation_of(context: RequestContext, request: Any) -> int:
    """The isolation level of the reads. Followers are refused, since this broker has no replicas elsewhere."""
    replica_id = replica_id_of(context, request)
    if replica_id == DEBUG_CONSUMER:
        return LOG_END
    if replica_id != CONSUMER:
        raise errors.NotLeaderOrFollowerError()
    return TXN_COMMITTED if request.isolation_level == READ_COMMITTED else HIGH_WATERMARK


def resolve(context: RequestContext, topic: bytes, index: int, by_id: bool) -> Partition | FetchError:
    """The partition of a topic name or id, or its error."""
    broker = context.broker
    if by_id:
        found = broker.metadata_cache.topic_by_id(topic)
        if found is None:
            return FetchError(errors.UnknownTopicIdError.code)
        name = found.name
    else:
        name = topic.decode()
    partition = broker.replica_manager.partition(name, index)
    return partition if partition is not None else FetchError(broker.missing_partition_error(name, index))


def failure(index: int, code: int) -> Fields:
    """The response of a partition with an error."""
    return {
        "partition_index": index,
        "error_code": code,
        "high_watermark": -1,
        "last_stable_offset": -1,
        "log_start_offset": -1,
        "aborted_transactions": None,
        "records": b"",
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets a session error at the top level, and any other error on every partition."""
    if isinstance(error, SESSION_ERRORS):
        return {"error_code": error.code, "responses": []}
    return {
        "responses": [
            {
                "topic": topic.topic,
                "topic_id": topic.topic_id,
                "partitions": [failure(asked.partition, error.code) for asked in topic.partitions],
            }
            for topic in request.topics
        ]
    }
