"""Where reading begins, goes and stops: resets, seeks, pauses, positions, by each face of the consumer."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from kcore import errors
from kcore.client.aio.consumer import AsyncConsumer
from kcore.client.consumer import Consumer, OffsetAndMetadata
from kcore.client.consumer.consumer_errors import IllegalState, NoOffsetForPartition, OffsetOutOfRange, Woken
from kcore.client.errors import ClientTimeout, InvalidSetting
from tests.scenarios.scene import FIRST_TIME, POLL_MS, Scene, by_partition, numbers_of, take, take_nothing

RECORDS = 100
Row = tuple[int, int, bytes | None, bytes | None, int, list[tuple[str, bytes | None]]]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def reader(scene: Scene, topic: str, partitions: int = 1, **keywords: Any) -> Consumer:
    consumer = scene.consumer(**keywords)
    consumer.assign(scene.places(topic, partitions))
    return consumer


# Every face gives the same


def rows_by_poll(consumer: Consumer) -> list[Row]:
    return [
        (each.partition, each.offset, each.key, each.value, each.timestamp, each.headers)
        for each in consumer.poll(POLL_MS)
    ]


def rows_by_columns(consumer: Consumer) -> list[Row]:
    found = consumer.poll_columns(POLL_MS, include_headers=True)
    return [
        (
            int(found.partition[row]),
            int(found.offset[row]),
            found.key[row],
            found.value[row],
            int(found.timestamp[row].astype("datetime64[ms]").astype(int)),
            found.headers(row),
        )
        for row in range(len(found))
    ]


def rows_by_arrow(consumer: Consumer) -> list[Row]:
    import pyarrow

    found = consumer.poll_arrow(POLL_MS, include_headers=True)
    if not len(found):
        return []
    rows: list[Row] = []
    for row in pyarrow.table(found).to_pylist():
        headers = [(header["key"], header["value"]) for header in row["headers"] or []]
        at = round(row["timestamp"].timestamp() * 1000)
        rows.append((row["partition"], row["offset"], row["key"], row["value"], at, headers))
    return rows


FACES: dict[str, Callable[[Consumer], list[Row]]] = {
    "poll": rows_by_poll,
    "poll_columns": rows_by_columns,
    "poll_arrow": rows_by_arrow,
}


def all_rows(consumer: Consumer, face: str, count: int) -> list[Row]:
    found: list[Row] = []
    Scene.until(lambda: found.extend(FACES[face](consumer)) or len(found) >= count, f"{count} records")
    return found


def varied(scene: Scene, topic: str, codec: str = "none") -> list[Row]:
    """Records of all shapes, and as what they are to be read."""
    expected: list[Row] = []
    with scene.producer(compression_type=codec, batch_size=2_000) as producer:
        for number in range(RECORDS):
            key = (None, b"", b"k%d" % number)[number % 3]
            value = (b"v%d" % number * (number % 7), None, b"")[number % 5 % 3]
            headers: list[tuple[str, bytes | None]] = [("h", b"%d" % n) for n in range(number % 3)]
            headers += [("none", None)] if number % 4 == 0 else []
            producer.send(topic, value, key=key, headers=headers, timestamp=FIRST_TIME + number, partition=0)
            expected.append((0, number, key, value, FIRST_TIME + number, headers))
    return expected


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("face", FACES)
def test_a_face_gives_every_record_whole(scene: Scene, face: str, codec: str) -> None:
    topic = scene.topic()
    expected = varied(scene, topic, codec)
    assert all_rows(reader(scene, topic), face, RECORDS) == expected


@pytest.mark.everywhere
@pytest.mark.parametrize("face", FACES)
def test_a_face_begins_in_the_middle_of_a_compressed_batch(scene: Scene, face: str) -> None:
    topic = scene.topic()
    with scene.producer(compression_type="zstd") as producer:
        producer.send_batch(topic, [b"%d" % number for number in range(RECORDS)]).result(30)
    consumer = reader(scene, topic)
    consumer.seek((topic, 0), 61)
    assert [row[1] for row in all_rows(consumer, face, RECORDS - 61)] == list(range(61, RECORDS))


@pytest.mark.parametrize("face", FACES)
def test_a_face_goes_on_where_another_stopped(scene: Scene, face: str) -> None:
    topic = scene.topic()
    scene.fill(topic, RECORDS)
    consumer = reader(scene, topic, max_poll_records=7)
    first = consumer.poll(5_000)
    rest = all_rows(consumer, face, RECORDS - len(first))
    assert [record.offset for record in first] + [row[1] for row in rest] == list(range(RECORDS))
    assert consumer.position((topic, 0)) == RECORDS


@pytest.mark.parametrize("face", FACES)
def test_a_face_seeks_back(scene: Scene, face: str) -> None:
    topic = scene.topic()
    scene.fill(topic, RECORDS)
    consumer = reader(scene, topic)
    all_rows(consumer, face, RECORDS)
    consumer.seek((topic, 0), 90)
    assert [row[1] for row in all_rows(consumer, face, 10)] == list(range(90, RECORDS))


@pytest.mark.parametrize("face", FACES)
def test_a_face_keeps_still_while_paused(scene: Scene, face: str) -> None:
    topic = scene.topic(2)
    scene.fill(topic, RECORDS, 2)
    consumer = reader(scene, topic, 2)
    consumer.pause([(topic, 0)])
    found = all_rows(consumer, face, RECORDS // 2)
    assert {row[0] for row in found} == {1}
    assert FACES[face](consumer) == []
    consumer.resume([(topic, 0)])
    assert {row[0] for row in all_rows(consumer, face, RECORDS // 2)} == {0}


@pytest.mark.parametrize("limit", [1, 7, 50])
def test_columns_of_at_most_so_many_records(scene: Scene, limit: int) -> None:
    topic = scene.topic()
    scene.fill(topic, RECORDS)
    consumer = reader(scene, topic)
    found: list[int] = []
    while len(found) < RECORDS:
        columns = consumer.poll_columns(5_000, max_records=limit)
        assert 0 < len(columns) <= limit
        found += columns.offset.tolist()
    assert found == list(range(RECORDS))


def test_iteration(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, RECORDS)
    found = []
    for record in reader(scene, topic, value_deserializer=lambda topic, data: int(data)):
        found.append(record.value)
        if len(found) == RECORDS:
            break
    assert found == list(range(RECORDS))


def test_the_asyncio_twin(scene: Scene) -> None:
    topic = scene.topic(2)
    scene.fill(topic, RECORDS, 2)

    async def read() -> list[int]:
        async with AsyncConsumer(bootstrap_servers=scene.servers, auto_offset_reset="earliest") as consumer:
            await consumer.assign(scene.places(topic, 2))
            found: list[int] = []
            while len(found) < RECORDS:
                found += numbers_of(await consumer.poll(POLL_MS))
            await consumer.seek((topic, 1), 49)
            [last] = await consumer.poll(5_000)
            assert await consumer.position((topic, 0)) == 50
            return [*found, int(last.value)]

    found = asyncio.run(read())
    assert sorted(found[:-1]) == list(range(RECORDS))
    assert found[-1] == 99


def test_an_asyncio_poll_that_is_cancelled_loses_nothing(scene: Scene) -> None:
    topic = scene.topic()

    async def read() -> list[int]:
        async with AsyncConsumer(bootstrap_servers=scene.servers, auto_offset_reset="earliest") as consumer:
            await consumer.assign(scene.places(topic, 1))
            found: list[int] = []
            for number in range(5):
                polling = asyncio.ensure_future(consumer.poll(10_000))
                await asyncio.sleep(0.02)
                if not polling.cancel():
                    found += numbers_of(polling.result())
                await asyncio.to_thread(scene.fill, topic, 10, 1, number * 10)
            while len(found) < 50:
                found += numbers_of(await consumer.poll(POLL_MS))
            return found

    assert asyncio.run(read()) == list(range(50))


@pytest.mark.parametrize("face", ["poll", "poll_columns"])
def test_a_cancelled_asyncio_poll_moves_back_and_a_seek_elsewhere_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, scene: Scene, face: str
) -> None:
    """Neither a commit nor a seek of another partition may pass over records that nobody has received."""
    topic = scene.topic(2)
    scene.fill(topic, RECORDS, 2)

    async def read() -> tuple[list[int], int, int]:
        async with AsyncConsumer(bootstrap_servers=scene.servers, auto_offset_reset="earliest") as consumer:
            first, second = scene.places(topic, 2)
            await consumer.assign([first, second])
            received = threading.Event()
            poll = getattr(consumer._consumer, face)

            def noted_poll(*arguments: Any, **keywords: Any) -> Any:
                records = poll(*arguments, **keywords)
                received.set()
                return records

            monkeypatch.setattr(consumer._consumer, face, noted_poll)
            polling = asyncio.ensure_future(getattr(consumer, face)(10_000))
            await asyncio.sleep(0)
            # The thread gets the records while the loop cannot hear of them.
            assert received.wait(10)
            polling.cancel()
            await asyncio.wait([polling])
            positions = await consumer.position(first), await consumer.position(second)
            await consumer.seek(second, 49)
            found: list[int] = []
            for _ in range(50):
                if len(found) < 51:
                    found += numbers_of(await consumer.poll(POLL_MS))
            return found, *positions

    found, *positions = asyncio.run(read())
    assert positions == [0, 0]
    assert sorted(found) == sorted([*range(0, RECORDS, 2), RECORDS - 1])


# Where it begins


def test_it_begins_at_the_end_by_default(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, 10)
    consumer = reader(scene, topic, auto_offset_reset="latest")
    assert consumer.position((topic, 0)) == 10
    scene.fill(topic, 5, first=10)
    assert numbers_of(take(consumer, 5)) == list(range(10, 15))


def test_without_a_reset_it_says_so(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, 10)
    consumer = reader(scene, topic, auto_offset_reset="none")
    with pytest.raises(NoOffsetForPartition, match="no offset to start from"):
        take(consumer, 1)
    consumer.seek((topic, 0), 8)
    assert numbers_of(take(consumer, 2)) == [8, 9]


@pytest.mark.everywhere
@pytest.mark.parametrize(("hours", "expected"), [(1, [2, 3]), (5, [1, 2, 3]), (10_000, [0, 1, 2, 3])])
def test_it_begins_so_long_ago(scene: Scene, hours: int, expected: list[int]) -> None:
    topic = scene.topic()
    now = int(time.time() * 1000)
    with scene.producer() as producer:
        for number, age in enumerate((24, 3, 0.5, 0)):
            producer.send(topic, b"%d" % number, timestamp=now - int(age * 3_600_000))
    consumer = reader(scene, topic, auto_offset_reset=f"by_duration:PT{hours}H")
    assert numbers_of(take(consumer, len(expected))) == expected


def test_nothing_is_so_young(scene: Scene) -> None:
    """A duration that no record fits begins at the end."""
    topic = scene.topic()
    scene.fill(topic, 10)
    consumer = reader(scene, topic, auto_offset_reset="by_duration:PT1H")
    assert consumer.position((topic, 0)) == 10


RESETS = {"earliest": 20, "latest": 30, "by_duration:P36500D": 20, "by_duration:PT0S": 30}


@pytest.mark.parametrize("reset", RESETS)
@pytest.mark.parametrize("beyond", [False, True], ids=["before the log", "behind the log"])
def test_an_offset_that_the_log_does_not_have(scene: Scene, reset: str, beyond: bool) -> None:
    topic = scene.topic()
    scene.fill(topic, 30)
    [place] = scene.places(topic, 1)
    scene.done(scene.admin.delete_records({place: 20}))
    consumer = reader(scene, topic, auto_offset_reset=reset)
    consumer.seek(place, 400 if beyond else 5)
    found: list[int] = []
    Scene.until(
        lambda: found.extend(numbers_of(consumer.poll(POLL_MS))) or found or consumer.position(place) == 30, "the reset"
    )
    assert found == (list(range(20, 30)) if RESETS[reset] == 20 else [])
    scene.fill(topic, 5, first=30)
    assert numbers_of(take(consumer, 5)) == list(range(30, 35))


@pytest.mark.everywhere
@pytest.mark.parametrize("offset", [5, 400], ids=["before the log", "behind the log"])
def test_an_offset_that_the_log_does_not_have_without_a_reset(scene: Scene, offset: int) -> None:
    topic = scene.topic()
    scene.fill(topic, 30)
    [place] = scene.places(topic, 1)
    scene.done(scene.admin.delete_records({place: 20}))
    consumer = reader(scene, topic, auto_offset_reset="none")
    consumer.seek(place, offset)
    with pytest.raises(OffsetOutOfRange, match=f"at {offset}"):
        take(consumer, 1)
    consumer.seek(place, 25)
    assert numbers_of(take(consumer, 5)) == list(range(25, 30))


# Seeking


def test_seeking_before_the_first_poll(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, RECORDS)
    consumer = reader(scene, topic)
    consumer.seek((topic, 0), 95)
    assert numbers_of(take(consumer, 5)) == list(range(95, 100))


def test_the_last_of_many_seeks_counts(scene: Scene) -> None:
    """What was fetched for one that another has overtaken is not given."""
    topic = scene.topic()
    scene.fill(topic, RECORDS)
    consumer = reader(scene, topic, max_poll_records=3)
    for offset in (50, 10, 80, 0, 30):
        consumer.seek((topic, 0), offset)
        assert consumer.position((topic, 0)) == offset
        found = consumer.poll(20)
        assert not found or found[0].offset == offset
    consumer.seek((topic, 0), 40)
    assert numbers_of(take(consumer, 3))[:3] == [40, 41, 42]


def test_seeking_to_the_end_waits_for_what_comes(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, 10)
    consumer = reader(scene, topic)
    consumer.seek_to_end()
    assert consumer.position((topic, 0)) == 10
    scene.fill(topic, 3, first=10)
    assert numbers_of(take(consumer, 3)) == [10, 11, 12]


def test_seeking_to_the_beginning_of_one(scene: Scene) -> None:
    topic = scene.topic(2)
    scene.fill(topic, RECORDS, 2)
    consumer = reader(scene, topic, 2)
    take(consumer, RECORDS)
    consumer.seek_to_beginning([(topic, 1)])
    assert numbers_of(take(consumer, 50)) == list(range(1, RECORDS, 2))


def test_seeking_by_time(scene: Scene) -> None:
    topic = scene.topic(3)
    scene.fill(topic, RECORDS, 3)
    consumer = reader(scene, topic, 3)
    consumer.seek_to_time(FIRST_TIME + 70)
    assert sorted(numbers_of(take(consumer, 30))) == list(range(70, RECORDS))
    consumer.seek_to_time(FIRST_TIME + 98)
    assert [consumer.position(place) for place in scene.places(topic, 3)] == [33, 33, 32]


def test_seeking_to_a_gap(scene: Scene) -> None:
    """Where records were deleted before it, the log starts later; a reset leads there."""
    topic = scene.topic()
    scene.fill(topic, 30)
    [place] = scene.places(topic, 1)
    consumer = reader(scene, topic)
    take(consumer, 5)
    scene.done(scene.admin.delete_records({place: 20}))
    consumer.seek(place, 0)
    assert numbers_of(take(consumer, 10))[-10:] == list(range(20, 30))


def test_what_may_not_be_sought(scene: Scene) -> None:
    topic = scene.topic()
    consumer = reader(scene, topic)
    with pytest.raises(InvalidSetting, match="negative"):
        consumer.seek((topic, 0), -1)
    with pytest.raises((IllegalState, InvalidSetting, KeyError)):
        consumer.seek(("not-" + topic, 0), 1)
    with pytest.raises((IllegalState, InvalidSetting, KeyError)):
        consumer.pause([("not-" + topic, 0)])


# Pausing


def test_what_is_paused_holds_up_no_other(scene: Scene) -> None:
    topic = scene.topic(3)
    scene.fill(topic, 9_000, 3)
    consumer = reader(scene, topic, 3, max_partition_fetch_bytes=5_000)
    consumer.pause([(topic, 1)])
    found = by_partition(take(consumer, 6_000))
    assert found == {0: list(range(0, 9_000, 3)), 2: list(range(2, 9_000, 3))}
    assert consumer.paused == [(topic, 1)]
    consumer.resume([(topic, 1)])
    assert numbers_of(take(consumer, 3_000)) == list(range(1, 9_000, 3))


def test_pausing_in_the_middle_of_a_fetch(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, RECORDS)
    consumer = reader(scene, topic, max_poll_records=10)
    assert numbers_of(consumer.poll(5_000)) == list(range(10))
    consumer.pause([(topic, 0)])
    take_nothing(consumer)
    assert consumer.position((topic, 0)) == 10
    consumer.resume([(topic, 0)])
    assert numbers_of(take(consumer, 90)) == list(range(10, 100))


def test_seeking_what_is_paused(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, RECORDS)
    consumer = reader(scene, topic, max_poll_records=10)
    consumer.poll(5_000)
    consumer.pause([(topic, 0)])
    consumer.seek((topic, 0), 90)
    take_nothing(consumer)
    consumer.resume([(topic, 0)])
    assert numbers_of(take(consumer, 10)) == list(range(90, 100))


def test_an_assignment_that_changes_keeps_pauses_and_positions(scene: Scene) -> None:
    topic = scene.topic(3)
    scene.fill(topic, 90, 3)
    consumer = reader(scene, topic, 2)
    take(consumer, 60)
    consumer.pause([(topic, 0)])
    consumer.assign(scene.places(topic, 3))
    assert numbers_of(take(consumer, 30)) == list(range(2, 90, 3))
    assert consumer.paused == [(topic, 0)]
    assert consumer.position((topic, 1)) == 30


# Positions, ends, times


@pytest.mark.everywhere
def test_where_things_are(scene: Scene) -> None:
    topic = scene.topic(2)
    scene.fill(topic, RECORDS, 2)
    first, second = scene.places(topic, 2)
    scene.done(scene.admin.delete_records({first: 7}))
    consumer = reader(scene, topic, 2)
    assert consumer.beginning_offsets([first, second]) == {first: 7, second: 0}
    assert consumer.end_offsets([first, second]) == {first: 50, second: 50}
    found = consumer.offsets_for_times({first: FIRST_TIME + 31, second: FIRST_TIME + 1_000})
    assert found[first] is not None
    assert found[first][:2] == (16, FIRST_TIME + 32)
    assert found[second] is None
    assert consumer.partitions_for(topic) == [first, second]
    take(consumer, RECORDS - 7)
    assert consumer.position(first) == consumer.position(second) == 50
    assert (consumer.current_lag(first), consumer.current_lag(second)) == (0, 0)


def test_the_lag_of_who_is_behind(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, RECORDS)
    consumer = reader(scene, topic, max_poll_records=10)
    consumer.poll(5_000)
    assert consumer.current_lag((topic, 0)) == 90


def test_a_topic_that_is_not_there(scene: Scene) -> None:
    consumer = scene.consumer(allow_auto_create_topics=False)
    name = f"missing-{scene.name}"
    assert consumer.partitions_for(name) == []
    consumer.assign([(name, 0)])
    assert consumer.poll(POLL_MS) == []
    scene.topic(name=name)
    scene.fill(name, 3)
    assert numbers_of(take(consumer, 3)) == [0, 1, 2]


def test_a_partition_that_is_not_there_yet(scene: Scene) -> None:
    topic = scene.topic()
    consumer = scene.consumer(metadata_max_age_ms=300)
    consumer.assign([(topic, 1)])
    take_nothing(consumer)
    scene.add_partitions(topic, 2)
    scene.fill(topic, 6, 2)
    assert numbers_of(take(consumer, 3)) == [1, 3, 5]


def test_a_name_that_no_topic_can_have(scene: Scene) -> None:
    consumer = scene.consumer()
    consumer.assign([("no/such name", 0)])
    with pytest.raises(errors.InvalidTopicError):
        take(consumer, 1)


# How much at once


@pytest.mark.parametrize("limit", [1, 30, 500])
def test_records_a_poll(scene: Scene, limit: int) -> None:
    topic = scene.topic(2)
    scene.fill(topic, RECORDS, 2)
    consumer = reader(scene, topic, 2, max_poll_records=limit)
    found: list[int] = []
    while len(found) < RECORDS:
        records = consumer.poll(5_000)
        assert 0 < len(records) <= limit
        found += numbers_of(records)
    assert sorted(found) == list(range(RECORDS))


def test_fifty_partitions_all_get_their_turn(scene: Scene) -> None:
    topic = scene.topic(50)
    scene.fill(topic, 5_000, 50)
    consumer = reader(scene, topic, 50, fetch_max_bytes=3_000, max_partition_fetch_bytes=1_000, max_poll_records=100)
    found = by_partition(take(consumer, 5_000))
    assert found == {partition: list(range(partition, 5_000, 50)) for partition in range(50)}


def test_the_broker_waits_until_there_is_enough(scene: Scene) -> None:
    topic = scene.topic()
    consumer = reader(scene, topic, fetch_min_bytes=2_000, fetch_max_wait_ms=30_000)
    consumer.poll(0)
    with scene.producer() as producer:
        producer.send(topic, b"1" * 500).result(30)
        take_nothing(consumer)
        producer.send(topic, b"2" * 2_000).result(30)
    assert [record.value[:1] for record in take(consumer, 2)] == [b"1", b"2"]


def test_the_broker_does_not_wait_for_ever(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, 1)
    consumer = reader(scene, topic, fetch_min_bytes=2_000, fetch_max_wait_ms=100)
    assert numbers_of(take(consumer, 1)) == [0]


# The way in


def test_wakeup_ends_a_wait(scene: Scene) -> None:
    consumer = reader(scene, scene.topic())
    timer = threading.Timer(0.1, consumer.wakeup)
    timer.start()
    with pytest.raises(Woken):
        consumer.poll(60_000)
    timer.join()
    assert consumer.poll(0) == []


def test_wakeup_before_a_poll(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, 3)
    consumer = reader(scene, topic)
    consumer.wakeup()
    with pytest.raises(Woken):
        consumer.poll(60_000)
    assert numbers_of(take(consumer, 3)) == [0, 1, 2]


def test_what_the_state_does_not_allow(scene: Scene) -> None:
    topic = scene.topic()
    consumer = scene.consumer()
    with pytest.raises(IllegalState, match="not subscribed"):
        consumer.poll()
    with pytest.raises(IllegalState, match=r"group\.id"):
        consumer.subscribe([topic])
    with pytest.raises(IllegalState, match=r"group\.id"):
        consumer.commit({(topic, 0): 1})  # type: ignore[dict-item]
    consumer.close()
    with pytest.raises(IllegalState, match="closed"):
        consumer.poll()
    consumer.close()


def test_subscribing_and_assigning_exclude_each_other(scene: Scene) -> None:
    topic = scene.topic()
    consumer = scene.consumer(group_id=scene.group)
    consumer.assign([(topic, 0)])
    with pytest.raises(IllegalState):
        consumer.subscribe([topic])
    consumer.unsubscribe()
    consumer.subscribe([topic])
    with pytest.raises(IllegalState):
        consumer.assign([(topic, 0)])


def test_a_second_thread_is_refused(scene: Scene) -> None:
    consumer = reader(scene, scene.topic())
    caught: list[BaseException] = []

    def poll() -> None:
        try:
            consumer.poll(60_000)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=poll)
    thread.start()

    def is_refused() -> bool:
        try:
            consumer.paused  # noqa: B018
            consumer.seek_to_end()
        except IllegalState as error:
            return "multi-threaded" in str(error)
        return False

    Scene.until(is_refused, "the refusal")
    consumer.wakeup()
    thread.join(30)
    assert [type(each) for each in caught] == [Woken]


def test_interceptors_see_records_and_commits(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, 10)
    committed: list[Any] = []

    class Odd:
        def on_consume(self, records: list[Any]) -> list[Any]:
            return [record for record in records if int(record.value) % 2]

        def on_commit(self, offsets: Any) -> None:
            committed.append(dict(offsets))

    class Broken:
        def on_consume(self, records: list[Any]) -> list[Any]:
            raise RuntimeError("mine")

    consumer = reader(scene, topic, interceptor_classes=[Broken, Odd], group_id=scene.group, enable_auto_commit=False)
    found: list[int] = []
    Scene.until(lambda: found.extend(numbers_of(consumer.poll(POLL_MS))) or len(found) == 5, "the odd records")
    assert found == [1, 3, 5, 7, 9]
    consumer.commit()
    assert [{place: where.offset for place, where in each.items()} for each in committed] == [{(topic, 0): 10}]


def test_a_deserializer_that_fails(scene: Scene) -> None:
    """The error is the application's to see; a seek goes past the record."""
    topic = scene.topic()
    with scene.producer() as producer:
        producer.send(topic, b"not a number").result(30)
        producer.send(topic, b"1").result(30)
    consumer = reader(scene, topic, value_deserializer=lambda topic, data: int(data))
    with pytest.raises(ValueError, match="invalid literal"):
        Scene.until(lambda: consumer.poll(POLL_MS), "records")
    consumer.seek((topic, 0), 1)
    found: list[Any] = []
    Scene.until(lambda: found.extend(consumer.poll(POLL_MS)) or found, "records")
    assert [record.value for record in found] == [1]


