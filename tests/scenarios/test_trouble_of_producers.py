"""Producers through restarts, silence, slowness, cut connections, full buffers and deleted topics.

What is acknowledged is in the log; of an idempotent producer exactly once and in order. What is not, ends in time.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from kcore import errors
from kcore.client.admin.results import raise_first
from kcore.client.errors import ClientTimeout
from kcore.client.producer.delivery_errors import DeliveryTimeout, ProducerClosed
from kcore.client.producer.producer import Producer
from kcore.client.producer.record_future import RecordFuture
from tests.scenarios.scene import RESTART_MS, Scene, by_partition

# Small batches, so that there are many requests for trouble to strike.
BUSY: dict[str, Any] = {"batch_size": 300, "delivery_timeout_ms": RESTART_MS, "request_timeout_ms": 5_000}


class Sending:
    """A thread that sends numbered records to two partitions in turn until it is told to end."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self.producer = producer
        self.topic = topic
        self.sent: list[RecordFuture] = []
        self.failure: Exception | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                number = len(self.sent)
                self.sent.append(self.producer.send(self.topic, b"%d" % number, partition=number % 2))
                if number % 50 == 0:
                    # The log is to be read back: a record now and then will do.
                    time.sleep(0.005)
        except Exception as error:
            self.failure = error

    def await_acknowledged(self, more: int = 200) -> None:
        """Returns when so many more records than now were sent, and acknowledged, of either partition."""
        wanted = len(self.sent) + more
        Scene.until(lambda: len(self.sent) > wanted or self.failure, f"{wanted} records sent")
        assert self.failure is None, self.failure
        for future in self.sent[wanted - 1 : wanted + 1]:
            future.result(90)

    def end(self) -> list[int]:
        """The numbers of what was acknowledged."""
        self._is_over.set()
        self._thread.join()
        assert self.failure is None, self.failure
        self.producer.flush()
        return [number for number, future in enumerate(self.sent) if future.exception(0) is None]


def assert_exactly_once(scene: Scene, topic: str, acknowledged: list[int]) -> None:
    found = by_partition(scene.read_all(topic, 2))
    for partition in range(2):
        assert found.get(partition, []) == [number for number in acknowledged if number % 2 == partition]


def assert_nothing_lost(scene: Scene, topic: str, acknowledged: list[int]) -> None:
    found = set(scene.numbers(topic, 2))
    assert set(acknowledged) <= found


# The broker ends


@pytest.mark.campaign
@pytest.mark.parametrize("kill", [False, True], ids=["in good order", "by kill -9"])
def test_a_broker_that_is_started_again(scene: Scene, kill: bool) -> None:
    topic = scene.topic(2)
    sending = Sending(scene.producer(**BUSY), topic)
    sending.await_acknowledged()
    scene.cluster.restart(kill=kill)
    sending.await_acknowledged()
    acknowledged = sending.end()
    assert acknowledged == list(range(len(sending.sent)))
    assert_exactly_once(scene, topic, acknowledged)


def test_a_broker_that_is_started_again_twice(scene: Scene) -> None:
    topic = scene.topic(2)
    sending = Sending(scene.producer(**BUSY, compression_type="lz4"), topic)
    for kill in (True, False):
        sending.await_acknowledged()
        scene.cluster.restart(kill=kill)
    sending.await_acknowledged()
    acknowledged = sending.end()
    assert acknowledged == list(range(len(sending.sent)))
    assert_exactly_once(scene, topic, acknowledged)


@pytest.mark.campaign
def test_without_idempotence_nothing_acknowledged_is_lost(scene: Scene) -> None:
    topic = scene.topic(2)
    sending = Sending(scene.producer(**BUSY, enable_idempotence=False, acks="all"), topic)
    sending.await_acknowledged()
    scene.cluster.restart(kill=True)
    sending.await_acknowledged()
    assert_nothing_lost(scene, topic, sending.end())


@pytest.mark.campaign
def test_records_that_were_sent_while_it_was_down(scene: Scene) -> None:
    topic = scene.topic()
    producer = scene.producer(delivery_timeout_ms=RESTART_MS)
    producer.send(topic, b"0").result(30)
    with scene.cluster.stopped():
        sent = [producer.send(topic, b"%d" % number) for number in range(1, 100)]
        assert not any(future.done() for future in sent)
    assert [future.result(90).offset for future in sent] == list(range(1, 100))
    assert scene.numbers(topic) == list(range(100))


