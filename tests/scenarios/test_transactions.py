"""Transactions: what is committed is read, what is aborted is not, who is fenced writes no more; offsets go along."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kcore import errors
from kcore.client.consumer import Consumer
from kcore.client.errors import ClientError
from kcore.client.producer.delivery_errors import RecordAborted
from kcore.client.producer.producer import Producer
from kcore.client.producer.transaction_manager import InvalidTransactionState
from kcore.errors import KafkaError
from tests.scenarios.scene import POLL_MS, RESTART_MS, Scene, numbers_of, take, take_nothing
from tests.scenarios.test_reading import FACES, all_rows

pytestmark = pytest.mark.serves("transactions")

COMMITTED: dict[str, Any] = {"isolation_level": "read_committed"}
UNCOMMITTED: dict[str, Any] = {"isolation_level": "read_uncommitted"}
# Through a restart: neither the producer nor the coordinator gives the transaction up meanwhile.
PATIENT = {
    "max_block_ms": RESTART_MS,
    "delivery_timeout_ms": RESTART_MS,
    "transaction_timeout_ms": RESTART_MS,
}


def transactional(scene: Scene, name: str = "one", **keywords: Any) -> Producer:
    producer = scene.producer(transactional_id=f"{scene.name}-{name}", **keywords)
    producer.init_transactions()
    return producer


def send(producer: Producer, topic: str, *numbers: int, partition: int | None = None) -> None:
    for number in numbers:
        producer.send(topic, b"%d" % number, partition=partition)


def commit(producer: Producer, topic: str, *numbers: int) -> None:
    producer.begin_transaction()
    send(producer, topic, *numbers)
    producer.commit_transaction()


def abort(producer: Producer, topic: str, *numbers: int) -> None:
    producer.begin_transaction()
    for future in [producer.send(topic, b"%d" % number) for number in numbers]:
        future.result(60)
    producer.abort_transaction()


@pytest.mark.everywhere
def test_committed_and_aborted(scene: Scene) -> None:
    topic = scene.topic()
    producer = transactional(scene)
    commit(producer, topic, 0, 1)
    abort(producer, topic, 2, 3)
    commit(producer, topic, 4)
    abort(producer, topic, 5)
    assert scene.numbers(topic, **COMMITTED) == [0, 1, 4]
    assert scene.numbers(topic, **UNCOMMITTED) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
@pytest.mark.parametrize("face", FACES)
def test_every_face_leaves_out_what_is_aborted(scene: Scene, face: str, codec: str) -> None:
    """Transactions of two producers and plain records, interleaved batch by batch."""
    topic = scene.topic()
    good, bad = transactional(scene, "good", compression_type=codec), transactional(scene, "bad")
    plain = scene.producer(compression_type=codec)
    expected: list[bytes] = []
    for turn in range(6):
        good.begin_transaction()
        bad.begin_transaction()
        for number in range(5):
            for name, producer in (("good", good), ("bad", bad), ("plain", plain)):
                value = f"{name} {turn} {number}".encode()
                producer.send(topic, value).result(60)
                if name != "bad":
                    expected.append(value)
        bad.abort_transaction()
        good.commit_transaction()
    consumer = scene.consumer(**COMMITTED)
    consumer.assign(scene.places(topic, 1))
    assert [row[3] for row in all_rows(consumer, face, len(expected))] == expected
    consumer.seek((topic, 0), 40)
    assert all_rows(consumer, face, 1)[0][1] >= 40


def test_an_open_transaction_holds_readers_of_committed_records(scene: Scene) -> None:
    topic = scene.topic()
    plain, producer = scene.producer(), transactional(scene)
    plain.send(topic, b"0").result(30)
    producer.begin_transaction()
    producer.send(topic, b"1").result(30)
    plain.send(topic, b"2").result(30)
    consumer = scene.consumer(**COMMITTED)
    consumer.assign(scene.places(topic, 1))
    assert numbers_of(take(consumer, 1)) == [0]
    take_nothing(consumer)
    assert list(consumer.end_offsets(scene.places(topic, 1)).values()) == [1]
    assert consumer.current_lag((topic, 0)) == 0
    assert scene.numbers(topic, **UNCOMMITTED) == [0, 1, 2]
    producer.commit_transaction()
    assert numbers_of(take(consumer, 2)) == [1, 2]


def test_markers_take_offsets_that_no_record_has(scene: Scene) -> None:
    topic = scene.topic()
    producer = transactional(scene)
    commit(producer, topic, 0)
    commit(producer, topic, 1)
    consumer = scene.consumer(**COMMITTED)
    [place] = scene.places(topic, 1)
    consumer.assign([place])
    assert [record.offset for record in take(consumer, 2)] == [0, 2]
    Scene.until(lambda: consumer.poll(POLL_MS) == [] and consumer.position(place) == 4, "the position behind a marker")
    assert list(consumer.end_offsets([place]).values()) == [4]


def test_many_partitions_and_topics_at_once(scene: Scene) -> None:
    one, two = scene.topic(3), scene.topic(2)
    producer = transactional(scene)
    for turn in range(4):
        producer.begin_transaction()
        for number in range(6):
            send(producer, one, turn * 6 + number, partition=number % 3)
            send(producer, two, turn * 6 + number, partition=number % 2)
        if turn % 2:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
    expected = [*range(6), *range(12, 18)]
    assert sorted(scene.numbers(one, 3, **COMMITTED)) == sorted(scene.numbers(two, 2, **COMMITTED)) == expected


def test_columnar_batches_in_transactions(scene: Scene) -> None:
    topic = scene.topic()
    producer = transactional(scene, batch_size=500)
    for turn in range(4):
        producer.begin_transaction()
        producer.send_batch(topic, [b"%d" % number for number in range(turn * 100, turn * 100 + 100)])
        if turn % 2:
            producer.flush()
            producer.abort_transaction()
        else:
            producer.commit_transaction()
    assert scene.numbers(topic, **COMMITTED) == [*range(100), *range(200, 300)]


def test_what_was_not_sent_is_aborted_with_the_rest(scene: Scene) -> None:
    topic = scene.topic()
    producer = transactional(scene, linger_ms=60_000, delivery_timeout_ms=120_000)
    producer.begin_transaction()
    left = producer.send(topic, b"0")
    producer.abort_transaction()
    assert isinstance(left.exception(0), RecordAborted)
    commit(producer, topic, 1)
    assert scene.numbers(topic, **COMMITTED) == [1]


def test_commit_sends_what_lingers(scene: Scene) -> None:
    topic = scene.topic()
    producer = transactional(scene, linger_ms=60_000, delivery_timeout_ms=120_000)
    commit(producer, topic, *range(20))
    assert scene.numbers(topic, **COMMITTED) == list(range(20))


def test_transactions_without_records(scene: Scene) -> None:
    topic = scene.topic()
    producer = transactional(scene)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        end()
    commit(producer, topic, 0)
    assert scene.numbers(topic, **COMMITTED) == [0]


def test_one_after_another_without_a_pause(scene: Scene) -> None:
    """Each adds its partitions anew, while the coordinator may still be writing the last one's markers."""
    topic = scene.topic(2)
    producer = transactional(scene)
    for turn in range(50):
        commit(producer, topic, turn)
    assert sorted(scene.numbers(topic, 2, **COMMITTED)) == list(range(50))


