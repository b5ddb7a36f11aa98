"""Leaders that move and followers that serve, before three brokers of Apache Kafka."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from kcore.client.admin.topics import NewTopic
from kcore.client.consumer import Consumer
from kcore.client.consumer.consumer_errors import LogTruncated
from kcore.client.metadata.cluster import TopicPartition
from tests.scenarios.members import Group
from tests.scenarios.scene import POLL_MS, Scene, by_partition, numbers_of, take
from tests.scenarios.test_trouble_of_producers import BUSY, Sending, assert_exactly_once
from tests.scenarios.three_brokers import ThreeBrokers


@pytest.fixture
def scene(trio: ThreeBrokers) -> Iterator[Scene]:
    with Scene(trio) as found:  # type: ignore[arg-type]
        yield found


def replicated(scene: Scene, partitions: int = 2, replicas: list[int] | None = None, **configs: str) -> str:
    """Led by node 2, then 3, unless said otherwise."""
    topic = f"t-{scene.name}-{time.monotonic_ns()}"
    named = {key.replace("_", "."): value for key, value in configs.items()}
    assignment = [replicas or ([2, 3, 1] if number % 2 == 0 else [3, 2, 1]) for number in range(partitions)]
    scene.done(scene.admin.create_topics([NewTopic(topic, configs=named, replica_assignment=assignment)]))
    return topic


class Reading:
    """A consumer that follows a topic while a scenario goes on; every record once, in order."""

    def __init__(self, scene: Scene, topic: str, **keywords: Any) -> None:
        self.consumer: Consumer = scene.consumer(**keywords)
        self.consumer.assign(scene.places(topic, 2))
        self.found: dict[int, list[int]] = {0: [], 1: []}

    def poll(self) -> None:
        for partition, numbers in by_partition(self.consumer.poll(POLL_MS)).items():
            self.found[partition] += numbers

    def read_to(self, acknowledged: list[int]) -> None:
        expected = {partition: [n for n in acknowledged if n % 2 == partition] for partition in range(2)}
        Scene.until(
            lambda: (
                self.poll() or all(len(self.found[partition]) >= len(expected[partition]) for partition in range(2))
            ),
            "all that was written",
        )
        assert self.found == expected


@pytest.mark.campaign
def test_leaders_that_move(scene: Scene, trio: ThreeBrokers) -> None:
    """Preferred elections in mid-flight: nothing lost, nothing twice, in order; for the reader as well."""
    topic = replicated(scene)
    places = scene.places(topic, 2)
    sending = Sending(scene.producer(**BUSY), topic)
    reading = Reading(scene, topic)
    for node in (3, 1, 2):
        sending.await_acknowledged()
        reading.poll()
        for place in places:
            trio.move(scene.admin, place, node)
    sending.await_acknowledged()
    acknowledged = sending.end()
    assert acknowledged == list(range(len(sending.sent)))
    assert_exactly_once(scene, topic, acknowledged)
    reading.read_to(acknowledged)


@pytest.mark.campaign
@pytest.mark.parametrize("kill", [False, True], ids=["in good order", "by kill -9"])
def test_a_leader_that_ends(scene: Scene, trio: ThreeBrokers, kill: bool) -> None:
    topic = replicated(scene, min_insync_replicas="2")
    sending = Sending(scene.producer(**BUSY), topic)
    reading = Reading(scene, topic)
    sending.await_acknowledged()
    node = trio.nodes[2]
    if kill:
        node.kill()
    else:
        node.stop()
    try:
        sending.await_acknowledged()
        reading.poll()
    finally:
        node.start()
    sending.await_acknowledged()
    acknowledged = sending.end()
    assert acknowledged == list(range(len(sending.sent)))
    assert_exactly_once(scene, topic, acknowledged)
    reading.read_to(acknowledged)
    for place in scene.places(topic, 2):
        trio.await_replicas(scene.admin, place, 3)


@pytest.mark.campaign
def test_the_newer_leader_is_named_in_the_answer(scene: Scene, trio: ThreeBrokers) -> None:
    """KIP-951: who asked the former leader needs neither metadata nor the pause before a retry, which is 20 s here."""
    topic = replicated(scene)
    place = TopicPartition(topic, 0)
    patient: dict[str, Any] = {"retry_backoff_ms": 20_000, "retry_backoff_max_ms": 20_000}
    producer = scene.producer(**patient)
    consumer = scene.consumer(**patient)
    consumer.assign([place])
    producer.send(topic, b"0", partition=0).result(60)
    assert numbers_of(take(consumer, 1)) == [0]
    trio.move(scene.admin, place, 1)
    began = time.monotonic()
    producer.send(topic, b"1", partition=0).result(60)
    assert numbers_of(take(consumer, 1)) == [1]
    assert time.monotonic() - began < 15


@pytest.mark.campaign
def test_a_follower_of_the_rack_serves(scene: Scene, trio: ThreeBrokers) -> None:
    """KIP-392: the leader names a replica of the consumer's rack; the fetches then go there."""
    topic = replicated(scene, 1)
    scene.fill(topic, 100)
    trio.await_replicas(scene.admin, TopicPartition(topic, 0), 3)
    proxy = scene.proxy()
    config: dict[str, Any] = {"bootstrap_servers": proxy.bootstrap_servers, "client_rack": "rack-3"}
    consumer = scene.consumer(**config, fetch_max_wait_ms=100)
    consumer.assign([(topic, 0)])
    # A fault that does next to nothing counts the answers of a broker.
    leader = proxy.faults.delay(1, api="Fetch", node=2)
    follower = proxy.faults.delay(1, api="Fetch", node=3)
    assert numbers_of(take(consumer, 100)) == list(range(100))
    Scene.until(lambda: consumer.poll(50) == [] and follower.hits > 5, "fetches from the follower")
    assert leader.hits <= 2
    scene.fill(topic, 50, first=100)
    assert numbers_of(take(consumer, 50)) == list(range(100, 150))
    assert leader.hits <= 2


