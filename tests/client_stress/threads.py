"""`python -m tests.client_stress.threads SERVERS SECONDS SEED`: what applications do with clients, in many threads.

A producer is shared by senders, who send records and batches, wait for futures, flush, and now and then close it under
the hands of the others; the next one who finds it closed makes another. Every reader has a consumer, which others wake.
In the end every future must have its end, and nothing may be left: no thread, no buffer. It prints what was done.
"""

from __future__ import annotations

import gc
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from kcore.client.consumer import Consumer
from kcore.client.consumer.consumer_errors import Woken
from kcore.client.consumer.record_columns import live_columns
from kcore.client.errors import ClientError
from kcore.client.network.client_request import live_frames
from kcore.client.producer import BatchFuture, Producer, ProducerClosed, RecordFuture
from kcore.errors import KafkaError

TOPIC = "stress"
SENDERS, READERS = 4, 3
QUICK = {
    "request.timeout.ms": 1_000,
    "retry.backoff.ms": 2,
    "retry.backoff.max.ms": 50,
    "reconnect.backoff.ms": 2,
    "reconnect.backoff.max.ms": 50,
}
# A future has its end after delivery.timeout.ms; a machine under a sanitizer takes its time.
DELIVERY_TIMEOUT_MS = 5_000
HANG_S = 120.0
KEPT_FUTURES = 2_000