# Fencing


@pytest.mark.everywhere
def test_a_second_producer_fences_the_first(scene: Scene) -> None:
    topic = scene.topic()
    first = transactional(scene)
    first.begin_transaction()
    first.send(topic, b"0").result(30)
    second = transactional(scene)
    commit(second, topic, 1)
    with pytest.raises(errors.ProducerFencedError):
        first.commit_transaction()
    with pytest.raises(errors.ProducerFencedError):
        first.begin_transaction()
    first.close(0)
    assert scene.numbers(topic, **COMMITTED) == [1]


def test_a_fenced_producer_writes_no_record(scene: Scene) -> None:
    topic = scene.topic()
    first = transactional(scene)
    first.begin_transaction()
    first.send(topic, b"0").result(30)
    second = transactional(scene)
    failure = first.send(topic, b"1").exception(60)
    assert isinstance(failure, (errors.ProducerFencedError, errors.InvalidProducerEpochError))
    with pytest.raises(KafkaError):
        first.commit_transaction()
    commit(second, topic, 2)
    first.close(0)
    assert scene.numbers(topic, **COMMITTED) == [2]


def test_an_administrator_fences(scene: Scene) -> None:
    topic = scene.topic()
    producer = transactional(scene)
    producer.begin_transaction()
    producer.send(topic, b"0").result(30)
    scene.done(scene.admin.fence_producers([f"{scene.name}-one"]))
    with pytest.raises(errors.ProducerFencedError):
        producer.commit_transaction()
    producer.close(0)
    assert scene.numbers(topic, **COMMITTED) == []