@pytest.mark.campaign
def test_a_follower_that_ends_while_it_serves(scene: Scene, trio: ThreeBrokers) -> None:
    topic = replicated(scene, 1)
    scene.fill(topic, 100)
    trio.await_replicas(scene.admin, TopicPartition(topic, 0), 3)
    consumer = scene.consumer(client_rack="rack-3", fetch_max_wait_ms=100)
    consumer.assign([(topic, 0)])
    assert numbers_of(take(consumer, 100)) == list(range(100))
    trio.nodes[3].kill()
    try:
        scene.fill(topic, 50, first=100)
        assert numbers_of(take(consumer, 50)) == list(range(100, 150))
    finally:
        trio.nodes[3].start()


@pytest.mark.campaign
def test_a_group_whose_coordinator_ends(scene: Scene, trio: ThreeBrokers) -> None:
    topic = replicated(scene)
    scene.fill(topic, 100, 2)
    group = Group(scene, "classic-cooperative-sticky", [topic])
    group.join()
    group.join()
    group.await_even(2)
    group.await_numbers(100)
    described = scene.admin.describe_groups([scene.group])[scene.group]
    node = described.coordinator.id  # type: ignore[union-attr]
    if node == 1:
        # The controller stays: its partition of the offsets moves instead.
        for number in range(3):
            trio.move(scene.admin, TopicPartition("__consumer_offsets", number), 2)
    else:
        trio.nodes[node].kill()
    try:
        scene.fill(topic, 100, 2, first=100)
        group.await_numbers(200)
        group.await_even(2)
    finally:
        if trio.nodes[node].process is None:
            trio.nodes[node].start()
    group.close()


def truncate(scene: Scene, trio: ThreeBrokers, topic: str) -> None:
    """What only node 2 has is lost: node 3, which was away, is elected all the same, and has other records then."""
    place = TopicPartition(topic, 0)
    trio.nodes[2].kill()
    trio.nodes[3].start()
    Scene.until(lambda: trio.leader(scene.admin, place) == 3, "the unclean election")
    scene.fill(topic, 3, first=1_000)
    trio.nodes[2].start()
    trio.await_replicas(scene.admin, place, 2)


@pytest.mark.campaign
@pytest.mark.parametrize("reset", ["none", "earliest"])
def test_a_log_that_is_cut_off_behind_its_reader(scene: Scene, trio: ThreeBrokers, reset: str) -> None:
    """KIP-320: the reader's position is of an epoch that ended earlier; it is told, or goes back to where they part."""
    topic = replicated(scene, 1, [2, 3], unclean_leader_election_enable="true")
    scene.fill(topic, 10)
    trio.await_replicas(scene.admin, TopicPartition(topic, 0), 2)
    consumer = scene.consumer(auto_offset_reset=reset)
    consumer.assign([(topic, 0)])
    if reset == "none":
        consumer.seek((topic, 0), 0)
    trio.nodes[3].kill()
    trio.await_replicas(scene.admin, TopicPartition(topic, 0), 1)
    scene.fill(topic, 10, first=10)
    assert numbers_of(take(consumer, 20)) == list(range(20))
    truncate(scene, trio, topic)
    if reset == "none":
        with pytest.raises(LogTruncated, match="from 10 on"):
            take(consumer, 1)
        consumer.seek((topic, 0), 10)
    assert numbers_of(take(consumer, 3)) == [1_000, 1_001, 1_002]
