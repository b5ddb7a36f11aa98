"""Where reading begins or ends: a rule for every partition, written as the options of Spark's Kafka source are.

    earliest | latest | {"topic": {"0": 23, "1": -2}}                       startingOffsets, endingOffsets
    {"topic": {"0": 1700000000000}}                                         ...OffsetsByTimestamp
    1700000000000                                                           startingTimestamp, endingTimestamp

and beyond those, in startingOffsets and endingOffsets: `"*"` for the topics or partitions that are not named, a rule
in the place of a topic's partitions, and `"earliest"`, `"latest"` or `{"timestamp": 1700000000000}` in the place of an
offset.
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
    """Of one partition: an offset (EARLIEST_OFFSET and LATEST_OFFSET among them), or the first record since a time."""

    offset: int | None
    timestamp_ms: int | None = None


AT_EARLIEST, AT_LATEST = Place(EARLIEST_OFFSET), Place(LATEST_OFFSET)


class OffsetPolicy:
    """`places` are by topic and partition, with `*` for the others; `option` is what errors speak of."""

    def __init__(self, option: str, places: dict[str, dict[str, Place]]) -> None:
        self.option = option
        self._places = places

    def place_of(self, partition: TopicPartition) -> Place | None:
        """None where nothing is said of it."""
        for topic in (partition.topic, OTHERS):
            of_topic = self._places.get(topic, {})
            for number in (str(partition.partition), OTHERS):
                if number in of_topic:
                    return of_topic[number]
        return None

    def places(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Place]:
        """Of exactly these partitions: OptionError when it is silent about one, or speaks of one that is not read."""
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
        """Whether some partition is to begin or end at this offset."""
        return any(place.offset == offset for of_topic in self._places.values() for place in of_topic.values())


def everywhere(option: str, place: Place) -> OffsetPolicy:
    return OffsetPolicy(option, {OTHERS: {OTHERS: place}})


def policy_of_word(option: str, text: str) -> OffsetPolicy | None:
    """None when the text is no word but JSON."""
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
