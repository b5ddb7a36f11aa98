"""Reads a broker back: whole partitions and committed offsets by a client, records by dumping the files."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from confluent_kafka import OFFSET_INVALID as NOTHING_COMMITTED
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from kcli.commands.dump_log import dump_files
from kcli.log_dump.findings import Findings
from tests.invariants import history
from tests.invariants.history import Committed, LogView, RecordsDeleted
from tests.workload.confluent_load import SILENT
from tests.workload.plan import RETRY_MAX_MS, RETRY_MS

TIMEOUT_S = 90.0
CONNECTING = {
    "retry.backoff.ms": RETRY_MS,
    "retry.backoff.max.ms": RETRY_MAX_MS,
    "reconnect.backoff.ms": RETRY_MS,
    "reconnect.backoff.max.ms": RETRY_MAX_MS,
}


class Auditor:
    """A consumer of librdkafka that lives as long as the workload, without committing anything."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.consumer = self._consumer("auditor")
        self.admin = AdminClient({**CONNECTING, "bootstrap.servers": server}, logger=SILENT)

    def _consumer(self, group: str) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self.server,
                "group.id": group,
                "enable.auto.commit": False,
                # A record that retention takes while it is looked for is no error: everything is read once more.
                "auto.offset.reset": "error",
                **CONNECTING,
                "fetch.error.backoff.ms": RETRY_MS,
                "fetch.wait.max.ms": 10,
            },
            logger=SILENT,
        )

    def close(self) -> None:
        self.consumer.close()

    def views(self, topic: str, partitions: int) -> list[LogView]:
        """Every partition from its start to the high watermark that it has when it is asked for it."""
        return [self.view(topic, partition) for partition in range(partitions)]

    def view(self, topic: str, partition: int) -> LogView:
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            at = time.monotonic_ns()
            wanted = TopicPartition(topic, partition)
            try:
                start, end = self.consumer.get_watermark_offsets(wanted, timeout=TIMEOUT_S)
                records = self._read(wanted, start, end, deadline)
            except KafkaException as failure:
                if failure.args[0].code() not in RETRIED or time.monotonic() > deadline:
                    raise
                continue
            return LogView(history.TopicPartition(topic, partition), start, end, records, at)

    def _read(self, wanted: TopicPartition, start: int, end: int, deadline: float) -> dict[int, bytes]:
        records: dict[int, bytes] = {}
        wanted.offset = start
        self.consumer.assign([wanted] if start < end else [])
        next_offset = start
        while next_offset < end:
            message = self.consumer.poll(0.05)
            if message is None:
                assert time.monotonic() < deadline, f"{wanted}: nothing came behind {next_offset}, the end is {end}"
                continue
            error = message.error()
            if error is not None:
                raise KafkaException(error)
            offset, value = message.offset(), message.value()
            assert offset is not None
            assert value is not None
            next_offset = offset + 1
            if offset < end:
                records[offset] = value
        self.consumer.unassign()
        return records

    def delete_records(self, partition: history.TopicPartition, offset: int) -> RecordsDeleted:
        """What is below an offset goes at once, whatever retention says."""
        deadline = time.monotonic() + TIMEOUT_S
        wanted = TopicPartition(*partition, offset)
        while True:
            try:
                answer = self.admin.delete_records([wanted], request_timeout=TIMEOUT_S)[wanted].result(TIMEOUT_S)
            except KafkaException as failure:
                # librdkafka looks for the leader among the brokers that it has a connection to.
                if failure.args[0].code() not in RETRIED or time.monotonic() > deadline:
                    raise
                continue
            return RecordsDeleted(partition, answer.low_watermark, time.monotonic_ns())

    def committed(self, groups: Iterable[str], topic: str, partitions: int) -> list[Committed]:
        told = []
        for group in groups:
            consumer = self._consumer(group)
            try:
                at = time.monotonic_ns()
                wanted = [TopicPartition(topic, partition) for partition in range(partitions)]
                for one in consumer.committed(wanted, timeout=TIMEOUT_S):
                    if one.error is not None:
                        raise KafkaException(one.error)
                    offset = None if one.offset == NOTHING_COMMITTED else one.offset
                    told.append(Committed(group, history.TopicPartition(topic, one.partition), offset, at))
            finally:
                consumer.close()
        return told


# Answers of a broker that has just come back, and of a partition whose start has moved on meanwhile.
RETRIED = (
    KafkaError.OFFSET_OUT_OF_RANGE,
    KafkaError._AUTO_OFFSET_RESET,
    KafkaError._TRANSPORT,
    # The bootstrap broker is let go of as its restarted self becomes known by its id.
    KafkaError._DESTROY_BROKER,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._NOENT,
)


def dumped_records(directory: Path) -> list[tuple[int, bytes]]:
    """Offset and value of every record that `kcli dump-log` finds in a partition's directory, in their order."""
    found = Findings()
    paths = [str(path) for path in sorted(directory.glob("*.log"))]
    rows = dump_files(paths, deep=True, sanity_only=False, verify_only=False, max_bytes=None, findings=found)
    records = [(row["offset"], row["value"]) for row in rows if row["kind"] == "record"]
    assert not found.lines(), found.lines()
    return records


def index_findings(directory: Path) -> Sequence[str]:
    """What `kcli dump-log` has against the indexes and snapshots of a directory."""
    found = Findings()
    paths = [
        str(path) for suffix in ("index", "timeindex", "snapshot") for path in sorted(directory.glob(f"*.{suffix}"))
    ]
    for _ in dump_files(paths, deep=False, sanity_only=False, verify_only=True, max_bytes=None, findings=found):
        pass
    return found.lines()
