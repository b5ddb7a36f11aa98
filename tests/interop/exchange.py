"""Everything that all clients write to one broker at once, and how each client reads what the others wrote.

The same exchange runs in the tests, at a size for CI, and in the campaign `interop` at full size.
`KCLI_INTEROP_RECORDS` sets the size of both: records of each topic of confluent-kafka and of Apache Kafka's perf tool;
the clients in pure Python and the console tool write a fifth of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import NamedTuple

from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AIOKafkaRange
from confluent_kafka.admin import AdminClient, NewTopic
from kafka.coordinator.assignors.range import RangePartitionAssignor as KafkaPythonRange

from tests.interop import scenarios
from tests.interop.consumer import TIMEOUT_S
from tests.interop.java_tools import VERSIONS, JavaTools
from tests.interop.series import Numbers, ReadBack, Series

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 3
SHARED = "shared"
CI_RECORDS = 30_000
# With fewer the first member of a group leaves nothing for the others, who then wait.
SMALL_RECORDS = 10_000
# librdkafka makes batches of a million bytes, and no batch may be larger than a segment.
SEGMENT_BYTES = 1_100_000
SMALL_SEGMENT_BYTES = 64 * 1024
# A topic of the full size has segments by the dozen, not by the thousand.
SEGMENTS_AT_MOST = 64
RECORD_BYTES = 100
# What Java's producers are given beyond their defaults.
PERF_PROPERTIES: dict[str, tuple[str, ...]] = {"3.9": (), "4": ("compression.type=lz4",)}


def records_wanted(otherwise: int) -> int:
    return int(os.environ.get("KCLI_INTEROP_RECORDS", otherwise))


class Delivery(NamedTuple):
    """One producer with its settings writing one series to one topic."""

    client: str
    topic: str
    series: Series
    settings: dict[str, object]


class Exchange:
    """`pool` runs the clients; Java's tools, of these versions, are processes anyhow, and threads wait for them."""

    def __init__(
        self, server: str, pool: ProcessPoolExecutor, records: int, versions: Sequence[str] = VERSIONS
    ) -> None:
        self.server = server
        self.pool = pool
        self.records = records
        self.versions = versions
        self.fewer = records // 5
        # Recent, because retention goes by it.
        self.first_timestamp = int(time.time() * 1000) - records
        self.deliveries = [*self._confluent(), *self._pure_python(), *self._shared()]
        self.lines = [(version, Series(f"console-{version}", self.fewer, None)) for version in versions]
        self.figures: dict[str, float] = {}

    # What is written

    def _confluent(self) -> list[Delivery]:
        deliveries = []
        for codec in CODECS:
            for idempotent in (False, True):
                settings: dict[str, object] = {"compression.type": codec, "enable.idempotence": idempotent}
                topic = f"confluent-{codec}-{'idempotent' if idempotent else 'plain'}"
                series = Series(topic, self.records, self.first_timestamp)
                deliveries.append(Delivery("confluent-kafka", topic, series, settings))
        return deliveries

    def _pure_python(self) -> list[Delivery]:
        deliveries = []
        for client in ("kafka-python", "aiokafka"):
            variants: dict[str, dict[str, object]] = {"default": {}}
            # The size that is asked for is written with default settings; the codecs get by with less.
            variants.update({codec: {"compression_type": codec} for codec in CODECS[1:]})
            variants["plain" if client == "kafka-python" else "idempotent"] = {
                "enable_idempotence": client == "aiokafka"
            }
            for name, settings in variants.items():
                count = self.fewer if name == "default" else min(self.fewer, CI_RECORDS // 5)
                topic = f"{client}-{name}"
                deliveries.append(Delivery(client, topic, Series(topic, count, self.first_timestamp), settings))
        return deliveries

    def _shared(self) -> list[Delivery]:
        """Every client with its default settings, all into one topic."""
        return [
            Delivery(client, SHARED, Series(f"{client}-shared", self.fewer, self.first_timestamp), {})
            for client in scenarios.CLIENTS
        ]

    def topics(self) -> list[str]:
        return sorted({delivery.topic for delivery in self.deliveries})

    def series_of(self, topic: str) -> list[Series]:
        found = [delivery.series for delivery in self.deliveries if delivery.topic == topic]
        return found + [series for _, series in self.lines] if topic == SHARED else found

    @staticmethod
    def perf_topic(version: str) -> str:
        return f"java-perf-{version}"

    # The scenarios

    def create_topics(self) -> None:
        """Several segments each, and dense indexes."""
        at_least = self.records * RECORD_BYTES // PARTITIONS // SEGMENTS_AT_MOST
        admin = AdminClient({"bootstrap.servers": self.server})
        topics = []
        for name in [*self.topics(), *(self.perf_topic(version) for version in self.versions)]:
            has_large_batches = name == SHARED or name.startswith("confluent")
            segment_bytes = max(at_least, SEGMENT_BYTES if has_large_batches else SMALL_SEGMENT_BYTES)
            config = {"segment.bytes": str(segment_bytes), "index.interval.bytes": "1024"}
            topics.append(NewTopic(name, PARTITIONS, 1, config=config))
        for future in admin.create_topics(topics).values():
            future.result(TIMEOUT_S)

    def write_all(self) -> int:
        """All clients at once; how many records were acknowledged."""
        with ThreadPoolExecutor(2 * len(VERSIONS)) as threads:
            lines = [
                threads.submit(JavaTools(version, self.server).produce_lines, SHARED, series)
                for version, series in self.lines
            ]
            # What takes longest begins first.
            ordered = sorted(self.deliveries, key=lambda delivery: delivery.client == "confluent-kafka")
            written: list[Future[int]] = [
                self.pool.submit(scenarios.produce, one.client, self.server, one.topic, one.series, one.settings)
                for one in ordered
            ]
            perf = [
                threads.submit(
                    JavaTools(version, self.server).produce_numbers,
                    self.perf_topic(version),
                    self.records,
                    *PERF_PROPERTIES[version],
                )
                for version in self.versions
            ]
            for version, rate in zip(self.versions, perf, strict=True):
                self.figures[f"java-perf-{version} records/s"] = rate.result()
            return self._sum(written) + sum(future.result() for future in lines) + self.records * len(self.versions)

    @staticmethod
    def _sum(futures: Sequence[Future[int]]) -> int:
        return sum(future.result() for future in futures)

    def topics_for(self, client: str) -> list[str]:
        """confluent-kafka reads everything; a pure Python client, which is slow, two of the big topics."""
        topics = self.topics()
        if client == "confluent-kafka":
            return topics
        chosen = ("confluent-none-idempotent", "confluent-zstd-plain")
        return [topic for topic in topics if topic in chosen or not topic.startswith("confluent")]

    def read_by_offset(self, client: str) -> int:
        def submit(topic: str, series: Sequence[Series | Numbers]) -> Future[int]:
            return self.pool.submit(scenarios.read_by_offset, client, self.server, topic, series)

        futures = [submit(topic, self.series_of(topic)) for topic in self.topics_for(client)]
        futures += [submit(self.perf_topic(version), [Numbers(self.records)]) for version in self.versions]
        return self._sum(futures)

    def read_by_timestamp(self, client: str) -> int:
        """Topics of one producer each: there timestamps rise with the numbers."""
        topics = [topic for topic in self.topics_for(client) if topic != SHARED]
        return self._sum(
            [
                self.pool.submit(scenarios.read_by_timestamp, client, self.server, topic, self.series_of(topic)[0])
                for topic in topics
            ]
        )

    def read_as_group(self, client: str) -> int:
        """Two members of one client, of topics that each of the clients wrote."""
        own = "confluent-zstd-idempotent" if client == "confluent-kafka" else f"{client}-default"
        members = [(client, {}), (client, {})]
        return self._sum(
            [
                self.pool.submit(
                    scenarios.read_as_groups, members, self.server, topic, f"group-{client}", self.series_of(topic)
                )
                for topic in (own, SHARED)
            ]
        )

    def read_as_mixed_group(self) -> int:
        """One group whose members are of different clients: they have only to agree on how to share."""
        members: list[tuple[str, dict[str, object]]] = [
            ("confluent-kafka", {"partition.assignment.strategy": "range"}),
            ("kafka-python", {"partition_assignment_strategy": [KafkaPythonRange]}),
            ("aiokafka", {"partition_assignment_strategy": [AIOKafkaRange]}),
        ]
        return scenarios.read_as_groups(members, self.server, SHARED, "group-mixed", self.series_of(SHARED))

    def read_with_java(self, version: str) -> int:
        """ConsoleConsumer partition by partition and as a group, ConsumerPerformance as a group; all at once."""
        tools = JavaTools(version, self.server)
        expected = sum(series.count for series in self.series_of(SHARED))
        ends = scenarios.end_offsets("confluent-kafka", self.server, SHARED)
        by_offset = ReadBack(self.series_of(SHARED))
        as_group = ReadBack(self.series_of(SHARED))
        with ThreadPoolExecutor(3) as threads:
            readers: list[Callable[[], object]] = [
                lambda: as_group.take(
                    tools.consume(SHARED, expected, "--group", f"java-{version}", "--from-beginning")
                ),
                lambda: tools.count_records("confluent-gzip-plain", self.records, f"perf-{version}"),
            ]
            futures = [threads.submit(reader) for reader in readers]
            for partition, end in ends.items():
                where = ("--partition", str(partition), "--offset", "0")
                by_offset.take(tools.consume(SHARED, end, *where))
            futures[0].result()
            assert futures[1].result() == self.records
        by_offset.assert_complete()
        as_group.assert_complete()
        return by_offset.taken + as_group.taken + self.records
