"""Reads records as fast as possible, and measures until enough records have arrived or none arrives for too long.

By default fetches are taken as columns, so that the cluster is measured and not the reader. `poll` creates a Python
object per record, as applications may do. Latencies are the durations of calls that returned records.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from kcli.performance.tally import Recorder
from kcli.performance.workers import watch
from kcore.client.consumer.rebalance_callback import RebalanceListener

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

    from kcli.performance.workers import Emit, Share
    from kcore.client.config.client_config import ConsumerConfig
    from kcore.client.consumer.consumer import Consumer
    from kcore.client.metadata.cluster import TopicPartition

MAX_WAIT_MS = 100.0
POLL, POLL_COLUMNS, POLL_ARROW = "poll", "poll_columns", "poll_arrow"


class ConsumerRun(NamedTuple):
    """The parameters of all workers; `topics` is a name or a pattern."""

    make_config: Callable[[int], ConsumerConfig]
    topics: str | re.Pattern[str]
    timeout_ms: int
    call: str = POLL_COLUMNS
    interval_s: float = 5.0


class JoinTimes(RebalanceListener):
    """Time without partitions: from the start, or from the last revocation, to the next assignment."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._held: set[TopicPartition] = set()
        self._began_s = time.perf_counter()

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        if not self._held:
            self._recorder.add_rebalance(time.perf_counter() - self._began_s)
        self._held.update(partitions)

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self._held.difference_update(partitions)
        if not self._held:
            self._began_s = time.perf_counter()


class ConsumerPerformance:
    """One worker: a member of the group, which reads until all members together have read enough."""

    def __init__(self, run: ConsumerRun, share: Share, emit: Emit) -> None:
        self._run = run
        self._share = share
        self._emit = emit

    def work(self) -> None:
        from kcore.client.consumer.consumer import Consumer

        self._recorder = Recorder(self._share.worker, self._run.interval_s, self._emit)
        with Consumer(self._run.make_config(self._share.worker)) as consumer, watch(self._share, consumer):
            topics = self._run.topics
            consumer.subscribe([topics] if isinstance(topics, str) else topics, JoinTimes(self._recorder))
            self._read(consumer)
            self._recorder.finish([])

    def _read(self, consumer: Consumer) -> None:
        """Reads until all have read enough, or this member has read nothing for the whole timeout."""
        wait_ms = min(MAX_WAIT_MS, self._run.timeout_ms)
        read = self._reader(consumer)
        last_s = time.perf_counter()
        while not self._share.is_enough():
            polled_ns = time.perf_counter_ns()
            records, size_bytes = read(wait_ms)
            now_ns = time.perf_counter_ns()
            if records:
                last_s = now_ns / 1e9
                is_steady = self._share.counted(records)
                if is_steady and self._recorder.done.steady_began_s is None:
                    self._recorder.begin_steady_state()
                self._recorder.add(records, size_bytes, now_ns - polled_ns, is_steady=is_steady)
            elif now_ns / 1e9 - last_s > self._run.timeout_ms / 1000.0:
                return
            self._recorder.report_if_due()

    def _reader(self, consumer: Consumer) -> Callable[[float], tuple[int, int]]:
        """A function that reads once and returns the number of records and the bytes of their keys and values."""
        if self._run.call == POLL:

            def poll(timeout_ms: float) -> tuple[int, int]:
                records = consumer.poll(timeout_ms)
                return len(records), sum(len(record.key or b"") + len(record.value or b"") for record in records)

            return poll
        take = consumer.poll_arrow if self._run.call == POLL_ARROW else consumer.poll_columns

        def poll_columns(timeout_ms: float) -> tuple[int, int]:
            columns = take(timeout_ms)
            return len(columns), columns.nbytes

        return poll_columns