class Stress:
    def __init__(self, servers: str, seconds: float, seed: int) -> None:
        self._servers: dict[str, str | int] = {"bootstrap.servers": servers, **QUICK}
        self._end = time.monotonic() + seconds
        self._seed = seed
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._consumers: list[Consumer | None] = [None] * READERS
        self._failure: BaseException | None = None
        self._chance = random.Random(seed)
        self._producer = self._new_producer()

    def run(self) -> Counter[str]:
        work: list[Callable[[random.Random], None]] = [*[self._send] * SENDERS, self._disturb]
        work += [lambda chance, number=number: self._read(chance, number) for number in range(READERS)]  # type: ignore[misc]
        threads = [
            threading.Thread(target=self._guard, args=(each, random.Random(self._seed * 100 + number)))
            for number, each in enumerate(work)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._producer.close()
        if self._failure is not None:
            raise self._failure
        assert self._producer.live_buffers == 0
        del self._producer
        gc.collect()
        assert live_frames() == 0, f"{live_frames()} responses are held"
        assert live_columns() == 0, f"{live_columns()} sets of columns are held"
        assert threading.active_count() == 1, threading.enumerate()
        return self._counts

    def _guard(self, work: Callable[[random.Random], None], chance: random.Random) -> None:
        try:
            work(chance)
        except BaseException as failure:
            self._failure = failure
            self._end = 0.0

    @property
    def _is_over(self) -> bool:
        return time.monotonic() > self._end

    def _count(self, what: str, by: int = 1) -> None:
        with self._lock:
            self._counts[what] += by

    # The producer

    def _new_producer(self) -> Producer:
        chance = self._chance
        return Producer(
            self._servers,
            delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
            max_block_ms=200,
            batch_size=chance.choice((200, 16_384)),
            buffer_memory=chance.choice((100_000, 1 << 25)),
            compression_type=chance.choice(("none", "lz4", "zstd")),
            enable_idempotence=chance.random() < 0.7,
        )

    def _send(self, chance: random.Random) -> None:
        kept: list[RecordFuture | BatchFuture] = []
        while not self._is_over:
            producer = self._producer
            try:
                kept.append(self._sent(producer, chance))
                if chance.random() < 0.02:
                    self._await(kept, chance)
                if chance.random() < 0.005:
                    producer.flush(chance.choice((0.0, 0.05, 1.0)))
                    self._count("flushes")
            except ProducerClosed:
                self._replace(producer)
            except (ClientError, KafkaError) as error:
                self._count(type(error).__name__)
            if chance.random() < 0.001:
                producer.close(chance.choice((0.0, 0.2, None)))
                self._count("producers closed")
            if len(kept) > KEPT_FUTURES:
                kept = kept[-KEPT_FUTURES // 2 :]
        self._replace(self._producer)
        for future in kept:
            self._finish(future)

    def _sent(self, producer: Producer, chance: random.Random) -> RecordFuture | BatchFuture:
        if chance.random() < 0.2:
            values = [b"%d" % number for number in range(chance.choice((1, 20, 500)))]
            batch = producer.send_batch(TOPIC, values, on_delivery=lambda ranges, error: self._count("batches told"))
            self._count("records", len(values))
            return batch
        future = producer.send(
            TOPIC,
            b"x" * chance.choice((0, 10, 1_000)),
            key=chance.choice((None, b"key")),
            headers={"h": b"v"} if chance.random() < 0.1 else None,
            on_delivery=(lambda metadata, error: self._count("records told")) if chance.random() < 0.3 else None,
        )
        if chance.random() < 0.1:
            future.add_done_callback(lambda done: self._count("futures told"))
        self._count("records")
        return future

    def _await(self, kept: list[RecordFuture | BatchFuture], chance: random.Random) -> None:
        future = chance.choice(kept)
        with suppress(TimeoutError, ClientError, KafkaError):
            future.result(chance.choice((0.0, 0.01, 0.2)))

    def _finish(self, future: RecordFuture | BatchFuture) -> None:
        """TimeoutError for one without an end."""
        error = future.exception(HANG_S)
        if error is None and isinstance(future, BatchFuture):
            assert sum(part.record_count for part in future.result(0)) == len(future), "records without a place"
        self._count("acknowledged" if error is None else type(error).__name__)

    def _replace(self, closed: Producer) -> None:
        """Another one for all, once: unless somebody has made it already."""
        closed.close()
        with self._lock:
            if self._producer is closed and not self._is_over:
                self._producer = self._new_producer()

    # Consumers

    def _read(self, chance: random.Random, number: int) -> None:
        while not self._is_over:
            settings: dict[str, str | int] = dict(self._servers)
            settings |= {"auto.offset.reset": chance.choice(("earliest", "latest")), "fetch.max.wait.ms": 50}
            protocol = chance.choice((None, "classic", "consumer"))
            if protocol is not None:
                settings |= {"group.id": f"stress-{protocol}", "group.protocol": protocol}
            with Consumer(settings) as consumer:
                self._consumers[number] = consumer
                if protocol is not None:
                    consumer.subscribe([TOPIC])
                else:
                    consumer.assign([(TOPIC, 0), (TOPIC, 1)])
                for _ in range(chance.choice((1, 20, 200))):
                    self._poll(consumer, chance, protocol is not None)
                    if self._is_over:
                        break
                self._consumers[number] = None
                consumer.forget_wakeup()
                # Bounded, since its coordinator may be gone.
                consumer.close(timeout_ms=1_000)
            self._count("consumers closed")

    def _poll(self, consumer: Consumer, chance: random.Random, has_group: bool) -> None:
        try:
            if chance.random() < 0.5:
                self._count("records read", len(consumer.poll(50)))
            else:
                columns = consumer.poll_columns(50) if chance.random() < 0.5 else consumer.poll_arrow(50)
                self._count("rows read", len(columns))
            assigned = consumer.assignment
            if assigned and chance.random() < 0.1:
                partition = chance.choice(assigned)
                consumer.pause([partition])
                consumer.poll(1)
                consumer.resume([partition])
                consumer.seek_to_beginning([partition])
            if has_group and chance.random() < 0.1:
                consumer.commit_async()
        except Woken:
            self._count("woken")
        except (ClientError, KafkaError) as error:
            self._count(type(error).__name__)

    def _disturb(self, chance: random.Random) -> None:
        """Wakes consumers, and looks at what they and the producer say of themselves."""
        while not self._is_over:
            consumer = chance.choice(self._consumers)
            if consumer is not None and chance.random() < 0.2:
                consumer.wakeup()
            producer = self._producer
            assert producer.pending >= 0
            assert producer.live_buffers >= 0
            time.sleep(0.002)


def main() -> None:
    servers, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    counts = Stress(servers, seconds, seed).run()
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