def test_a_transaction_that_takes_too_long(scene: Scene) -> None:
    """The coordinator aborts it and raises the epoch; the producer cannot commit, and readers are held no longer."""
    topic = scene.topic()
    producer = transactional(scene, transaction_timeout_ms=1_000)
    producer.begin_transaction()
    producer.send(topic, b"0").result(30)
    scene.producer().send(topic, b"1").result(30)
    found: list[int] = []
    consumer = scene.consumer(**COMMITTED)
    consumer.assign(scene.places(topic, 1))
    # Apache Kafka looks for such transactions every ten seconds, unless told otherwise.
    Scene.until(lambda: found.extend(numbers_of(consumer.poll(POLL_MS))) or found, "what stands behind it")
    assert found == [1]
    with pytest.raises(KafkaError):
        producer.commit_transaction()
    producer.close(0)


# Errors


def test_a_record_that_fails_ends_the_transaction_until_it_is_aborted(scene: Scene) -> None:
    topic = scene.topic(max_message_bytes=10_000)
    producer = transactional(scene)
    producer.begin_transaction()
    producer.send(topic, b"0").result(30)
    assert isinstance(producer.send(topic, bytes(20_000)).exception(30), errors.MessageTooLargeError)
    with pytest.raises(errors.MessageTooLargeError):
        producer.send(topic, b"1")
    with pytest.raises(errors.MessageTooLargeError):
        producer.commit_transaction()
    producer.abort_transaction()
    commit(producer, topic, 2)
    assert scene.numbers(topic, **COMMITTED) == [2]


def test_a_batch_of_a_transaction_is_split(scene: Scene) -> None:
    topic = scene.topic(max_message_bytes=3_000)
    producer = transactional(scene, batch_size=100_000, linger_ms=100)
    producer.begin_transaction()
    for number in range(200):
        producer.send(topic, b"%0100d" % number)
    producer.commit_transaction()
    assert scene.numbers(topic, **COMMITTED) == list(range(200))


MISUSES: dict[str, tuple[Callable[[Producer, str], object], str]] = {
    "begin twice": (lambda producer, topic: producer.begin_transaction(), "commit_transaction or abort_transaction"),
    "init twice": (lambda producer, topic: producer.init_transactions(), "IN_TRANSACTION to state INITIALIZING"),
}


@pytest.mark.parametrize("misuse", MISUSES)
def test_what_the_state_does_not_allow(scene: Scene, misuse: str) -> None:
    topic = scene.topic()
    producer = transactional(scene)
    producer.begin_transaction()
    act, text = MISUSES[misuse]
    with pytest.raises(InvalidTransactionState, match=text):
        act(producer, topic)
    send(producer, topic, 0)
    producer.commit_transaction()
    assert scene.numbers(topic, **COMMITTED) == [0]


