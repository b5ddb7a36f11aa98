"""The Consumer before our broker and before Apache Kafka, under both group protocols where the broker has them."""

from __future__ import annotations

import asyncio
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import confluent_kafka
import pytest
from _pytest.mark.structures import ParameterSet
from confluent_kafka.admin import AdminClient, NewTopic

from kcore.client.aio.consumer import AsyncConsumer
from kcore.client.consumer import Consumer, OffsetAndMetadata, RebalanceListener
from kcore.client.consumer.consumer_errors import (
    CommitFailed,
    IllegalState,
    NoOffsetForPartition,
    OffsetOutOfRange,
    Woken,
)
from kcore.client.errors import ClientError
from kcore.client.metadata.cluster import TopicPartition
from kcore.testing.embedded_broker import EmbeddedBroker
from tests.broker_process import KEEPING

PATIENCE_S = 60.0
RECORDS = 120
CLASSIC, CONSUMER = "classic", "consumer"
SERVERS = ("kcli", "apache-kafka-3.9", "apache-kafka-4")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Both protocols wherever they are served: Apache Kafka 3.9 has no consumer protocol but by its early access."""
    if "server" not in metafunc.fixturenames:
        return
    if "protocol" not in metafunc.fixturenames:
        metafunc.parametrize("server", [sized(server) for server in SERVERS], indirect=True, scope="module")
        return
    served = [sized(server, CLASSIC) for server in SERVERS]
    served += [sized(server, CONSUMER) for server in SERVERS if "3.9" not in server]
    metafunc.parametrize(("server", "protocol"), served, indirect=["server"], scope="module")


def sized(server: str, *protocol: str) -> ParameterSet:
    """The small size of the suite asks one version of Apache Kafka."""
    return pytest.param(server, *protocol, marks=[pytest.mark.full_size] if "3.9" in server else [])


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "kcli":
        with EmbeddedBroker(KEEPING) as broker:
            yield broker.bootstrap_servers
        return
    from tests.conftest import require

    require(("java", "mvn"))
    fixture = "apache_kafka_4" if request.param.endswith("4") else "apache_kafka_39"
    yield request.getfixturevalue(fixture).bootstrap_server


@pytest.fixture
def topic(server: str) -> str:
    """Three partitions with the same number of records each, numbered through."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    create(server, name, 3)
    fill(server, name, RECORDS)
    return name


