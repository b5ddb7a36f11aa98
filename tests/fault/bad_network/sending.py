"""A producer of one round: what it was given, and what it said became of it."""

from __future__ import annotations

import random
import threading
import time
from typing import Any, NamedTuple

from kcore.client.errors import ClientError, ClientTimeout
from kcore.client.producer import BatchFuture, DeliveredRange, Producer, RecordFuture, RecordMetadata
from kcore.errors import KafkaError
from tests.fault.bad_network.weather import Weather

# Beyond any timeout of a round, on a machine that does other things too.
HANG_S = 60.0
REQUEST_TIMEOUT_MS = 120
PADDING = (0, 0, 20, 300)


class Acknowledged(NamedTuple):
    """Numbers of records in the order in which they were sent; `offset` is the first one's, -1 where nobody says."""

    partition: int
    offset: int
    numbers: range


class Sending:
    """Record `number` has the value that `value(number)` gives."""

    def __init__(self, servers: str, topic: str, partitions: int, chance: random.Random) -> None:
        self.topic = topic
        self.acknowledged: list[Acknowledged] = []
        self.sent = 0
        self.refused: set[int] = set()
        self.failures: dict[str, int] = {}
        # How long after delivery.timeout.ms a record's end was told at the latest; below 0: before.
        self.latest_ms = float("-inf")
        self._partitions = partitions
        self._chance = chance
        self._padding = bytes(chance.choice(PADDING))
        self._futures: list[tuple[range, int | None, RecordFuture | BatchFuture]] = []
        settings = self._settings(chance)
        self.is_idempotent: bool = settings["enable.idempotence"]
        self.acks: str = settings["acks"]
        self._delivery_timeout_ms: int = settings["delivery.timeout.ms"]
        self._told = threading.Semaphore(0)
        self._producer = Producer({"bootstrap.servers": servers, **settings})

    def _settings(self, chance: random.Random) -> dict[str, Any]:
        acks = chance.choice(("all", "all", "all", "all", "all", "all", "1", "0"))
        linger_ms = chance.choice((None, None, 0, 2, 10))
        settings: dict[str, Any] = {
            "acks": acks,
            "enable.idempotence": acks == "all" and chance.random() < 0.9,
            "max.in.flight.requests.per.connection": chance.choice((1, 2, 5)),
            "compression.type": chance.choice(("none", "none", "gzip", "snappy", "lz4", "zstd")),
            "batch.size": chance.choice((0, 100, 600, 16_384)),
            "buffer.memory": chance.choice((40_000, 1 << 20, 1 << 25)),
            "request.timeout.ms": REQUEST_TIMEOUT_MS,
            "delivery.timeout.ms": chance.choice((150, 400, 3_000, 3_000, 3_000)),
            "max.block.ms": chance.choice((50, 500)),
            "retry.backoff.ms": chance.choice((1, 5, 10)),
            "retry.backoff.max.ms": 20,
            "reconnect.backoff.ms": chance.choice((1, 2, 5)),
            "reconnect.backoff.max.ms": 10,
            "socket.connection.setup.timeout.ms": 100,
            "metadata.max.age.ms": chance.choice((20, 300_000)),
        }
        if linger_ms is not None:
            settings["linger.ms"] = linger_ms
        return settings

    def value(self, number: int) -> bytes:
        return b"%d " % number + self._padding

    def run(self, weather: Weather) -> None:
        """Sends all that is to be sent, and closes the producer."""
        chance = self._chance
        for _ in range(chance.choice((3, 20, 60))):
            weather.blow()
            try:
                if chance.random() < 0.3:
                    self._send_batch(chance.choice((1, 5, 50)))
                else:
                    self._send()
            except (ClientTimeout, KafkaError) as error:
                self._count(error)
            if chance.random() < 0.1:
                self._flush(weather, chance.choice((0.0, 0.05, HANG_S)))
        weather.calm()
        self._close(chance.choice((None, None, None, 0.02, 0.0)))
        self._collect()

    def _flush(self, weather: Weather, timeout_s: float) -> None:
        if timeout_s == HANG_S:
            weather.calm()
        try:
            self._producer.flush(timeout_s)
        except ClientTimeout:
            # Every record has its end after delivery.timeout.ms.
            if timeout_s == HANG_S:
                raise

    def _send(self) -> None:
        number, partition = self.sent, self._choose()
        self.sent += 1
        began = time.monotonic()

        def on_delivery(metadata: RecordMetadata | None, error: Exception | None) -> None:
            self._note_end(began)

        self.refused.add(number)
        key = None if self._chance.random() < 0.7 else b"k%d" % (number % 5)
        future = self._producer.send(
            self.topic, self.value(number), key=key, partition=partition, on_delivery=on_delivery
        )
        self.refused.discard(number)
        self._futures.append((range(number, number + 1), partition, future))

    def _send_batch(self, count: int) -> None:
        numbers, partition = range(self.sent, self.sent + count), self._choose()
        self.sent += count
        began = time.monotonic()

        def on_delivery(ranges: list[DeliveredRange] | None, error: Exception | None) -> None:
            self._note_end(began)

        # Where it raises, some of it may have been taken.
        values = [self.value(number) for number in numbers]
        future = self._producer.send_batch(self.topic, values, partition=partition, on_delivery=on_delivery)
        self._futures.append((numbers, partition, future))

    def _choose(self) -> int | None:
        return None if self._chance.random() < 0.5 else self._chance.randrange(self._partitions)

    def _note_end(self, began: float) -> None:
        self.latest_ms = max(self.latest_ms, (time.monotonic() - began) * 1000 - self._delivery_timeout_ms)
        self._told.release()

    def _count(self, error: Exception) -> None:
        name = type(error).__name__
        self.failures[name] = self.failures.get(name, 0) + 1

    def _close(self, timeout_s: float | None) -> None:
        began = time.monotonic()
        self._producer.close(timeout_s)
        assert time.monotonic() - began < HANG_S, f"{self.topic}: close() of the producer hangs"
        assert self._producer.pending == 0, f"{self.topic}: {self._producer.pending} batches have no end"
        for _ in self._futures:
            assert self._told.acquire(timeout=0), f"{self.topic}: a callback was not called before close() returned"
        assert not self._told.acquire(timeout=0), f"{self.topic}: a callback was called twice"

    def _collect(self) -> None:
        for numbers, partition, future in self._futures:
            assert future.done(), f"{self.topic}: the future of {numbers} has no end"
            error = future.exception(0)
            if error is not None:
                assert isinstance(error, (ClientError, KafkaError)), error
                self._count(error)
            elif isinstance(future, RecordFuture):
                metadata = future.result(0)
                assert partition in (None, metadata.partition)
                self.acknowledged.append(Acknowledged(metadata.partition, metadata.offset, numbers))
            else:
                self._collect_batch(numbers, partition, future.result(0))
        self._futures.clear()
        assert self._producer.live_buffers == 0, f"{self.topic}: {self._producer.live_buffers} live buffers"

    def _collect_batch(self, numbers: range, partition: int | None, ranges: list[DeliveredRange]) -> None:
        """The ranges stand in the order of the records."""
        first = numbers.start
        for delivered in ranges:
            assert partition in (None, delivered.partition)
            part = range(first, first + delivered.record_count)
            self.acknowledged.append(Acknowledged(delivered.partition, delivered.first_offset, part))
            first = part.stop
        assert first == numbers.stop, f"{self.topic}: {first - numbers.start} of {len(numbers)} records accounted for"