def test_outside_of_a_transaction(scene: Scene) -> None:
    topic = scene.topic()
    producer = transactional(scene)
    with pytest.raises(InvalidTransactionState, match="begin_transaction"):
        producer.send(topic, b"0")
    with pytest.raises(InvalidTransactionState):
        producer.commit_transaction()
    fresh = scene.producer(transactional_id=f"{scene.name}-two")
    with pytest.raises(InvalidTransactionState, match="init_transactions"):
        fresh.begin_transaction()
    with pytest.raises(InvalidTransactionState, match=r"transactional\.id"):
        scene.producer().begin_transaction()


def test_closing_aborts_what_is_open(scene: Scene) -> None:
    topic = scene.topic()
    producer = transactional(scene)
    producer.begin_transaction()
    producer.send(topic, b"0").result(30)
    producer.close()
    with transactional(scene) as again:
        commit(again, topic, 1)
    assert scene.numbers(topic, **COMMITTED) == [1]


# Offsets


def test_offsets_are_committed_with_the_records(scene: Scene) -> None:
    source, target = scene.topic(), scene.topic()
    scene.fill(source, 10)
    [place] = scene.places(source, 1)
    producer = transactional(scene)
    producer.begin_transaction()
    send(producer, target, 0)
    producer.send_offsets_to_transaction({place: 4}, scene.group)
    reader = scene.consumer(group_id=scene.group)
    producer.commit_transaction()
    producer.begin_transaction()
    producer.send_offsets_to_transaction({place: 9}, scene.group)
    producer.abort_transaction()
    found = reader.committed([place])[place]
    assert found is not None
    assert found.offset == 4


def test_offsets_alone_are_a_transaction(scene: Scene) -> None:
    [place] = scene.places(scene.topic(), 1)
    producer = transactional(scene)
    producer.begin_transaction()
    producer.send_offsets_to_transaction({place: 3}, scene.group)
    producer.commit_transaction()
    found = scene.consumer(group_id=scene.group).committed([place])[place]
    assert found is not None
    assert found.offset == 3


def copy(scene: Scene, consumer: Consumer, producer: Producer, target: str, until: int, breaks: int = 0) -> int:
    """Consume, transform, produce, until all numbers up to `until` were taken; every `breaks`th turn is aborted."""
    turn = taken = 0
    ends = time.monotonic() + RESTART_MS / 1000
    while taken < until:
        assert time.monotonic() < ends, f"{taken} of {until}"
        records = consumer.poll(POLL_MS)
        if not records:
            continue
        turn += 1
        producer.begin_transaction()
        offsets: dict[Any, int] = {}
        for record in records:
            producer.send(target, record.value, partition=record.partition)
            offsets[(record.topic, record.partition)] = record.offset + 1
        producer.send_offsets_to_transaction(offsets, consumer.group_metadata())  # type: ignore[arg-type]
        if breaks and turn % breaks == 0:
            producer.abort_transaction()
            for place in offsets:
                consumer.seek(place, min(r.offset for r in records if (r.topic, r.partition) == place))
            continue
        producer.commit_transaction()
        taken += len(records)
    return turn


@pytest.mark.everywhere
def test_consume_transform_produce(scene: Scene) -> None:
    source, target = scene.topic(2), scene.topic(2)
    scene.fill(source, 200, 2)
    consumer = scene.consumer(flavour="classic-range", enable_auto_commit=False, max_poll_records=30)
    consumer.subscribe([source])
    producer = transactional(scene)
    assert copy(scene, consumer, producer, target, 200, breaks=3) > 6
    assert sorted(scene.numbers(target, 2, **COMMITTED)) == list(range(200))