@pytest.mark.campaign
def test_a_cluster_that_is_not_there_yet(scene: Scene) -> None:
    """The producer is made while there is nobody to connect to."""
    topic = scene.topic()
    with scene.cluster.stopped():
        producer = scene.producer(max_block_ms=RESTART_MS, delivery_timeout_ms=RESTART_MS)
        hasty = scene.producer(max_block_ms=200)
        with pytest.raises(ClientTimeout, match="metadata"):
            hasty.send(topic, b"never")
        told: list[Any] = []
        waiting = threading.Thread(target=lambda: told.append(producer.send(topic, b"0").result(RESTART_MS / 1000)))
        waiting.start()
    waiting.join(90)
    assert [each.offset for each in told] == [0]


@pytest.mark.campaign
def test_records_end_in_time_when_it_stays_away(scene: Scene) -> None:
    topic = scene.topic()
    producer = scene.producer(delivery_timeout_ms=1_500, request_timeout_ms=1_000)
    producer.send(topic, b"0").result(30)
    with scene.cluster.stopped():
        late = [producer.send(topic, b"late") for _ in range(5)]
        assert {type(future.exception(60)) for future in late} == {DeliveryTimeout}
    Scene.until(lambda: producer.send(topic, b"1").exception(60) is None, "a record that is in time")
    assert set(scene.numbers(topic)) == {0, 1}


@pytest.mark.campaign
def test_close_without_time(scene: Scene) -> None:
    topic = scene.topic()
    producer = scene.producer()
    producer.send(topic, b"0").result(30)
    with scene.cluster.stopped():
        left = producer.send(topic, b"left")
        producer.close(0)
        assert isinstance(left.exception(0), ProducerClosed)
        assert producer.live_buffers == 0
    assert scene.numbers(topic) == [0]


# The broker is silent or slow


def test_a_silence_longer_than_a_request_may_take(scene: Scene) -> None:
    """The request is sent again, and the broker, when it awakes, has both: the record is there once."""
    topic = scene.topic(2)
    sending = Sending(scene.producer(**BUSY | {"request_timeout_ms": 700}), topic)
    sending.await_acknowledged()
    with scene.cluster.paused():
        time.sleep(1.6)
    sending.await_acknowledged()
    acknowledged = sending.end()
    assert acknowledged == list(range(len(sending.sent)))
    assert_exactly_once(scene, topic, acknowledged)


def test_a_silence_longer_than_records_may_take(scene: Scene) -> None:
    topic = scene.topic()
    # Longer than a machine that stands still keeps back what is to be delivered.
    producer = scene.producer(delivery_timeout_ms=5_000, request_timeout_ms=3_000)
    producer.send(topic, b"0").result(30)
    with scene.cluster.paused():
        assert isinstance(producer.send(topic, b"1").exception(30), DeliveryTimeout)
    assert producer.send(topic, b"2").result(30).offset in (1, 2)
    assert scene.numbers(topic) in ([0, 2], [0, 1, 2])


def test_a_slow_broker(scene: Scene) -> None:
    """Answers come 80 ms late: requests in flight at once keep records moving, and in order."""
    topic = scene.topic(2)
    proxy = scene.proxy()
    with scene.producer(**BUSY, bootstrap_servers=proxy.bootstrap_servers) as producer:
        producer.send(topic, b"0", partition=0).result(30)
        with proxy.faults.delay(80, jitter_ms=40, seed=1, api="Produce") as slow:
            sent = [producer.send(topic, b"%d" % n, partition=n % 2) for n in range(1, 600)]
            producer.flush()
            assert slow.hits > 5
        assert [future.exception(0) for future in sent] == [None] * 599
    assert_exactly_once(scene, topic, list(range(600)))


def test_a_full_buffer_ends_the_wait_in_time(scene: Scene) -> None:
    topic = scene.topic()
    producer = scene.producer(buffer_memory=10_000, batch_size=1_000, max_block_ms=3_000)
    producer.send(topic, b"0").result(30)
    kept: list[RecordFuture] = []

    def send_until_it_is_full() -> None:
        for _ in range(200):
            kept.append(producer.send(topic, b"1" * 300))

    with scene.cluster.paused():
        with pytest.raises(ClientTimeout, match=r"max\.block\.ms"):
            send_until_it_is_full()
        assert 10 < len(kept) < 40
    for future in kept:
        future.result(60)
    assert len(scene.read_all(topic)) == len(kept) + 1


