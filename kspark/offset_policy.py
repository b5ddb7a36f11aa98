"""Starting and ending offsets: a rule for every partition, in the syntax of Spark's Kafka source.

    earliest | latest | {"topic": {"0": 23, "1": -2}}                       startingOffsets, endingOffsets
    {"topic": {"0": 1700000000000}}                                         ...OffsetsByTimestamp
    1700000000000                                                           startingTimestamp, endingTimestamp

startingOffsets and endingOffsets also accept `"*"` for all topics or partitions that are not named, a rule in place of
a topic's partitions, and `"earliest"`, `"latest"` or `{"timestamp": 1700000000000}` in place of an offset.
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.metadata.cluster import TopicPartition
from kspark.options import OptionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

EARLIEST_OFFSET, LATEST_OFFSET = -2, -1
EARLIEST, LATEST, TIMESTAMP, OTHERS = "earliest", "latest", "timestamp", "*"
WORDS = {EARLIEST: EARLIEST_OFFSET, LATEST: LATEST_OFFSET}


class Place(NamedTuple):
    """Place in one partition: an offset, or the first record at or after a time.

    The offset may be EARLIEST_OFFSET or LATEST_OFFSET.
    """

    offset: int | None
    timestamp_ms: int | None = None


AT_EARLIEST, AT_LATEST = Place(EARLIEST_OFFSET), Place(LATEST_OFFSET)


class OffsetPolicy:
    """Places by topic and partition, with `*` for all others. `option` is the option's name for error messages."""

    def __init__(self, option: str, places: dict[str, dict[str, Place]]) -> None:
        self.option = option
        self._places = places

    def place_of(self, partition: TopicPartition) -> Place | None:
        """Return the place for a partition; None if there is no rule for it."""
        for topic in (partition.topic, OTHERS):
            of_topic = self._places.get(topic, {})
            for number in (str(partition.partition), OTHERS):
                if number in of_topic:
                    return of_topic[number]
        return None

    def places(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Place]:
        """Return the places of these partitions.

        Raises OptionError if a partition has no rule, or if a rule names a partition that is not read.
        """
        wanted = sorted(partitions)
        found = {partition: self.place_of(partition) for partition in wanted}
        missing = [str(partition) for partition, place in found.items() if place is None]
        strangers = sorted(self._named() - set(wanted))
        if missing:
            raise OptionError(
                f"{self.option}: no offset for {', '.join(missing)}. Add them, with "
                f'-2 for earliest or -1 for latest, or {{"*": ...}} for all others'
            )
        if strangers:
            raise OptionError(
                f"{self.option}: {', '.join(map(str, strangers))} {'is' if len(strangers) == 1 else 'are'} not read. "
                f"Partitions that are read: {', '.join(map(str, wanted)) or 'none'}"
            )
        return {partition: place for partition, place in found.items() if place is not None}

    def _named(self) -> set[TopicPartition]:
        return {
            TopicPartition(topic, int(number))
            for topic, of_topic in self._places.items()
            for number in of_topic
            if topic != OTHERS and number != OTHERS
        }

    def mentions(self, offset: int) -> bool:
        """Return whether a rule has this offset."""
        return any(place.offset == offset for of_topic in self._places.values() for place in of_topic.values())


def everywhere(option: str, place: Place) -> OffsetPolicy:
    return OffsetPolicy(option, {OTHERS: {OTHERS: place}})


def policy_of_word(option: str, text: str) -> OffsetPolicy | None:
    """Return the policy for earliest or latest; None for any other text, which should be JSON."""
    offset = WORDS.get(text.strip().lower())
    return None if offset is None else everywhere(option, Place(offset))


def policy_of_offsets(option: str, document: Any) -> OffsetPolicy:
    return _policy(option, document, lambda value: _offset_place(option, value))


def policy_of_timestamps(option: str, document: Any) -> OffsetPolicy:
    return _policy(option, document, lambda value: Place(None, _timestamp(option, value)))


def _policy(option: str, document: Any, place: Callable[[Any], Place]) -> OffsetPolicy:
    if not isinstance(document, dict):
        raise OptionError(f'{option} must be a JSON object of topics, such as {{"orders": {{"0": 23, "1": -2}}}}')
    return OffsetPolicy(option, {topic: _of_topic(option, topic, value, place) for topic, value in document.items()})


def _of_topic(option: str, topic: str, value: Any, place: Callable[[Any], Place]) -> dict[str, Place]:
    if not isinstance(value, dict) or TIMESTAMP in value:
        return {OTHERS: place(value)}
    for number in value:
        if number != OTHERS and not number.isdecimal():
            raise OptionError(f"{option}: invalid partition {number!r} of {topic}. Write a number, or * for all others")
    return {number if number == OTHERS else str(int(number)): place(one) for number, one in value.items()}


def _offset_place(option: str, value: Any) -> Place:
    if isinstance(value, str) and value in WORDS:
        return Place(WORDS[value])
    if isinstance(value, dict) and set(value) == {TIMESTAMP}:
        return Place(None, _timestamp(option, value[TIMESTAMP]))
    if isinstance(value, int) and not isinstance(value, bool) and value >= EARLIEST_OFFSET:
        return Place(value)
    raise OptionError(
        f'{option}: invalid offset {value!r}. Write a number, "earliest" (-2), "latest" (-1), or '
        f'{{"timestamp": milliseconds}}'
    )


def _timestamp(option: str, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise OptionError(f"{option}: invalid time {value!r}. Write milliseconds since 1970")