def test_a_position_in_time_or_not_at_all(scene: Scene) -> None:
    with scene.cluster.paused():
        consumer = scene.consumer()
        consumer.assign([(f"t-{scene.name}", 0)])
        with pytest.raises(ClientTimeout):
            consumer.position((f"t-{scene.name}", 0), timeout_ms=200)
        with pytest.raises(ClientTimeout):
            consumer.end_offsets(scene.places(f"t-{scene.name}", 1), timeout_ms=200)


# Commits without a membership


def test_commits_of_all_kinds(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, 10)
    [place] = scene.places(topic, 1)
    told: list[Any] = []
    consumer = reader(scene, topic, group_id=scene.group, enable_auto_commit=False)
    take(consumer, 10)
    assert consumer.committed([place]) == {place: None}
    consumer.commit({place: OffsetAndMetadata(7, "as far as this")})
    assert consumer.committed([place]) == {place: OffsetAndMetadata(7, "as far as this")}
    consumer.commit_async({place: 3}, lambda offsets, error: told.append((offsets, error)))
    consumer.commit_async({place: 4}, lambda offsets, error: told.append((offsets, error)))
    consumer.commit()
    assert told == [({place: OffsetAndMetadata(3)}, None), ({place: OffsetAndMetadata(4)}, None)]
    found = consumer.committed([place])[place]
    assert found is not None
    assert found.offset == 10


