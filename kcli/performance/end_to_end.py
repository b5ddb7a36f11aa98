"""Sends a record, waits until it is acknowledged and read, measures the time, and sends the next one.

Source: EndToEndLatency of Kafka 4 (keys and headers: KIP-1172). A record that does not return within a minute, a
different record, or more than one ends the run. With a rate, latencies also count from the time each record was due.
"""

from __future__ import annotations

import random
import time
from typing import NamedTuple

from kcli.failures import Failure
from kcli.performance.pace import Pace
from kcli.performance.tally import Recorder
from kcli.performance.workers import watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kcli.performance.workers import Emit, Share
    from kcore.client.config.client_config import ConsumerConfig, ProducerConfig
    from kcore.client.consumer.consumer import Consumer
    from kcore.client.consumer.consumer_record import ConsumerRecord
    from kcore.client.producer import Producer

POLL_TIMEOUT_MS = 60_000.0
REPORTED_EVERY = 1000
RANDOM_SEED = 0


class EndToEndRun(NamedTuple):
    """The parameters. Sizes are in bytes; key 0: none, header -1: null. `report(number, ns)` gets samples."""

    make_producer_config: Callable[[int], ProducerConfig]
    make_consumer_config: Callable[[int], ConsumerConfig]
    topic: str
    record_size: int
    key_size: int = 0
    header_count: int = 0
    header_key_size: int = 0
    header_size: int = 0
    report: Callable[[int, int], None] | None = None
    interval_s: float = 5.0


class EndToEnd:
    """One worker. There is only one, because each would need its own topic."""

    def __init__(self, run: EndToEndRun, share: Share, emit: Emit) -> None:
        self._run = run
        self._share = share
        self._emit = emit
        self._random = random.Random(RANDOM_SEED)

    def work(self) -> None:
        from kcore.client.consumer.consumer import Consumer
        from kcore.client.producer import Producer

        with (
            Consumer(self._run.make_consumer_config(self._share.worker)) as consumer,
            Producer(self._run.make_producer_config(self._share.worker)) as producer,
            watch(self._share, producer),
        ):
            partitions = consumer.partitions_for(self._run.topic)
            consumer.assign(partitions)
            consumer.seek_to_end(partitions)
            for partition in partitions:
                consumer.position(partition)
            self._measure(producer, consumer)

    def _measure(self, producer: Producer, consumer: Consumer) -> None:
        share = self._share
        recorder = Recorder(share.worker, self._run.interval_s, self._emit)
        pace = Pace(share.throughput)
        for number in range(share.records):
            if number == share.warm_up_records:
                recorder.begin_steady_state()
            value, key, headers = self._contents()
            due_ns = pace.wait_for(number)
            began_ns = time.perf_counter_ns()
            producer.send(self._run.topic, value, key=key, headers=headers).result()
            records = consumer.poll(POLL_TIMEOUT_MS)
            ended_ns = time.perf_counter_ns()
            self._check(records, value, key, headers)
            corrected_ns = None if due_ns is None else ended_ns - min(due_ns, began_ns)
            is_steady = number >= share.warm_up_records
            recorder.add(1, len(value) + len(key or b""), ended_ns - began_ns, corrected_ns, is_steady=is_steady)
            if self._run.report is not None and number % REPORTED_EVERY == 0:
                self._run.report(number, ended_ns - began_ns)
            recorder.report_if_due()
        recorder.finish([])

    def _letters(self, size: int) -> bytes:
        return bytes([self._random.randrange(65, 91)]) * size

    def _contents(self) -> tuple[bytes, bytes | None, list[tuple[str, bytes | None]]]:
        run = self._run
        key = self._letters(run.key_size) if run.key_size else None
        headers: list[tuple[str, bytes | None]] = [
            (
                self._letters(run.header_key_size).decode(),
                None if run.header_size < 0 else self._letters(run.header_size),
            )
            for _ in range(run.header_count)
        ]
        return self._letters(run.record_size), key, headers

    def _check(
        self,
        records: list[ConsumerRecord],
        value: bytes,
        key: bytes | None,
        headers: list[tuple[str, bytes | None]],
    ) -> None:
        topic = self._run.topic
        if not records:
            raise Failure(
                f"topic {topic}: poll() timed out before finding a result (timeout:[{POLL_TIMEOUT_MS:.0f}ms])"
            )
        if len(records) != 1:
            raise Failure(
                f"topic {topic}: Only one result was expected during this test. We found [{len(records)}]; "
                "use a topic without other producers"
            )
        found = records[0]
        if (found.value, found.key, list(found.headers)) != (value, key, headers):
            raise Failure(
                f"topic {topic}: the record read [{found.value!r}] is not the record sent [{value!r}]; "
                "use a topic without other producers"
            )
