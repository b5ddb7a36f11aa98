"""A broker's data directory to do harm to: real records of a real client, the way a clean stop or kill -9 left it.

Topic `orders` has two partitions of several small segments each. Both were written by two lives of the broker, so that
there are two leader epochs, with an idempotent producer, so that there are snapshots; the first five records of
partition 0 were deleted, so that there is a log start offset; a group has committed offsets. `records` is what the
broker acknowledged.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kcore.storage.checkpoints import parse_checkpoint
from tests.broker_process import BrokerProcess

TOPIC = "orders"
GROUP = "readers"
PARTITIONS = 2
RECORDS_PER_LIFE = 150
DELETED_BELOW = 5
COMMITTED = 77
FIRST_MS = 1_700_000_000_000
TIMEOUT_S = 60.0
PROPERTIES = {
    "offsets.topic.num.partitions": "1",
    "replica.high.watermark.checkpoint.interval.ms": "50",
    "log.flush.offset.checkpoint.interval.ms": "50",
    "log.initial.task.delay.ms": "0",
    "log.retention.ms": "-1",
}
CONFIGS = {"segment.bytes": "6000", "index.interval.bytes": "300"}

Records = dict[int, dict[int, bytes]]


class Specimen:
    """`directory` is never started again: `copy` it first. Times of modification survive the copy."""

    def __init__(self, directory: Path, records: Records) -> None:
        self.directory = directory
        self.records = records

    def copy(self, target: Path) -> Path:
        shutil.copytree(self.directory, target)
        return target

    def readable(self, partition: int) -> dict[int, bytes]:
        """What a reader gets of a partition: the acknowledged records that nobody has deleted."""
        first = DELETED_BELOW if partition == 0 else 0
        return {offset: value for offset, value in self.records[partition].items() if offset >= first}


def timestamp_of(offset: int) -> int:
    """Records are ten milliseconds apart."""
    return FIRST_MS + 10 * offset


def make_specimen(directory: Path, *, clean: bool) -> Specimen:
    """Lets a broker and its clients live, twice, and stops it as asked."""
    records: Records = {partition: {} for partition in range(PARTITIONS)}
    with BrokerProcess(directory, PROPERTIES) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_server})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1, config=CONFIGS)])[TOPIC].result(TIMEOUT_S)
        write(broker, records, RECORDS_PER_LIFE)
        broker.restart()
        write(broker, records, RECORDS_PER_LIFE)
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_server})
        for future in admin.delete_records([TopicPartition(TOPIC, 0, DELETED_BELOW)]).values():
            future.result(TIMEOUT_S)
        with Reader(broker) as reader:
            reader.commit(1, COMMITTED)
        if clean:
            broker.stop()
        else:
            wait_for_recovery_points(directory)
            broker.kill()
    return Specimen(directory, records)


def write(broker: BrokerProcess, records: Records, count: int) -> None:
    """Appends `count` records to each partition, and notes what was acknowledged."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_server,
            "enable.idempotence": True,
            "batch.num.messages": 3,
            "linger.ms": 1,
        }
    )

    def delivered(error: KafkaError | None, message: object) -> None:
        assert error is None, error
        records[message.partition()][message.offset()] = message.value()  # type: ignore[attr-defined]

    for partition, known in records.items():
        for number in range(len(known), len(known) + count):
            value = b"%d/%d " % (partition, number) + b"." * 60
            producer.produce(TOPIC, value, partition=partition, timestamp=timestamp_of(number), on_delivery=delivered)
    assert producer.flush(TIMEOUT_S) == 0


def wait_for_recovery_points(directory: Path) -> None:
    """Until the finished segments of both partitions are on the device, and the checkpoint says so."""
    path = directory / "recovery-point-offset-checkpoint"
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        points = parse_checkpoint(str(path), path.read_bytes())
        if all(points.get((TOPIC, partition), 0) > RECORDS_PER_LIFE for partition in range(PARTITIONS)):
            return
        assert time.monotonic() < deadline, points
        time.sleep(0.01)


class Reader:
    """One consumer, which checks checksums, for everything that a test wants to know of a broker."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap_server,
                "group.id": GROUP,
                "check.crcs": True,
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 20,
            }
        )

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exception: object) -> None:
        self._consumer.close()

    def read(self, partition: int, offset: int = OFFSET_BEGINNING) -> dict[int, bytes]:
        """Every record of a partition from an offset on; KafkaException where the consumer was told of damage."""
        _, end = self._consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=TIMEOUT_S)
        found: dict[int, bytes] = {}
        self._consumer.assign([TopicPartition(TOPIC, partition, offset)])
        deadline = time.monotonic() + TIMEOUT_S
        while max(found, default=-1) + 1 < end:
            assert time.monotonic() < deadline, f"no more records after {max(found, default=-1)}, below {end}"
            for message in self._consumer.consume(1_000, 0.02):
                if message.error():
                    raise KafkaException(message.error())
                found[message.offset()] = message.value()
        return found

    def offset_for_time(self, partition: int, timestamp_ms: int) -> int:
        """What ListOffsets answers."""
        asked = [TopicPartition(TOPIC, partition, timestamp_ms)]
        return int(self._consumer.offsets_for_times(asked, timeout=TIMEOUT_S)[0].offset)

    def commit(self, partition: int, offset: int) -> None:
        self._consumer.commit(offsets=[TopicPartition(TOPIC, partition, offset)], asynchronous=False)

    def committed(self, partition: int) -> int:
        """The group's committed offset."""
        return int(self._consumer.committed([TopicPartition(TOPIC, partition)], timeout=TIMEOUT_S)[0].offset)


def segment_files(directory: Path, suffix: str, partition: int = 0) -> list[Path]:
    """The files of a kind in a partition's directory, oldest first; the last one is the active segment's."""
    return sorted((directory / f"{TOPIC}-{partition}").glob(f"*{suffix}"))


def rewrite(path: Path, content: bytes) -> None:
    """Changes a file's bytes and no more: its time of modification stays, as when a disk forgets."""
    stat = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def flip(path: Path, position: int, bits: int = 0x01) -> None:
    """Flips bits of one byte; a negative position counts from the end."""
    content = bytearray(path.read_bytes())
    content[position] ^= bits
    rewrite(path, bytes(content))