def test_a_full_buffer_lets_go_when_there_is_room(scene: Scene) -> None:
    topic = scene.topic()
    producer = scene.producer(buffer_memory=10_000, batch_size=1_000, max_block_ms=60_000)
    producer.send(topic, b"0").result(30)

    def send() -> None:
        for _ in range(100):
            producer.send(topic, b"1" * 300)

    threads = [threading.Thread(target=send) for _ in range(3)]
    with scene.cluster.paused():
        for thread in threads:
            thread.start()
        Scene.until(lambda: producer.pending >= 8, "a full buffer")
    for thread in threads:
        thread.join(90)
    producer.flush()
    assert len(scene.read_all(topic)) == 301
    assert producer.live_buffers == 0


def test_a_batch_that_waits_for_room(scene: Scene) -> None:
    topic = scene.topic()
    with scene.producer(buffer_memory=5_000, batch_size=1_000) as producer:
        producer.send_batch(topic, [b"%0100d" % number for number in range(1_000)]).result(90)
    assert scene.numbers(topic) == list(range(1_000))


# The network


@pytest.mark.everywhere
@pytest.mark.parametrize("after_bytes", [0, 4, 20], ids=["before it", "within its head", "within it"])
def test_answers_that_are_cut_off(scene: Scene, after_bytes: int) -> None:
    """The request was carried out and its answer lost: sent again, it is known by its sequence numbers."""
    topic = scene.topic(2)
    proxy = scene.proxy()
    with scene.producer(**BUSY, bootstrap_servers=proxy.bootstrap_servers) as producer:
        sending = Sending(producer, topic)
        sending.await_acknowledged(50)
        with proxy.faults.disconnect(after_bytes, api="Produce", probability=0.3, seed=after_bytes, times=6) as cut:
            assert cut.wait(6, 60)
        sending.await_acknowledged(50)
        acknowledged = sending.end()
    assert acknowledged == list(range(len(sending.sent)))
    assert_exactly_once(scene, topic, acknowledged)


@pytest.mark.parametrize("after_bytes", [0, 10, 100], ids=["before it", "within its head", "within it"])
def test_requests_that_are_cut_off(scene: Scene, after_bytes: int) -> None:
    topic = scene.topic(2)
    proxy = scene.proxy()
    with scene.producer(**BUSY, bootstrap_servers=proxy.bootstrap_servers) as producer:
        sending = Sending(producer, topic)
        sending.await_acknowledged(50)
        what: dict[str, Any] = {"api": "Produce", "direction": "request", "probability": 0.3, "seed": 1, "times": 6}
        with proxy.faults.disconnect(after_bytes, **what) as cut:
            assert cut.wait(6, 60)
        sending.await_acknowledged(50)
        acknowledged = sending.end()
    assert acknowledged == list(range(len(sending.sent)))
    assert_exactly_once(scene, topic, acknowledged)


def test_answers_that_never_come(scene: Scene) -> None:
    topic = scene.topic(2)
    config = BUSY | {"request_timeout_ms": 600}
    proxy = scene.proxy()
    with scene.producer(**config, bootstrap_servers=proxy.bootstrap_servers) as producer:
        sending = Sending(producer, topic)
        sending.await_acknowledged(50)
        with proxy.faults.drop(api="Produce", times=2) as lost:
            assert lost.wait(2, 60)
        sending.await_acknowledged(50)
        acknowledged = sending.end()
    assert acknowledged == list(range(len(sending.sent)))
    assert_exactly_once(scene, topic, acknowledged)


def test_connections_that_break_again_and_again(scene: Scene) -> None:
    topic = scene.topic(2)
    proxy = scene.proxy()
    with scene.producer(**BUSY, bootstrap_servers=proxy.bootstrap_servers) as producer:
        sending = Sending(producer, topic)
        for _ in range(8):
            sending.await_acknowledged(20)
            proxy.disconnect()
        sending.await_acknowledged(20)
        acknowledged = sending.end()
    assert acknowledged == list(range(len(sending.sent)))
    assert_exactly_once(scene, topic, acknowledged)


