"""The driver's view of the cluster: partitions, and the offsets of places (earliest, latest, a time) in them.

Partitions are cached for `metadataMaxAgeMs`. Retriable errors are retried `fetchOffset.numRetries` times. Each attempt
is limited by the client's `default.api.timeout.ms`, so planning always ends.
"""

from __future__ import annotations

import time

from kcore import uuid
from kcore.client.admin.admin import Admin
from kcore.client.admin.records import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED
from kcore.client.admin.results import failures, succeeded
from kcore.client.errors import ClientError
from kcore.client.metadata.cluster import TopicPartition
from kcore.errors import KafkaError
from kspark.offset_policy import EARLIEST_OFFSET, LATEST_OFFSET
from kspark.options import OptionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeVar

    from kcore.client.metadata.cluster import TopicDescription
    from kspark.offset_policy import Place
    from kspark.source_options import SourceOptions, Wanted

    Result = TypeVar("Result")

NO_MATCH = -1


class ClusterView:
    """View of one source's partitions. Used by one thread. Call `close` at the end."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._admin = Admin(options.client)
        self._isolation = (
            READ_COMMITTED if options.client.get("isolation.level") == "read_committed" else READ_UNCOMMITTED
        )
        self._partitions: dict[TopicPartition, bytes] = {}
        self._asked_s = -float("inf")

    def close(self) -> None:
        self._admin.close()

    def partitions(self) -> dict[TopicPartition, bytes]:
        """Return the partitions to read with their topic ids, from the cache if it is not too old."""
        if time.monotonic() - self._asked_s >= self._options.metadata_age_ms / 1000:
            topics = self._retrying(lambda: self._admin.list_topics(include_internal=True))
            self._partitions = selected(self._options.wanted, topics)
            self._asked_s = time.monotonic()
        return self._partitions

    def forget(self) -> None:
        """Make the next call of `partitions` ask the cluster."""
        self._asked_s = -float("inf")

    def earliest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(dict.fromkeys(partitions, EARLIEST))

    def latest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(dict.fromkeys(partitions, LATEST))

    def starts(self, places: Mapping[TopicPartition, Place]) -> dict[TopicPartition, int]:
        """Return starting offsets.

        Raises OptionError if no record is at or after a time and `startingOffsetsByTimestampStrategy` is error.
        """
        return self._resolved(places, at_end=self._options.without_match_at_end)

    def ends(self, places: Mapping[TopicPartition, Place]) -> dict[TopicPartition, int]:
        """Return ending offsets. If no record is at or after a time, this is the latest offset."""
        return self._resolved(places, at_end=True)

    def _resolved(self, places: Mapping[TopicPartition, Place], *, at_end: bool) -> dict[TopicPartition, int]:
        times = {partition: _time_of(place) for partition, place in places.items()}
        found = self._offsets({partition: one for partition, one in times.items() if one is not None})
        without = [partition for partition, offset in found.items() if offset == NO_MATCH]
        if without and not at_end:
            raise OptionError(
                f"{', '.join(map(str, without))}: no record at or after the starting time. Set an earlier time, or set "
                "startingOffsetsByTimestampStrategy to latest"
            )
        found.update(self.latest(without))
        return {partition: found.get(partition, place.offset or 0) for partition, place in places.items()}

    def _offsets(self, times: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        if not times:
            return {}

        def ask() -> dict[TopicPartition, int]:
            answers = self._admin.list_offsets(times, isolation_level=self._isolation)
            for failure in failures(answers).values():
                raise failure
            return {partition: listed.offset for partition, listed in succeeded(answers).items()}

        return self._retrying(ask)

    def _retrying(self, act: Callable[[], Result]) -> Result:
        for left in range(self._options.offset_retries, -1, -1):
            try:
                return act()
            except (ClientError, KafkaError) as error:
                if not left or not error.retriable:
                    raise
                time.sleep(self._options.offset_retry_ms / 1000)
        raise AssertionError("the last try returns or raises")


def _time_of(place: Place) -> int | None:
    """Return the timestamp for ListOffsets; None if the place is already an offset."""
    if place.timestamp_ms is not None:
        return place.timestamp_ms
    return {EARLIEST_OFFSET: EARLIEST, LATEST_OFFSET: LATEST}.get(place.offset or 0)


def selected(wanted: Wanted, topics: Iterable[TopicDescription]) -> dict[TopicPartition, bytes]:
    """Return the partitions to read with their topic ids. For `assign` these are the given partitions, unchecked.

    Raises OptionError if a topic named in `subscribe` does not exist. With a pattern, no topic has to exist.
    """
    there = {topic.name: topic for topic in topics}
    if wanted.partitions is not None:
        ids = {name: topic.topic_id for name, topic in there.items()}
        return {partition: ids.get(partition.topic, uuid.ZERO) for partition in wanted.partitions}
    if wanted.pattern is not None:
        names = {name for name, topic in there.items() if not topic.is_internal and wanted.pattern.fullmatch(name)}
    else:
        names = set(wanted.topics or ())
        missing = sorted(names - there.keys())
        if missing:
            raise OptionError(
                f"subscribe: {', '.join(missing)} {'does' if len(missing) == 1 else 'do'} not exist. Create the topics "
                "first, or use subscribePattern to wait for them"
            )
    return {
        TopicPartition(name, info.partition): there[name].topic_id for name in names for info in there[name].partitions
    }