def test_the_next_one_begins_at_what_is_committed(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, 10)
    [place] = scene.places(topic, 1)
    with reader(scene, topic, group_id=scene.group, enable_auto_commit=False) as consumer:
        consumer.commit({place: 6})
    assert numbers_of(take(reader(scene, topic, group_id=scene.group, enable_auto_commit=False), 4)) == [6, 7, 8, 9]


def test_closing_commits(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, 10)
    with reader(scene, topic, group_id=scene.group, max_poll_records=4) as consumer:
        assert len(consumer.poll(5_000)) == 4
    assert numbers_of(take(reader(scene, topic, group_id=scene.group), 6)) == [4, 5, 6, 7, 8, 9]


def test_what_raised_is_not_committed(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, 10)

    def work() -> None:
        with reader(scene, topic, group_id=scene.group) as consumer:
            take(consumer, 10)
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert numbers_of(take(reader(scene, topic, group_id=scene.group), 10)) == list(range(10))


def test_commits_by_the_clock(scene: Scene) -> None:
    topic = scene.topic()
    scene.fill(topic, 10)
    [place] = scene.places(topic, 1)
    consumer = reader(scene, topic, group_id=scene.group, auto_commit_interval_ms=100)
    other = scene.consumer(group_id=scene.group)
    take(consumer, 10)

    def is_committed() -> bool:
        consumer.poll(50)
        found = other.committed([place])[place]
        return found is not None and found.offset == 10

    Scene.until(is_committed, "the commit")
