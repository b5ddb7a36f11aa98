"""Topics that Apache Kafka is made to write: every format, codec and kind of producer whose files we have to read.

Each function makes one topic of one partition on a broker and writes to it. Rows, keys and timestamps are fixed,
segments and index intervals small, so that a few kilobytes hold several segments with index entries. What a broker then
says of a topic is not repeated here: `observation.py` asks it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

TIMEOUT_S = 60
START_MS = 1_600_000_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# zstd came with record batches (KIP-110).
OLD_CODECS = CODECS[:4]
SEGMENT_BYTES = "700"
INTERVALS = {"index.interval.bytes": "150", "segment.jitter.ms": "0"}
# Nothing here is young: without it retention would take all of it away.
KEPT = {"retention.ms": "-1"}
NO_TIME = -1
CLEANED_POLLS = 600
QUIET_S = 0.5


def create(server: str, topic: str, configs: Mapping[str, str] = {}) -> None:
    """A topic of one partition."""
    admin = AdminClient({"bootstrap.servers": server})
    # Apache Kafka 4 wants a mebibyte at least (KIP-1030), but for its own tests.
    for name in ("segment.bytes", "internal.segment.bytes"):
        topics = [NewTopic(topic, 1, 1, config={name: SEGMENT_BYTES, **INTERVALS, **KEPT, **configs})]
        try:
            admin.create_topics(topics)[topic].result(TIMEOUT_S)
            return
        except KafkaException as error:
            if error.args[0].code() != KafkaError.INVALID_CONFIG or name != "segment.bytes":
                raise


def alter(server: str, topic: str, **configs: str) -> None:
    """Sets a topic's configurations; underscores stand for dots."""
    entries = [
        ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
        for name, value in configs.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": server})
    admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)


def alter_and_await(server: str, topic: str, **configs: str) -> None:
    """`alter`, for a broker with ZooKeeper; returns when the broker goes by them.

    It takes changes up only after whoever made them was answered, one by one in the order in which they were made. So a
    change of another topic is made behind this one, which shows: that topic then takes no more messages.
    """
    behind = f"behind-{topic}-{'-'.join(configs.values())}"
    create(server, behind)
    alter(server, topic, **configs)
    alter(server, behind, max_message_bytes="1")
    sender = producer(server)
    wait_until(lambda: is_refused(sender, behind), f"the configurations of {topic} are not taken up")


def is_refused(sender: Producer, topic: str) -> bool:
    """Whether the broker has a message that it does not take, for its size."""
    told: list[KafkaError | None] = []
    sender.produce(topic, b"larger than one byte", partition=0, on_delivery=lambda error, _: told.append(error))
    assert sender.flush(TIMEOUT_S) == 0
    (error,) = told
    assert error is None or error.code() == KafkaError.MSG_SIZE_TOO_LARGE, error
    return error is not None


def producer(server: str, codec: str = "none", **properties: Any) -> Producer:
    """`codec` for its batches; properties are librdkafka's, with underscores for dots."""
    own = {name.replace("_", "."): value for name, value in properties.items()}
    return Producer({"bootstrap.servers": server, "compression.type": codec, "linger.ms": 5, "acks": "all", **own})


def send(sender: Producer, topic: str, first: int, count: int, text: str = "value", keys: int = 1_000_000) -> None:
    """Some rows in one batch or a few: keys repeat after `keys`, some are missing, values repeat to be compressible."""
    for number in range(first, first + count):
        key = None if number % 7 == 3 and keys > count else b"key-%d" % (number % keys)
        value = b"" if number % 7 == 4 else b"%d %s " % (number, text.encode()) * 4
        sender.produce(topic, value, key, partition=0, timestamp=START_MS + number * 10)
    assert sender.flush(TIMEOUT_S) == 0


def old_format(server: str, topic: str, version: str, configs: Mapping[str, str] = {}) -> None:
    """Messages of magic 0 (`version` 0.9.0) or 1 (0.10.2), of every codec that they know."""
    create(server, topic, {"message.format.version": version, **configs})
    for position, codec in enumerate(OLD_CODECS):
        send(producer(server, codec), topic, position * 8, 8, codec)


def upgraded(server: str, topic: str) -> None:
    """A log that began with magic 0, went on with 1 and ended with 2, as the log of an old cluster does."""
    create(server, topic, {"message.format.version": "0.9.0"})
    for position, version in enumerate(("0.9.0", "0.10.2", "2.8")):
        alter_and_await(server, topic, message_format_version=version)
        send(producer(server), topic, position * 12, 6, f"from {version}")
        send(producer(server, "gzip"), topic, position * 12 + 6, 6, f"gzip from {version}")