def create(server: str, name: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": server})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)


def fill(server: str, topic: str, count: int) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": server, "acks": "all"})
    for number in range(count):
        producer.produce(topic, b"%d" % number, partition=number % 3, timestamp=1_700_000_000_000 + number)
    assert producer.flush(30) == 0


def consumer_of(server: str, protocol: str = CLASSIC, group: str | None = None, **keywords: Any) -> Consumer:
    config = {
        "bootstrap.servers": server,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "group.id": group or f"g-{uuid.uuid4().hex[:8]}",
    }
    return Consumer(config | {name.replace("_", "."): value for name, value in keywords.items()})


def read(consumer: Consumer, count: int) -> list[int]:
    """The numbers of so many records."""
    found: list[int] = []
    ends = time.monotonic() + PATIENCE_S
    while len(found) < count:
        found += [int(record.value) for record in consumer.poll(500)]
        assert time.monotonic() < ends, f"{len(found)} of {count} records"
    return found


def until(condition: Callable[[], bool], *consumers: Consumer) -> None:
    """Polls all of them until it holds."""
    ends = time.monotonic() + PATIENCE_S
    while not condition():
        for consumer in consumers:
            consumer.poll(50)
        assert time.monotonic() < ends, [consumer.assignment for consumer in consumers]


class Notes(RebalanceListener):
    def __init__(self) -> None:
        self.owned: set[TopicPartition] = set()
        self.calls: list[str] = []

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        assert not self.owned & set(partitions)
        self.owned |= set(partitions)
        self.calls.append("assigned")

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        assert set(partitions) <= self.owned
        self.owned -= set(partitions)
        self.calls.append("revoked")

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        assert set(partitions) <= self.owned
        self.owned -= set(partitions)
        self.calls.append("lost")


def test_a_group_goes_on_where_it_committed(server: str, protocol: str, topic: str) -> None:
    notes = Notes()
    with consumer_of(server, protocol, group := f"g-{topic}") as consumer:
        consumer.subscribe([topic], notes)
        assert sorted(read(consumer, RECORDS)) == list(range(RECORDS))
        assert notes.owned == set(consumer.assignment) == {TopicPartition(topic, n) for n in range(3)}
        assert consumer.group_metadata().member_id
    assert notes.calls == ["assigned", "revoked"]
    fill(server, topic, 9)
    with consumer_of(server, protocol, group) as consumer:
        consumer.subscribe([topic])
        assert sorted(read(consumer, 9)) == list(range(9))
        committed = consumer.committed([TopicPartition(topic, 0)])
        assert committed[TopicPartition(topic, 0)] == OffsetAndMetadata(40, "", 0)


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_members_share_what_there_is(server: str, topic: str, strategy: str) -> None:
    # A heartbeat tells members to join again: what they wait for here.
    share(server, CLASSIC, topic, partition_assignment_strategy=[strategy], heartbeat_interval_ms=300)


def test_members_share_what_there_is_under_the_consumer_protocol(server: str, protocol: str, topic: str) -> None:
    if protocol == CONSUMER:
        share(server, protocol, topic)


def share(server: str, protocol: str, topic: str, **keywords: Any) -> None:
    """Two join, one of them goes: always all partitions, never one twice."""
    group = f"g-{uuid.uuid4().hex[:8]}"
    first_notes, second_notes = Notes(), Notes()
    with consumer_of(server, protocol, group, **keywords) as first:
        first.subscribe([topic], first_notes)
        until(lambda: len(first_notes.owned) == 3, first)
        with consumer_of(server, protocol, group, **keywords) as second:
            second.subscribe([topic], second_notes)
            until(lambda: {len(first_notes.owned), len(second_notes.owned)} == {1, 2}, first, second)
            assert not first_notes.owned & second_notes.owned
        until(lambda: len(first_notes.owned) == 3, first)


def test_a_pattern_finds_topics_as_they_come(server: str, protocol: str, topic: str) -> None:
    with consumer_of(server, protocol, metadata_max_age_ms=500) as consumer:
        consumer.subscribe(re.compile(f"{topic}.*"))
        until(lambda: len(consumer.assignment) == 3, consumer)
        create(server, f"{topic}-more", 2)
        until(lambda: len(consumer.assignment) == 5, consumer)


def test_seeking_and_pausing(server: str, topic: str) -> None:
    places = [TopicPartition(topic, number) for number in range(3)]
    with consumer_of(server) as consumer:
        consumer.assign(places)
        assert len(read(consumer, RECORDS)) == RECORDS
        consumer.seek(places[1], 38)
        assert sorted(read(consumer, 2)) == [115, 118]
        consumer.seek_to_beginning(places[:1])
        assert consumer.position(places[0]) == 0
        consumer.pause(places[:1])
        assert consumer.poll(300) == []
        assert consumer.paused == places[:1]
        consumer.resume(places[:1])
        assert read(consumer, 40)[:3] == [0, 3, 6]
        consumer.seek_to_time(1_700_000_000_060)
        assert sorted(read(consumer, 60)) == list(range(60, RECORDS))
        consumer.seek_to_end()
        assert [consumer.position(place) for place in places] == [40, 40, 40]
        assert consumer.beginning_offsets(places) == dict.fromkeys(places, 0)
        assert consumer.end_offsets(places) == dict.fromkeys(places, 40)
        found = consumer.offsets_for_times({places[0]: 1_700_000_000_004, places[1]: 1_800_000_000_000})
        assert found[places[0]] == (2, 1_700_000_000_006, 0)
        assert found[places[1]] is None
        assert consumer.partitions_for(topic) == places


def test_who_waits_to_join_can_ask_about_topics(server: str, topic: str) -> None:
    """JoinGroup waits for the slowest member, and brokers answer a connection's requests one after another."""
    create(server, other := f"{topic}-other", 2)
    admin = AdminClient({"bootstrap.servers": server})
    group = f"g-{topic}"

    def is_waiting() -> bool:
        described = admin.describe_consumer_groups([group])[group].result(30)
        return bool(described.state == confluent_kafka.ConsumerGroupState.PREPARING_REBALANCING)

    with consumer_of(server, group=group) as slow, consumer_of(server, group=group) as waiting:
        slow.subscribe([topic])
        until(lambda: len(slow.assignment) == 3, slow)
        waiting.subscribe([topic])
        until(is_waiting, waiting)
        assert len(waiting.partitions_for(other, timeout_ms=20_000)) == 2
        assert is_waiting()
        until(lambda: bool(slow.assignment and waiting.assignment), slow, waiting)


def may_commit(consumer: Consumer) -> bool:
    """Not where a busy machine has kept it from polling again."""
    try:
        consumer.commit()
    except CommitFailed:
        return False
    return True


def test_who_did_not_poll_is_out_and_comes_back(server: str, protocol: str, topic: str) -> None:
    notes = Notes()
    timings: dict[str, Any] = {"max_poll_interval_ms": 1_500}
    if protocol == CLASSIC:
        timings |= {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 500}
    with consumer_of(server, protocol, enable_auto_commit=False, **timings) as consumer:
        consumer.subscribe([topic], notes)
        until(lambda: len(notes.owned) == 3, consumer)
        ends = time.monotonic() + PATIENCE_S
        while not consumer._membership.is_out:  # type: ignore[union-attr]
            assert time.monotonic() < ends
            consumer._engine.changed.wait_for(100)
        with pytest.raises(CommitFailed, match=r"max\.poll\.interval\.ms"):
            consumer.commit()
        until(lambda: notes.calls[-2:] == ["lost", "assigned"] and may_commit(consumer), consumer)


@pytest.mark.parametrize("is_grouped", [False, True])
def test_positions_begin_when_records_are_asked_for(server: str, topic: str, is_grouped: bool) -> None:
    """However long it takes from the assignment to the seek: nothing is missing before the first poll."""
    place = TopicPartition(topic, 1)
    with consumer_of(server, auto_offset_reset="none", **({} if is_grouped else {"group_id": None})) as consumer:
        consumer.assign([place])
        assert len(consumer.partitions_for(topic)) == 3
        assert consumer.end_offsets([place]) == {place: 40}
        consumer.seek(place, 38)
        assert read(consumer, 2) == [115, 118]


def test_a_background_thread_that_has_ended_ends_every_wait(server: str, topic: str) -> None:
    """By a fault of ours: a poll that brings nothing for ever would hide it."""
    consumer = consumer_of(server, group_id=None)
    consumer.assign([(topic, 0)])

    def broken() -> None:
        raise KeyError("mine")

    consumer._fetches.push = broken  # type: ignore[method-assign]
    consumer._network.wake()
    for _ in range(2):
        with pytest.raises(ClientError, match=r"has failed: KeyError\('mine'\)"):
            consumer.poll(20_000)
        with pytest.raises(ClientError, match=r"has failed: KeyError\('mine'\)"):
            consumer.position((topic, 0), timeout_ms=20_000)
    del consumer._fetches.push
    consumer.close()


def test_a_seek_after_an_error_counts_whatever_the_background_does_in_between(server: str, topic: str) -> None:
    place = TopicPartition(topic, 1)
    with consumer_of(server, auto_offset_reset="none", group_id=None) as consumer:
        consumer.assign([place])
        with pytest.raises(NoOffsetForPartition):
            until(lambda: False, consumer)
        for _ in range(3):
            while consumer._engine.changed.wait_for(0):
                pass
            consumer._network.wake()
            assert consumer._engine.changed.wait_for(20_000), "a round of the background thread"
        consumer.seek(place, 38)
        assert read(consumer, 2) == [115, 118]


def test_a_position_that_the_log_does_not_have(server: str, topic: str) -> None:
    place = TopicPartition(topic, 0)
    with consumer_of(server, auto_offset_reset="none") as consumer:
        consumer.assign([place])
        with pytest.raises(NoOffsetForPartition, match="no offset to start from"):
            until(lambda: False, consumer)
        consumer.seek(place, 4_000)
        with pytest.raises(OffsetOutOfRange, match="at 4000"):
            until(lambda: False, consumer)
        consumer.seek(place, 39)
        assert read(consumer, 1) == [117]
    with consumer_of(server) as consumer:
        consumer.assign([place])
        consumer.seek(place, 4_000)
        assert read(consumer, 40)[0] == 0


def test_columns(server: str, topic: str) -> None:
    with consumer_of(server) as consumer:
        consumer.subscribe([topic])
        values: list[bytes | None] = []
        while len(values) < RECORDS:
            columns = consumer.poll_columns(PATIENCE_S * 1000)
            values += [columns.value[row] for row in range(len(columns))]
        assert sorted(int(value or b"") for value in values) == list(range(RECORDS))
        consumer.seek_to_beginning()
        assert len(consumer.poll_arrow(PATIENCE_S * 1000)) > 0


def test_iteration_and_wakeup(server: str, topic: str) -> None:
    with consumer_of(server, value_deserializer=lambda topic, data: int(data)) as consumer:
        with pytest.raises(IllegalState, match="not subscribed"):
            consumer.poll()
        consumer.subscribe([topic])
        found = []
        for record in consumer:
            found.append(record.value)
            if len(found) == RECORDS:
                break
        assert sorted(found) == list(range(RECORDS))
        timer = threading.Timer(0.2, consumer.wakeup)
        timer.start()
        with pytest.raises(Woken):
            consumer.poll(PATIENCE_S * 1000)
        timer.join()
    with pytest.raises(IllegalState, match="closed"):
        consumer.poll()


def test_the_asyncio_twin(server: str, protocol: str, topic: str) -> None:
    class Listener(RebalanceListener):
        async def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:  # type: ignore[override]
            await asyncio.sleep(0)
            assigned.extend(partitions)

    assigned: list[TopicPartition] = []

    async def read_all() -> list[int]:
        found: list[int] = []
        async with AsyncConsumer(
            {
                "bootstrap.servers": server,
                "group.id": f"g-{topic}",
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
            }
        ) as consumer:
            await consumer.subscribe([topic], Listener())
            while len(found) < RECORDS:
                polling = asyncio.ensure_future(consumer.poll(PATIENCE_S * 1000))
                if len(found) == 0:
                    await asyncio.sleep(0)
                    polling.cancel()
                    continue_with = await consumer.poll(PATIENCE_S * 1000)
                    found += [int(record.value) for record in continue_with]
                else:
                    found += [int(record.value) for record in await polling]
            await consumer.commit()
            places = [TopicPartition(topic, number) for number in range(3)]
            committed = await consumer.committed(places)
            assert all(where is not None and where.offset == 40 for where in committed.values())
        return found

    assert sorted(asyncio.run(read_all())) == list(range(RECORDS))
    assert len(assigned) == 3


@pytest.mark.parametrize("protocol", [CLASSIC, CONSUMER], ids=str)
def test_close_waits_no_longer_than_told_for_a_broker_that_is_gone(protocol: str) -> None:
    with EmbeddedBroker() as broker:
        create(broker.bootstrap_servers, "t", 3)
        fill(broker.bootstrap_servers, "t", RECORDS)
        consumer = consumer_of(broker.bootstrap_servers, protocol)
        consumer.subscribe(["t"])
        read(consumer, RECORDS)
    began = time.monotonic()
    consumer.close(timeout_ms=500)
    # Without a bound it is default.api.timeout.ms, a minute.
    assert time.monotonic() - began < 30
