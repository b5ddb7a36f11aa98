"""How far consumer groups are behind, in records and in seconds, for every partition that they committed an offset of.

What an operator wants to know of a group whether or not it has members at the moment. The rule is
`kcore/metrics/consumer_lag.py`'s.

Bounds: `metrics.max.group.partitions` pairs of group and partition, by the names of the groups; the number of those
left out is a metric of its own. The time of a record is found through the index and read from the log, once for each
committed offset, and for SEARCH_BUDGET_S at most in one go: beyond that, the rest has no seconds until the next time.
"""

from __future__ import annotations

import time

from kcore.errors import KafkaError
from kcore.metrics.consumer_lag import first_unread, records_behind, seconds_behind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcore.coordinator.group.coordinator import GroupCoordinator
    from kcore.metrics.registry import Sample
    from kcore.replication.partition import Partition
    from kcore.replication.replica_manager import ReplicaManager

    Place = tuple[str, str, int]

SEARCH_BUDGET_S = 0.5


class GroupLag:
    """A source of samples. `now_ms` is the wall clock, which records' timestamps are compared with."""

    __slots__ = ("_coordinator", "_limit", "_now_ms", "_record_times", "_replicas", "_search_until_s")

    def __init__(
        self,
        coordinator: GroupCoordinator,
        replicas: ReplicaManager,
        limit: Callable[[], int],
        now_ms: Callable[[], int],
    ) -> None:
        self._coordinator = coordinator
        self._replicas = replicas
        self._limit = limit
        self._now_ms = now_ms
        # (group, topic, partition) -> (offset, timestamp of the first record from there on), as last found.
        self._record_times: dict[Place, tuple[int, int]] = {}
        self._search_until_s = 0.0

    def samples(self) -> Iterator[Sample]:
        """The metrics of GROUP_LAG."""
        known: dict[Place, tuple[int, int]] = {}
        left_out = 0
        room = self._limit()
        now_ms = self._now_ms()
        self._search_until_s = time.monotonic() + SEARCH_BUDGET_S
        for group, offsets in sorted(self._coordinator.committed_offsets()):
            for (topic, index), committed in sorted(offsets.items()):
                partition = self._replicas.partition(topic, index)
                if partition is None:
                    continue
                if room == 0:
                    left_out += 1
                    continue
                room -= 1
                labels = (group, topic, str(index))
                lag = records_behind(committed.offset, partition.high_watermark)
                yield "kafka_consumergroup_current_offset", labels, committed.offset
                yield "kafka_consumergroup_lag", labels, lag
                place = (group, topic, index)
                timestamp = None if lag == 0 else self._record_time(place, partition, committed.offset)
                seconds = seconds_behind(lag, timestamp, now_ms)
                if seconds is not None:
                    yield "kafka_consumergroup_lag_seconds", labels, seconds
                if place in self._record_times:
                    known[place] = self._record_times[place]
        self._record_times = known
        yield "kcli_group_partitions_left_out", (), left_out

    def _record_time(self, place: Place, partition: Partition, offset: int) -> int | None:
        """When the first record that is not read was made; None when that is not known (yet)."""
        offset = first_unread(offset, partition.log.start_offset)
        found = self._record_times.get(place)
        if found is not None and found[0] == offset:
            return found[1]
        if time.monotonic() > self._search_until_s:
            return None
        try:
            timestamp = partition.log.timestamp_at(offset)
        except (OSError, KafkaError):
            # A directory that fails, or a log that is being deleted, is reported elsewhere.
            return None
        if timestamp is None or timestamp < 0:
            return None
        self._record_times[place] = (offset, timestamp)
        return timestamp
