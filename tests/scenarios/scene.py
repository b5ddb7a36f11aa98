"""Scene: the stage of one scenario. Topics and groups of its own, clients that end with it, records that are counted.

Values that are numbered (`fill`, `numbers`) are decimal digits, so that lost, repeated and exchanged records show.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from kcore.client.admin.admin import Admin
from kcore.client.admin.configs import ConfigOperation, ConfigResource
from kcore.client.admin.partitions import NewPartitions
from kcore.client.admin.results import failures
from kcore.client.admin.topics import NewTopic
from kcore.client.consumer import Consumer
from kcore.client.consumer.consumer_record import ConsumerRecord
from kcore.client.metadata.cluster import TopicPartition
from kcore.client.producer.producer import Producer
from kcore.errors import TopicAlreadyExistsError
from kcore.testing import FaultProxy
from tests.scenarios.cluster import HEARTBEAT_MS, Cluster

PATIENCE_S = 60.0
# What clients are given that wait for a broker to be started: on a busy machine that takes a minute.
RESTART_MS = 240_000
POLL_MS = 200
TOPIC_RESOURCE = 2
SET = 0
GONE_CLOSE_MS = 200.0


class Scene:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.name = uuid.uuid4().hex[:10]
        self.group = f"g-{self.name}"
        self._ends = ExitStack()
        self._admin: Admin | None = None
        self._topics = 0

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *exception: object) -> None:
        self._ends.close()

    @property
    def servers(self) -> str:
        return self.cluster.bootstrap_servers

    # Topics

    @property
    def admin(self) -> Admin:
        if self._admin is None:
            self._admin = self._ends.enter_context(Admin(bootstrap_servers=self.servers))
        return self._admin

    def topic(self, partitions: int = 1, name: str | None = None, **configs: object) -> str:
        """Creates one; `max_message_bytes=1000` is max.message.bytes."""
        self._topics += 1
        name = name or f"t-{self.name}-{self._topics}"
        named = {key.replace("_", "."): str(value) for key, value in configs.items()}
        self.done(self.admin.create_topics([NewTopic(name, partitions, 1, named)]))
        return name

    def delete(self, topic: str) -> None:
        """Returns when it is gone."""
        self.done(self.admin.delete_topics([topic]))
        self.until(lambda: topic not in {each.name for each in self.admin.list_topics()}, f"the end of topic {topic}")

    def make_anew(self, topic: str) -> None:
        """With one partition. A producer that still sends there may have had it created before."""
        self.delete(topic)
        [failure] = self.admin.create_topics([NewTopic(topic, 1, 1)]).values()
        assert not isinstance(failure, Exception) or isinstance(failure, TopicAlreadyExistsError), failure

    def add_partitions(self, topic: str, total: int) -> None:
        self.done(self.admin.create_partitions([NewPartitions(topic, total)]))

    def configure(self, topic: str, **configs: object) -> None:
        operations = [ConfigOperation(name.replace("_", "."), SET, str(value)) for name, value in configs.items()]
        self.done(self.admin.alter_configs({ConfigResource(TOPIC_RESOURCE, topic): operations}))

    @staticmethod
    def done(outcomes: Mapping[Any, Any]) -> None:
        failed = failures(outcomes)
        assert not failed, failed

    @staticmethod
    def places(topic: str, partitions: int) -> list[TopicPartition]:
        return [TopicPartition(topic, number) for number in range(partitions)]

    # Clients

    def producer(self, **keywords: Any) -> Producer:
        config = {"bootstrap_servers": self.servers, **keywords}
        producer = Producer(**config)
        self._ends.callback(producer.close, 5.0)
        return producer

    def consumer(self, **keywords: Any) -> Consumer:
        """From the start of what it reads; of no group unless one is given. `flavour` as conftest.py has them."""
        config: dict[str, Any] = {"bootstrap_servers": self.servers, "auto_offset_reset": "earliest"}
        flavour = keywords.pop("flavour", None)
        if flavour is not None:
            config |= {"group_id": self.group, **protocol_of(flavour, self.cluster.session_ms)}
        consumer = Consumer(**config | keywords)
        self._ends.callback(close_quietly, consumer)
        return consumer

    def proxy(self) -> FaultProxy:
        return self._ends.enter_context(self.cluster.behind_a_proxy())

    # Records

    def fill(self, topic: str, count: int, partitions: int = 1, first: int = 0, **keywords: Any) -> None:
        """Numbered records in turn to the partitions, with rising times."""
        with Producer(bootstrap_servers=self.servers, **keywords) as producer:
            sent = [
                producer.send(topic, b"%d" % number, partition=number % partitions, timestamp=FIRST_TIME + number)
                for number in range(first, first + count)
            ]
            producer.flush()
            for future in sent:
                future.result(0)

    def read(self, topic: str, count: int, partitions: int = 1, **keywords: Any) -> list[ConsumerRecord]:
        """The first records of a topic; that there is not one more, `read_all` tells."""
        with Consumer(bootstrap_servers=self.servers, auto_offset_reset="earliest", **keywords) as consumer:
            consumer.assign(self.places(topic, partitions))
            return take(consumer, count)

    def read_all(self, topic: str, partitions: int = 1, **keywords: Any) -> list[ConsumerRecord]:
        """All that can be read now."""
        with Consumer(bootstrap_servers=self.servers, auto_offset_reset="earliest", **keywords) as consumer:
            places = self.places(topic, partitions)
            consumer.assign(places)
            ends = consumer.end_offsets(places)
            found: list[ConsumerRecord] = []

            def is_read() -> bool:
                found.extend(consumer.poll(POLL_MS))
                return all(consumer.position(place) >= ends[place] for place in places)

            self.until(is_read, f"the end of {topic}")
            return found

    def numbers(self, topic: str, partitions: int = 1, **keywords: Any) -> list[int]:
        return numbers_of(self.read_all(topic, partitions, **keywords))

    # Waiting

    @staticmethod
    def until(condition: Callable[[], object], what: str, instead: Callable[[], str] = str) -> None:
        """Returns when it holds; `instead` says what is there when it never did."""
        ends = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < ends, f"{what} did not come {instead()}"
            # A broker tells nobody when it has done something.
            time.sleep(0.01)


FIRST_TIME = 1_700_000_000_000


def protocol_of(flavour: str, session_ms: int) -> dict[str, Any]:
    """Configurations of a member."""
    protocol, _, assignor = flavour.partition("-")
    if protocol == "consumer":
        return {"group_protocol": "consumer", "group_remote_assignor": assignor, "metadata_max_age_ms": 1_000}
    return {
        "partition_assignment_strategy": [assignor],
        "session_timeout_ms": session_ms,
        "heartbeat_interval_ms": HEARTBEAT_MS,
        "metadata_max_age_ms": 1_000,
    }


def close_quietly(consumer: Consumer) -> None:
    """The end of one whose scenario has already said what it had to say."""
    try:
        consumer.close(GONE_CLOSE_MS)
    except Exception as error:
        print(f"closing: {error!r}")


def take(consumer: Consumer, count: int) -> list[ConsumerRecord]:
    """So many records, or one poll's more."""
    found: list[ConsumerRecord] = []
    ends = time.monotonic() + PATIENCE_S
    while len(found) < count:
        found += consumer.poll(POLL_MS)
        assert time.monotonic() < ends, f"{len(found)} of {count} records"
    return found


def take_nothing(consumer: Consumer, milliseconds: int = 300) -> None:
    assert [record.value for record in consumer.poll(milliseconds)] == []


def numbers_of(records: Iterable[ConsumerRecord]) -> list[int]:
    return [int(record.value) for record in records]


def by_partition(records: Sequence[ConsumerRecord]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for record in records:
        found.setdefault(record.partition, []).append(int(record.value))
    return found