def test_the_first_bootstrap_server_is_dead(scene: Scene) -> None:
    topic = scene.topic()
    with scene.producer(bootstrap_servers=f"127.0.0.1:1,{scene.servers}") as producer:
        assert producer.send(topic, b"0").result(60).offset == 0


def test_retries_that_are_none(scene: Scene) -> None:
    topic = scene.topic()
    config: dict[str, Any] = {"retries": 0, "enable_idempotence": False}
    proxy = scene.proxy()
    with scene.producer(**config, bootstrap_servers=proxy.bootstrap_servers) as producer:
        producer.send(topic, b"0").result(30)
        with proxy.faults.disconnect(api="Produce", times=1):
            assert producer.send(topic, b"1").exception(30) is not None
        producer.send(topic, b"2").result(30)
    assert scene.numbers(topic) in ([0, 2], [0, 1, 2])


# The cluster changes


def test_the_log_is_deleted_under_an_idempotent_producer(scene: Scene) -> None:
    """With the records goes what the broker knew of the producer, as far as it does."""
    topic = scene.topic()
    producer = scene.producer()
    for number in range(50):
        producer.send(topic, b"%d" % number)
    producer.flush()
    [place] = scene.places(topic, 1)
    scene.done(scene.admin.delete_records({place: 50}))
    sent = [producer.send(topic, b"%d" % number) for number in range(50, 100)]
    assert [future.result(60).offset for future in sent] == list(range(50, 100))
    assert scene.numbers(topic) == list(range(50, 100))


@pytest.mark.everywhere
def test_a_topic_that_is_made_anew_under_a_producer(scene: Scene) -> None:
    topic = scene.topic()
    producer = scene.producer(metadata_max_age_ms=500)
    for number in range(50):
        producer.send(topic, b"%d" % number)
    producer.flush()
    scene.make_anew(topic)
    sent = [producer.send(topic, b"%d" % number) for number in range(100, 130)]
    assert [future.result(60).offset for future in sent] == list(range(30))
    assert scene.numbers(topic) == list(range(100, 130))


def test_a_topic_that_is_made_anew_with_fewer_partitions(scene: Scene) -> None:
    topic = scene.topic(4)
    producer = scene.producer(metadata_max_age_ms=500)
    for number in range(40):
        producer.send(topic, b"%d" % number, partition=number % 4)
    producer.flush()
    scene.make_anew(topic)
    Scene.until(lambda: len(producer.partitions_for(topic)) == 1, "the new topic in the producer's metadata")
    sent = [producer.send(topic, b"%d" % number, key=b"%d" % number) for number in range(30)]
    assert {future.result(60).partition for future in sent} == {0}


def test_a_topic_that_is_deleted_for_good(scene: Scene) -> None:
    """Nothing creates it anew where automatic creation is off; the records' time ends."""
    topic = scene.topic()
    producer = scene.producer(delivery_timeout_ms=5_000, request_timeout_ms=3_000, max_block_ms=5_000)
    producer.send(topic, b"0").result(30)
    producer.send("other-" + topic, b"0").result(60)
    scene.delete(topic)
    outcomes: list[Exception | None] = []
    try:
        outcomes.append(producer.send(topic, b"1").exception(60))
    except ClientTimeout as error:
        outcomes.append(error)
    # Automatic creation is the default of all three: it may have come back, empty.
    if outcomes == [None]:
        assert scene.numbers(topic) == [1]
    assert producer.send("other-" + topic, b"1").result(60).offset == 1


def test_partitions_that_are_added_get_records(scene: Scene) -> None:
    topic = scene.topic()
    producer = scene.producer(metadata_max_age_ms=300, batch_size=200)
    producer.send(topic, b"x").result(30)
    scene.add_partitions(topic, 4)
    seen: set[int] = set()

    def is_spread() -> bool:
        seen.update(producer.send(topic, b"x" * 300).result(30).partition for _ in range(5))
        return len(seen) == 4

    Scene.until(is_spread, "records in all four partitions")


def test_a_topic_is_created_by_the_first_record(scene: Scene) -> None:
    topic = f"auto-{scene.name}"
    with scene.producer() as producer:
        assert producer.send(topic, b"0").result(60).offset == 0
    raise_first(scene.admin.delete_topics([topic]))


def test_a_name_that_no_topic_can_have(scene: Scene) -> None:
    with scene.producer(max_block_ms=5_000) as producer, pytest.raises(errors.InvalidTopicError):
        producer.send("no/such name", b"")
