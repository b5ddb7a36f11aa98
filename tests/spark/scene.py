"""Scene: the topics of one case before one broker, under names of their own, and what is done to them on the way.

A case calls its topics by short names, and writes `$a` where the real name of topic a is to be: in options, and in JSON
there. What comes back is put in the case's words again, so that it can be compared with what another run brought.
"""

from __future__ import annotations

import json
import string
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any

import confluent_kafka

from kcore.client.admin.admin import Admin
from kcore.client.admin.partitions import NewPartitions
from kcore.client.admin.results import failures
from kcore.client.admin.topics import NewTopic
from kcore.client.metadata.cluster import TopicPartition
from tests.spark.contents import FIRST_TIME_MS, Record, Topic, Transaction

PATIENCE_S = 60.0
LATER_MS = 10_000
LOOK_S = 0.05


class Scene:
    def __init__(self, servers: str, topics: Iterable[Topic] = ()) -> None:
        self.servers = servers
        self._prefix = f"spark{uuid.uuid4().hex[:10]}-"
        self._open = ExitStack()
        self._admin = self._open.enter_context(Admin(bootstrap_servers=servers))
        self._transactional: list[confluent_kafka.Producer] = []
        for topic in topics:
            self.create(topic)

    def close(self) -> None:
        # What stays open is let go of last: its broker ends it by itself.
        self._transactional.clear()
        self._open.close()

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # Names

    def real(self, text: str) -> str:
        """`$a` becomes the name of topic a, `$all` a regular expression that all topics of the case match."""
        names = _Names(self._prefix)
        return string.Template(text).substitute(names)

    def name(self, topic: str) -> str:
        return self._prefix + topic

    def told(self, text: str) -> str:
        """What Spark says, in the case's words."""
        return text.replace(self._prefix, "")

    def offsets(self, text: str | None) -> dict[str, Any] | None:
        """Of a query's progress. Ours has topics' ids beside them, under a name that is no topic's."""
        document = None if text is None else json.loads(text)
        if document is None:
            return None
        return {self.told(topic): found for topic, found in document.items() if not topic.startswith("@")}

    # What is done to topics

    def create(self, topic: Topic) -> None:
        # Records bear times of long ago.
        settings = {"retention.ms": "-1", **dict(topic.settings)}
        new = NewTopic(self.name(topic.name), topic.partitions, 1, settings)
        _done(self._admin.create_topics([new]))
        self.write(topic.name, topic.records, topic.codec)

    def write(self, topic: str, records: Iterable[Record | Transaction], codec: str = "none") -> None:
        producer = self._producer(codec)
        for record in records:
            if isinstance(record, Transaction):
                producer.flush()
                self._write_transaction(topic, record)
            else:
                _produce(producer, self.name(topic), record)
        assert producer.flush(PATIENCE_S) == 0

    def add_partitions(self, topic: str, total: int) -> None:
        _done(self._admin.create_partitions([NewPartitions(self.name(topic), total)]))

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        places = {TopicPartition(self.name(topic), partition): offset for partition, offset in before.items()}
        _done(self._admin.delete_records(places))

    def delete(self, topic: str) -> None:
        """Returns when nobody is told of it any more."""
        name = self.name(topic)
        _done(self._admin.delete_topics([name]))
        self.until(lambda: name not in {one.name for one in self._admin.list_topics()}, f"the end of topic {topic}")

    def wait_until_compacted(self, topic: str) -> None:
        """Of one partition, whose first record is not the last of its key. A record of a later time ends the segment
        that is to be compacted; its key stays the only one."""

        def is_compacted() -> bool:
            return self._first_offset(topic) > 0

        if not is_compacted():
            self.write(topic, (Record(0, b"later", b"later", FIRST_TIME_MS + LATER_MS),))
            self.until(is_compacted, f"compaction of topic {topic}")

    def _first_offset(self, topic: str) -> int:
        """Of the first record there is."""
        settings = {"bootstrap.servers": self.servers, "group.id": "none", "auto.offset.reset": "earliest"}
        consumer = confluent_kafka.Consumer(settings)
        try:
            consumer.assign([confluent_kafka.TopicPartition(self.name(topic), 0, 0)])
            [message] = consumer.consume(1, PATIENCE_S)
            return int(message.offset())
        finally:
            consumer.close()

    def until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, f"{what} does not come"
            time.sleep(LOOK_S)

    def _producer(self, codec: str) -> confluent_kafka.Producer:
        return confluent_kafka.Producer(
            {
                "bootstrap.servers": self.servers,
                "compression.type": codec,
                "linger.ms": 5,
                "enable.idempotence": True,
                # A topic that was just made may not be known everywhere yet.
                "topic.metadata.refresh.interval.ms": 1000,
            }
        )

    def _write_transaction(self, topic: str, transaction: Transaction) -> None:
        name = uuid.uuid4().hex
        producer = self._transactional_producer(name)
        producer.begin_transaction()
        for record in transaction.records:
            _produce(producer, self.name(topic), record)
        assert producer.flush(PATIENCE_S) == 0
        if transaction.commits is None:
            self._transactional.append(producer)
            return
        if transaction.commits:
            producer.commit_transaction(PATIENCE_S)
        else:
            producer.abort_transaction(PATIENCE_S)
        # The coordinator answers before the markers are in the partitions, but lets nobody begin anew before they are.
        self._transactional_producer(name)

    def _transactional_producer(self, name: str) -> confluent_kafka.Producer:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": self.servers, "transactional.id": name, "linger.ms": 0}
        )
        producer.init_transactions(PATIENCE_S)
        return producer


class _Names(Mapping[str, str]):
    """`all` is a pattern, everything else a topic."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __getitem__(self, name: str) -> str:
        return self._prefix + (".*" if name == "all" else name)

    def __iter__(self) -> Any:
        raise TypeError("names have no end")

    def __len__(self) -> int:
        raise TypeError("names have no end")


def _produce(producer: confluent_kafka.Producer, topic: str, record: Record) -> None:
    producer.produce(
        topic,
        record.value,
        record.key,
        record.partition,
        timestamp=record.timestamp_ms,
        headers=list(record.headers) or None,
        on_delivery=_delivered,
    )
    producer.poll(0)


def _delivered(error: confluent_kafka.KafkaError | None, message: object) -> None:
    if error is not None:
        raise confluent_kafka.KafkaException(error)


def _done(outcomes: Mapping[Any, Any]) -> None:
    failed = failures(outcomes)
    assert not failed, failed
