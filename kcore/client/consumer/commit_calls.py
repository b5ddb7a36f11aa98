"""CommitCalls: the commits that a consumer's application thread makes, on request and automatically."""

from __future__ import annotations

from kcore.client.clock import now_ms
from kcore.client.consumer.consumer_errors import IllegalState
from kcore.client.errors import ClientError, InvalidSetting
from kcore.errors import KafkaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.consumer.consumer_engine import Committed, ConsumerEngine, OnCommit
    from kcore.client.consumer.interceptors import ConsumerInterceptors
    from kcore.client.consumer.outcome import Outcome

NEEDS_GROUP = "To use the group management or offset commit APIs, you must provide a valid group.id"


class CommitCalls:
    """`is_automatic` is enable.auto.commit until it is switched off."""

    def __init__(self, engine: ConsumerEngine, interceptors: ConsumerInterceptors) -> None:
        config = engine.config
        self._engine = engine
        self._interceptors = interceptors
        self._interval_ms: int = config["auto.commit.interval.ms"]
        self._rebalance_limit_ms = min(config["max.poll.interval.ms"], float(config["default.api.timeout.ms"]))
        self.is_automatic: bool = config["enable.auto.commit"]
        self.due_ms = now_ms() + self._interval_ms

    def begin(self, offsets: Committed | None, deadline_ms: float | None) -> tuple[Committed, Outcome[None]]:
        """Commit `offsets`, or the positions of all partitions. Call this under the lock."""
        engine = self._engine
        if engine.commits is None:
            raise IllegalState(NEEDS_GROUP)
        if offsets is None:
            engine.fetches.pull()
            offsets = engine.subscriptions.all_consumed
        if any(where.offset < 0 for where in offsets.values()):
            raise InvalidSetting("Invalid negative offset: commit the offset of the next record to read, at least 0")
        return offsets, engine.commits.commit(offsets, deadline_ms)

    def begin_automatic(self, deadline_ms: float | None) -> Outcome[None] | None:
        """Commit the positions if commits are automatic and the member may commit. Call this under the lock."""
        commits = self._engine.commits
        if not self.is_automatic or commits is None:
            return None
        self.due_ms = now_ms() + self._interval_ms
        membership = commits.membership
        if membership is not None and not membership.can_commit:
            return None
        offsets, outcome = self.begin(None, deadline_ms)
        if deadline_ms is None:
            outcome.on_done(lambda done: self._note_automatic(offsets, done.error))
        self._engine.network.wake()
        return outcome

    def begin_if_due(self) -> None:
        """Begin the automatic commit of `poll` if it is due."""
        if self.is_automatic and now_ms() >= self.due_ms:
            with self._engine.network.lock:
                self.begin_automatic(None)

    def commit_before_rebalance(self, deadline_ms: float) -> None:
        """Commit on a best-effort basis. A removed member cannot commit; then others read some records again."""
        deadline_ms = min(deadline_ms, now_ms() + self._rebalance_limit_ms)
        with self._engine.network.lock:
            outcome = self.begin_automatic(deadline_ms)
        if outcome is not None:
            try:
                self._engine.wait(outcome, deadline_ms)
            except (ClientError, KafkaError) as error:
                self._engine.warn(
                    "The offsets could not be committed before a rebalance: %s. Records may be read again", error
                )

    def note(self, callback: OnCommit | None, offsets: Committed, error: Exception | None) -> None:
        """Store the result of an asynchronous commit for `run_callbacks`."""
        self._engine.commit_results.append((callback, offsets, error))

    def _note_automatic(self, offsets: Committed, error: Exception | None) -> None:
        if error is None:
            self.note(None, offsets, None)
        else:
            self._engine.warn("The offsets could not be committed: %s. The next commit includes them", error)

    def run_callbacks(self) -> None:
        """Run the interceptors and callbacks of finished asynchronous commits."""
        results = self._engine.commit_results
        while results:
            callback, offsets, error = results.pop(0)
            if error is None:
                self._interceptors.on_commit(offsets)
            if callback is not None:
                callback(offsets, error)
