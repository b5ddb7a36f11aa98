"""The lag of consumer groups in records and in seconds, for every partition with a committed offset.

It is reported for groups with and without members. `kcore/metrics/consumer_lag.py` defines the lag.

Bounds: at most `metrics.max.group.partitions` pairs of group and partition are reported, in the order of group names;
a metric has the number of pairs left out. The timestamp of a record is found through the index and read from the log,
once per committed offset. One scrape spends at most SEARCH_BUDGET_S on this; partitions that remain have no lag in
seconds until the next scrape.
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
    """A source of samples. `now_ms` is the wall clock that record timestamps are compared with."""

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
        # (group, topic, partition) -> (first unread offset, timestamp of its record), kept between scrapes.
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
        """The timestamp in milliseconds of the first unread record. None if it is unknown or not searched yet."""
        offset = first_unread(offset, partition.log.start_offset)
        found = self._record_times.get(place)
        if found is not None and found[0] == offset:
            return found[1]
        if time.monotonic() > self._search_until_s:
            return None
        try:
            timestamp = partition.log.timestamp_at(offset)
        except (OSError, KafkaError):
            # A failed directory, or a log being deleted, is reported elsewhere.
            return None
        if timestamp is None or timestamp < 0:
            return None
        self._record_times[place] = (offset, timestamp)
        return timestamp
