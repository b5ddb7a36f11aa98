"""Very many small records through one producer and one consumer, and what that does to memory.

    .venv/bin/python -m perf.run_client_soak [--records 200000000] [--by-record 0.02] [--partitions 4] [--json FILE]

The producer sends batches of values of 8 bytes, the number of the record in its partition (`send_batch`, of NumPy), and
a part of them one by one (`send`); the consumer reads with `poll_columns`, and a part with `poll`. Every number is
looked at: none is missing, repeated or out of order. Both are in this process, the broker is in another and keeps a few
segments only.

Resident memory (VmRSS) is printed at each tenth, of this process and of the broker. At the end both clients are closed,
and the buffers that live are counted: there are none.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kcore.client.consumer import Consumer
from kcore.client.consumer.record_columns import live_columns
from kcore.client.network.client_request import live_frames
from kcore.client.producer import Producer
from kcore.testing import EmbeddedBroker

TOPIC = "soak"
ROWS_PER_CALL = 50_000
PARTS = 10
# How far the producer may be ahead: what is not read yet must not be deleted.
MAX_AHEAD = 4_000_000
SEGMENT_BYTES = 64 << 20
RETENTION_BYTES = 4 * SEGMENT_BYTES
BROKER = {
    "log.segment.bytes": SEGMENT_BYTES,
    "log.retention.bytes": RETENTION_BYTES,
    "log.retention.check.interval.ms": 1_000,
    "log.segment.delete.delay.ms": 1_000,
}
POLL_MS = 200


class Sample(NamedTuple):
    records: int
    seconds: float
    client_mib: float
    broker_mib: float


def resident_mib(pid: int | str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has no VmRSS")


class Progress:
    """How many records were read; the producer waits for it."""

    def __init__(self) -> None:
        self.read = 0
        self.failure: BaseException | None = None
        self._changed = threading.Condition()

    def add(self, count: int) -> None:
        with self._changed:
            self.read += count
            self._changed.notify()

    def fail(self, failure: BaseException) -> None:
        with self._changed:
            self.failure = failure
            self._changed.notify()

    def wait_until_near(self, sent: int) -> None:
        with self._changed:
            while sent - self.read > MAX_AHEAD and self.failure is None:
                self._changed.wait()
        if self.failure is not None:
            raise self.failure


class Sums:
    """The next number of each partition."""

    def __init__(self, partitions: int) -> None:
        self.next = [0] * partitions

    def check_columns(self, partitions: NDArray[np.int32], numbers: NDArray[np.int64]) -> None:
        for partition, due in enumerate(self.next):
            found = numbers[partitions == partition]
            if len(found):
                if found[0] != due or (np.diff(found) != 1).any():
                    raise AssertionError(f"partition {partition}: {found[0]} where {due} was due, or a gap behind it")
                self.next[partition] += len(found)

    def check(self, partition: int, number: int) -> None:
        if number != self.next[partition]:
            raise AssertionError(f"partition {partition}: {number} where {self.next[partition]} was due")
        self.next[partition] += 1


def consume(consumer: Consumer, records: int, by_record: float, progress: Progress) -> None:
    """The first part of each tenth by records, the rest in columns."""
    sums = Sums(len(consumer.assignment))
    read = 0
    try:
        while read < records:
            if (read * PARTS / records) % 1 < by_record:
                found = consumer.poll(POLL_MS)
                for record in found:
                    assert record.value is not None
                    sums.check(record.partition, int.from_bytes(record.value, sys.byteorder))
                count = len(found)
            else:
                columns = consumer.poll_columns(POLL_MS)
                count = len(columns)
                if count:
                    numbers = columns.value.fixed_width().view(np.int64).ravel()
                    sums.check_columns(columns.partition, numbers)
                del columns
            read += count
            progress.add(count)
    except BaseException as failure:
        progress.fail(failure)
        raise


def produce(producer: Producer, records: int, by_record: float, partitions: int, progress: Progress) -> None:
    numbers = [0] * partitions
    sent = part = 0
    while sent < records:
        partition = part % partitions
        part += 1
        count = min(ROWS_PER_CALL, records - sent)
        first = numbers[partition]
        numbers[partition] += count
        if (sent * PARTS / records) % 1 < by_record:
            for number in range(first, first + count):
                producer.send(TOPIC, number.to_bytes(8, sys.byteorder), partition=partition)
        else:
            values = np.arange(first, first + count, dtype=np.int64)
            producer.send_batch(TOPIC, values.view("V8"), partition=partition)
        sent += count
        progress.wait_until_near(sent)
    producer.flush()


def run(records: int, by_record: float, partitions: int) -> list[Sample]:
    samples: list[Sample] = []
    progress = Progress()
    with EmbeddedBroker(BROKER, topics={TOPIC: partitions}) as broker:
        servers = {"bootstrap.servers": broker.bootstrap_servers}
        producer = Producer(servers, batch_size=131_072)
        consumer = Consumer(servers, auto_offset_reset="earliest", max_poll_records=5_000)
        consumer.assign([(TOPIC, number) for number in range(partitions)])
        began = time.monotonic()

        def sample() -> None:
            now = Sample(progress.read, time.monotonic() - began, resident_mib("self"), resident_mib(broker.pid))
            samples.append(now)
            print(
                f"{now.records:>12,} records {now.seconds:8.1f} s   client {now.client_mib:7.1f} MiB"
                f"   broker {now.broker_mib:7.1f} MiB",
                flush=True,
            )

        sender = threading.Thread(target=produce, args=(producer, records, by_record, partitions, progress))
        reader = threading.Thread(target=consume, args=(consumer, records, by_record, progress))
        sample()
        reader.start()
        sender.start()
        while reader.is_alive():
            reader.join(0.1)
            if progress.read >= len(samples) * records // PARTS and len(samples) <= PARTS:
                sample()
        sender.join()
        consumer.close()
        producer.close()
        if progress.failure is not None:
            raise progress.failure
        assert producer.live_buffers == 0, producer.live_buffers
        assert live_frames() == 0, live_frames()
        assert live_columns() == 0, live_columns()
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=200_000_000)
    parser.add_argument("--by-record", type=float, default=0.02, help="the share that goes by send and poll")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    samples = run(given.records, given.by_record, given.partitions)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    # The first tenth fills the pools.
    growth = samples[-1].client_mib - samples[1].client_mib
    print(
        f"{given.records / samples[-1].seconds:,.0f} records/s; from 10 % to the end {growth:+.1f} MiB; no live buffer"
    )
    print(f"CPU of both clients {(usage.ru_utime + usage.ru_stime) / given.records * 1e6:.2f} s per million records")
    if given.json is not None:
        given.json.write_text(json.dumps([sample._asdict() for sample in samples], indent=1) + "\n")


if __name__ == "__main__":
    main()
