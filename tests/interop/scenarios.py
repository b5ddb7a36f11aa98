"""What clients do in the tests: each function is one piece of work for a process of its own, and checks its result.

They are named by strings and take and return plain values, so that a pool of processes can run them; a campaign runs
them at full size. A number that is returned counts records that were read and found right.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.interop.consumer import TIMEOUT_S, InteropConsumer
from tests.interop.series import Numbers, ReadBack, Received, Series

# client -> its module, and the class of its consumer
CLIENTS = {
    "confluent-kafka": ("tests.interop.confluent_client", "ConfluentConsumer"),
    "kafka-python": ("tests.interop.kafka_python_client", "KafkaPythonConsumer"),
    "aiokafka": ("tests.interop.aiokafka_client", "AIOKafkaInteropConsumer"),
}
NO_MILESTONES: Mapping[int, Callable[[], object]] = {}
POLL_LIMIT = 5_000
GROUP_POLL_LIMIT = 500
# Until every member has partitions, the first ones must not read everything away.
SLOW_POLL_LIMIT = 20
SLOW_POLL_WAIT_S = 0.05
# Longer than a rebalance takes (members hear of it by their heartbeats, every 3 s). When a `poll` of kafka-python 3.0
# ends while the member is joining, and the join completes just as the next poll begins, a member that joined because of
# new metadata takes itself for joined already (`BaseCoordinator.join_group_async` asks `need_rejoin` before it awaits
# the join it has begun), and stands without partitions until its session times out: 6 of 44 groups on Kafka 3.9 did.
JOINING_POLL_S = 10.0
READING_POLL_S = 1.0


def consumer_of(client: str, server: str, group: str | None, **settings: object) -> InteropConsumer:
    module, name = CLIENTS[client]
    made: InteropConsumer = getattr(importlib.import_module(module), name)(server, group, **settings)
    return made


def produce(
    client: str,
    server: str,
    topic: str,
    series: Series,
    settings: Mapping[str, object],
    milestones: Mapping[int, Callable[[], object]] = NO_MILESTONES,
) -> int:
    importlib.import_module(CLIENTS[client][0]).produce(server, topic, series, settings, milestones)
    return series.count


def read_up_to(
    consumer: InteropConsumer, topic: str, offsets: Mapping[int, int], ends: Mapping[int, int], book: ReadBack
) -> None:
    """From these offsets to these ends of all partitions, all of which must come."""
    left = {partition: ends[partition] for partition, offset in offsets.items() if offset < ends[partition]}
    consumer.assign(topic, offsets)
    while left:
        records = consumer.poll(POLL_LIMIT, TIMEOUT_S)
        assert records, f"nothing came for {TIMEOUT_S} s; unread partitions and their ends: {left}"
        book.take(records)
        for record in records:
            if record.offset + 1 == left.get(record.partition):
                del left[record.partition]


def first_offsets(consumer: InteropConsumer, topic: str, offsets: Mapping[int, int]) -> dict[int, int]:
    """The offset of the first record that comes from every partition when reading starts at these offsets."""
    consumer.assign(topic, offsets)
    first: dict[int, int] = {}
    while len(first) < len(offsets):
        records = consumer.poll(POLL_LIMIT, TIMEOUT_S)
        assert records, f"nothing came for {TIMEOUT_S} s; first offsets so far: {first}"
        for record in records:
            first.setdefault(record.partition, record.offset)
    return first


def read_by_offset(client: str, server: str, topic: str, series: Sequence[Series | Numbers]) -> int:
    """All of it from offset 0 on; then from the middle of every partition, which must begin at just this offset."""
    consumer = consumer_of(client, server, None)
    try:
        book = ReadBack(series)
        ends = consumer.end_offsets(topic)
        read_up_to(consumer, topic, dict.fromkeys(ends, 0), ends, book)
        book.assert_complete()
        assert sum(ends.values()) == book.taken, "every offset is one record's"
        middles = {partition: end // 2 for partition, end in ends.items() if end}
        assert first_offsets(consumer, topic, middles) == middles
        return book.taken
    finally:
        consumer.close()


def read_by_timestamp(client: str, server: str, topic: str, series: Series) -> int:
    """From the offsets that are found for a record's timestamp on: this record, all later ones and no other."""
    assert series.first_timestamp is not None
    consumer = consumer_of(client, server, None)
    taken = 0
    try:
        ends = consumer.end_offsets(topic)
        numbers = (0, series.count * 2 // 3, series.count * 9 // 10 + 1, series.count - 1, series.count)
        found = [consumer.offsets_for_timestamp(topic, series.first_timestamp + number) for number in numbers]
        assert set(found[0].values()) == {0}
        assert set(found[-1].values()) == {None}, "nothing is so late"
        for first, of_partitions in list(zip(numbers, found, strict=True))[1:-1]:
            assert set(of_partitions) == set(ends)
            offsets = {one: ends[one] if offset is None else offset for one, offset in of_partitions.items()}
            book = ReadBack([series])
            read_up_to(consumer, topic, offsets, ends, book)
            book.assert_holds_from(first)
            taken += book.taken
        return taken
    finally:
        consumer.close()


class GroupReading:
    """Members of one group, each a thread, that note together what they read."""

    def __init__(self, book: ReadBack, members: int) -> None:
        self.book = book
        self.lock = threading.Lock()
        self.assigned = [False] * members
        self.everyone_assigned = threading.Event()

    def run_member(self, consumer: InteropConsumer, topic: str, index: int, enough: int) -> int:
        """Reads until the group has `enough`, commits and leaves; how much this member read."""
        read = 0
        try:
            consumer.subscribe(topic)
            while not self.is_over(enough):
                together = self.everyone_assigned.is_set()
                records = (
                    consumer.poll(GROUP_POLL_LIMIT, READING_POLL_S)
                    if together
                    else consumer.poll(SLOW_POLL_LIMIT, JOINING_POLL_S)
                )
                read += len(records)
                self.note(records, index, consumer.assigned())
                if not together:
                    self.everyone_assigned.wait(SLOW_POLL_WAIT_S)
            while not consumer.commit():
                # The others leave at this time too: it has to join again before it may commit.
                self.note(consumer.poll(SLOW_POLL_LIMIT, JOINING_POLL_S), index, consumer.assigned())
        finally:
            consumer.close()
        return read

    def is_over(self, enough: int) -> bool:
        with self.lock:
            return self.everyone_assigned.is_set() and self.book.taken >= enough

    def note(self, records: list[Received], index: int, assigned: bool) -> None:
        with self.lock:
            self.book.take(records)
            self.assigned[index] |= assigned
            if all(self.assigned):
                self.everyone_assigned.set()


def read_as_group(
    members: Sequence[tuple[str, Mapping[str, object]]],
    server: str,
    topic: str,
    group: str,
    book: ReadBack,
    enough: int,
) -> list[int]:
    """Members of any clients, with their settings, read until the group has `enough`; what each of them read."""
    reading = GroupReading(book, len(members))
    consumers = [consumer_of(client, server, group, **settings) for client, settings in members]
    with ThreadPoolExecutor(len(members)) as threads:
        futures = [
            threads.submit(reading.run_member, consumer, topic, index, enough)
            for index, consumer in enumerate(consumers)
        ]
        return [future.result(TIMEOUT_S * 2) for future in futures]


def read_as_groups(
    members: Sequence[tuple[str, Mapping[str, object]]],
    server: str,
    topic: str,
    group: str,
    series: Sequence[Series | Numbers],
) -> int:
    """The first members read half of it, commit and leave; their successors read the rest, and nothing twice."""
    book = ReadBack(series)
    read_as_group(members, server, topic, group, book, book.expected // 2)
    read_as_group(members[:1], server, topic, group, book, book.expected)
    book.assert_complete()
    return book.taken


def end_offsets(client: str, server: str, topic: str) -> dict[int, int]:
    consumer = consumer_of(client, server, None)
    try:
        return consumer.end_offsets(topic)
    finally:
        consumer.close()