def every_codec(server: str, topic: str) -> None:
    """Batches of every codec, of an idempotent producer each, and of a plain one."""
    create(server, topic)
    for position, codec in enumerate(CODECS):
        sender = producer(server, codec, enable_idempotence=True)
        send(sender, topic, position * 20, 10, codec)
        send(sender, topic, position * 20 + 10, 5, codec)
        send(producer(server, codec), topic, position * 20 + 15, 5, codec)


def transactional(server: str, name: str) -> Producer:
    """A transactional producer, ready to begin."""
    sender = producer(server, transactional_id=name, enable_idempotence=True)
    sender.init_transactions(TIMEOUT_S)
    return sender


def transactions(server: str, topic: str, *, ends_open: bool, rounds: int = 6) -> Producer:
    """Committed and aborted transactions of two producers, across each other and across segments, and plain rows
    between.

    With `ends_open` a transaction is left undecided, which ends what readers of committed records may see, for as long
    as somebody has the producer that is given back: it aborts it when it is collected.
    """
    create(server, topic)
    committer, aborter = transactional(server, f"{topic}-committer"), transactional(server, f"{topic}-aborter")
    plain = producer(server)
    for number in range(rounds):
        committer.begin_transaction()
        aborter.begin_transaction()
        send(aborter, topic, number * 20, 3, "aborted")
        send(committer, topic, number * 20 + 3, 4, "committed")
        send(plain, topic, number * 20 + 7, 2, "plain")
        send(aborter, topic, number * 20 + 9, 2, "aborted too")
        (committer.commit_transaction if number % 3 else committer.abort_transaction)(TIMEOUT_S)
        aborter.abort_transaction(TIMEOUT_S)
    if ends_open:
        committer.begin_transaction()
        send(committer, topic, 200, 3, "undecided")
        send(plain, topic, 203, 3, "plain behind it")
    return committer


def compacted(server: str, topic: str) -> None:
    """A log that the cleaner went over: gaps in the offsets, tombstones, and an aborted transaction's marker."""
    create(
        server,
        topic,
        {
            "cleanup.policy": "compact",
            "min.cleanable.dirty.ratio": "0.01",
            "min.compaction.lag.ms": "0",
            "delete.retention.ms": "604800000",
        },
    )
    sender = producer(server, enable_idempotence=True)
    send(sender, topic, 0, 21, keys=7)
    for value in (b"short-lived", None):
        for key in (1, 2):
            sender.produce(topic, value, b"gone-%d" % key, partition=0, timestamp=START_MS + 500)
        assert sender.flush(TIMEOUT_S) == 0
    aborter = transactional(server, f"{topic}-aborter")
    aborter.begin_transaction()
    send(aborter, topic, 21, 7, "aborted", keys=7)
    aborter.abort_transaction(TIMEOUT_S)
    for first in range(28, 70, 7):
        send(sender, topic, first, 7, keys=7)
    wait_until(lambda: is_quiet(server, topic), "the cleaner did not come to its end")


def is_quiet(server: str, topic: str) -> bool:
    """Whether the cleaner has come, and does nothing more for a while."""
    rows = read_rows(server, topic)
    if len(rows) >= 40:
        return False
    time.sleep(QUIET_S)
    return rows == read_rows(server, topic)


def read_rows(server: str, topic: str, isolation: str = "read_uncommitted") -> list[tuple[Any, ...]]:
    """(offset, timestamp, key, value) as librdkafka reads them, up to the end that the isolation level allows."""
    consumer = Consumer(
        {
            "bootstrap.servers": server,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "check.crcs": True,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        rows = []
        while (message := consumer.poll(TIMEOUT_S)) is not None and message.error() is None:
            kind, time = message.timestamp()
            rows.append(
                (message.offset(), NO_TIME if kind == TIMESTAMP_NOT_AVAILABLE else time, message.key(), message.value())
            )
        assert message is not None, f"the end of {topic} was not reached"
        return rows
    finally:
        consumer.close()


def wait_until(is_so: Callable[[], bool], complaint: str) -> None:
    """Of what Apache Kafka does by itself nothing tells when it is done."""
    for _ in range(CLEANED_POLLS):
        if is_so():
            return
        time.sleep(0.05)
    raise AssertionError(complaint)