@pytest.mark.serves("consumer-protocol")
def test_consume_transform_produce_under_the_consumer_protocol(scene: Scene) -> None:
    source, target = scene.topic(2), scene.topic(2)
    scene.fill(source, 200, 2)
    consumer = scene.consumer(flavour="consumer-uniform", enable_auto_commit=False, max_poll_records=30)
    consumer.subscribe([source])
    copy(scene, consumer, transactional(scene), target, 200, breaks=3)
    assert sorted(scene.numbers(target, 2, **COMMITTED)) == list(range(200))


def test_a_former_member_commits_no_offsets(scene: Scene) -> None:
    """KIP-447: what it read is another's since; its transaction fails and can be aborted."""
    source = scene.topic()
    scene.fill(source, 10)
    former = scene.consumer(flavour="classic-range", enable_auto_commit=False)
    former.subscribe([source])
    take(former, 10)
    membership = former.group_metadata()
    former.close()
    later = scene.consumer(flavour="classic-range", enable_auto_commit=False)
    later.subscribe([source])
    take(later, 10)
    producer = transactional(scene)
    producer.begin_transaction()

    def commit_for_another() -> None:
        producer.send_offsets_to_transaction({scene.places(source, 1)[0]: 10}, membership)
        producer.commit_transaction()

    with pytest.raises((KafkaError, ClientError), match=r"(?i)generation|member|commit"):
        commit_for_another()
    producer.abort_transaction()
    assert later.committed(scene.places(source, 1)) == dict.fromkeys(scene.places(source, 1))


# The broker ends


@pytest.mark.parametrize("kill", [False, True], ids=["in good order", "by kill -9"])
def test_a_transaction_outlives_its_broker(scene: Scene, kill: bool) -> None:
    topic = scene.topic()
    producer = transactional(scene, **PATIENT)
    commit(producer, topic, 0)
    producer.begin_transaction()
    producer.send(topic, b"1").result(30)
    scene.cluster.restart(kill=kill)
    producer.send(topic, b"2")
    producer.commit_transaction()
    abort(producer, topic, 3)
    commit(producer, topic, 4)
    assert scene.numbers(topic, **COMMITTED) == [0, 1, 2, 4]


def test_exactly_once_through_a_restart(scene: Scene) -> None:
    source, target = scene.topic(2), scene.topic(2)
    scene.fill(source, 2_000, 2)
    # With a short session the broker may have dropped the member before its first heartbeat.
    reading: dict[str, Any] = {"session_timeout_ms": RESTART_MS, "enable_auto_commit": False, "max_poll_records": 20}
    consumer = scene.consumer(flavour="classic-cooperative-sticky", **reading)
    consumer.subscribe([source])
    producer = transactional(scene, **PATIENT)
    with ThreadPoolExecutor(1) as pool:
        copying = pool.submit(copy, scene, consumer, producer, target, 2_000)
        Scene.until(lambda: scene.read_all(target, 2), "the first copies")
        # From this thread: a broker of the tests ends with the thread that has started it.
        scene.cluster.restart(kill=True)
        copying.result()
    assert sorted(scene.numbers(target, 2, **COMMITTED)) == list(range(2_000))


def test_answers_that_are_cut_off(scene: Scene) -> None:
    topic = scene.topic()
    proxy = scene.proxy()
    producer = transactional(scene, bootstrap_servers=proxy.bootstrap_servers, request_timeout_ms=2_000)
    expected = []
    for turn, api in enumerate(("Produce", "AddPartitionsToTxn", "EndTxn", "Produce", "EndTxn") * 2):
        if api == "AddPartitionsToTxn" and scene.cluster.name.endswith("4"):
            # Transactions of KIP-890 add partitions without asking.
            api = "Produce"
        with proxy.faults.disconnect(api=api, times=1):
            if turn % 3 == 2:
                abort(producer, topic, turn)
            else:
                commit(producer, topic, turn)
                expected.append(turn)
    assert scene.numbers(topic, **COMMITTED) == expected
