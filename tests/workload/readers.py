"""A member of a group that reads on and commits, until it is told to stop.

It is alone in its group and commits only what lies beyond its last commit, so that its commits rise: whenever the
broker comes back it must find what was acknowledged, or more where an answer was lost.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from tests.invariants.history import Commit, History, Outcome, Read, TopicPartition
from tests.workload.plan import PATIENCE_S, RETRY_MAX_MS, RETRY_MS, ReaderPlan
from tests.workload.recollection import RECOLLECTION

POLL_LIMIT = 500
POLL_S = 0.2
# A member that may be joining is left to it: kafka-python 3.0 can lose its way when its `poll` ends in mid-join
# (tests/interop/scenarios.py), and then stands still for longer than PATIENCE_S.
JOINING_POLL_S = 10.0
Positions = Mapping[int, int]
LOG = logging.getLogger(__name__)


class ConfluentReader:
    def __init__(self, plan: ReaderPlan, server: str) -> None:
        from confluent_kafka import Consumer, KafkaException

        from tests.interop.confluent_client import ConfluentConsumer
        from tests.workload.confluent_load import SILENT

        class SilentConsumer(ConfluentConsumer):
            """Of the interop suite, but for its log."""

            def __init__(self, settings: dict[str, object]) -> None:
                self.consumer = Consumer(settings, logger=SILENT)

        self.errors: tuple[type[Exception], ...] = (KafkaException,)
        self.topic = plan.topic
        self.reader = SilentConsumer(
            {
                "bootstrap.servers": server,
                "client.id": plan.name,
                "group.id": plan.group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "retry.backoff.ms": RETRY_MS,
                "retry.backoff.max.ms": RETRY_MAX_MS,
                "reconnect.backoff.ms": RETRY_MS,
                "reconnect.backoff.max.ms": RETRY_MAX_MS,
                "fetch.error.backoff.ms": RETRY_MS,
                "fetch.wait.max.ms": 100,
            }
        )
        self.reader.consumer.subscribe([plan.topic])

    def commit(self, positions: Positions) -> None:
        from confluent_kafka import TopicPartition

        offsets = [TopicPartition(self.topic, partition, offset) for partition, offset in positions.items()]
        for told in self.reader.consumer.commit(offsets=offsets, asynchronous=False):
            if told.error is not None:
                raise self.errors[0](told.error)


class KafkaPythonReader:
    def __init__(self, plan: ReaderPlan, server: str) -> None:
        from kafka.errors import KafkaError

        from tests.interop.kafka_python_client import KafkaPythonConsumer

        self.errors: tuple[type[Exception], ...] = (KafkaError,)
        self.topic = plan.topic
        self.reader = KafkaPythonConsumer(
            server,
            plan.group,
            client_id=plan.name,
            request_timeout_ms=15_000,
            retry_backoff_ms=RETRY_MS,
            reconnect_backoff_ms=RETRY_MS,
            reconnect_backoff_max_ms=RETRY_MAX_MS,
            fetch_max_wait_ms=100,
        )
        self.reader.consumer.subscribe([plan.topic])

    def commit(self, positions: Positions) -> None:
        from kafka import TopicPartition
        from kafka.structs import OffsetAndMetadata

        offsets = {
            TopicPartition(self.topic, partition): OffsetAndMetadata(offset, "", -1)
            for partition, offset in positions.items()
        }
        self.reader.consumer.commit(offsets, timeout_ms=5_000)


class AIOKafkaReader:
    def __init__(self, plan: ReaderPlan, server: str) -> None:
        from aiokafka.errors import IllegalStateError, KafkaError

        from tests.interop.aiokafka_client import AIOKafkaInteropConsumer

        self.errors: tuple[type[Exception], ...] = (KafkaError, IllegalStateError)
        self.topic = plan.topic
        self.reader = AIOKafkaInteropConsumer(
            server,
            plan.group,
            client_id=plan.name,
            retry_backoff_ms=RETRY_MS,
            fetch_max_wait_ms=100,
        )
        self.reader.consumer.subscribe([plan.topic])

    def commit(self, positions: Positions) -> None:
        from aiokafka import TopicPartition

        offsets = {TopicPartition(self.topic, partition): offset for partition, offset in positions.items()}
        self.reader.runner.run(self.reader.consumer.commit(offsets))


READERS: dict[str, Callable[[ReaderPlan, str], Any]] = {
    "confluent-kafka": ConfluentReader,
    "kafka-python": KafkaPythonReader,
    "aiokafka": AIOKafkaReader,
}


def read_and_commit(plan: ReaderPlan, server: str, started: Callable[[], None], stop: threading.Event) -> History:
    """A commit that is refused for a lost membership may be tried again: whether it counted is not known."""
    history = History()
    member = READERS[plan.client](plan, server)
    started()
    positions: dict[int, int] = {}
    committed: dict[int, int] = {}
    deadline = math.inf
    is_settled = False
    while True:
        is_last = stop.is_set()
        if is_last and deadline == math.inf:
            deadline = time.monotonic() + PATIENCE_S
        try:
            records = member.reader.poll(POLL_LIMIT, POLL_S if is_settled else JOINING_POLL_S)
        except member.errors as error:
            LOG.info("%s: poll: %r", plan.name, error)
            records = []
        at = time.monotonic_ns()
        for record in records:
            partition = TopicPartition(plan.topic, record.partition)
            history.reads.append(Read(plan.name, partition, record.offset, record.value, at))
            positions[record.partition] = max(positions.get(record.partition, 0), record.offset + 1)
        new = {partition: offset for partition, offset in positions.items() if offset > committed.get(partition, 0)}
        # At the end it shows that it still can: what it has read is committed, new or not.
        wanted = positions if is_last else new
        is_settled = member.reader.assigned()
        if wanted and commit(plan, member, wanted, history):
            committed.update(wanted)
            if is_last:
                break
        elif wanted:
            is_settled = False
        if time.monotonic() > deadline:
            # As the missing commit will show.
            RECOLLECTION.tell(plan.name)
            break
    member.reader.close()
    return history


def commit(plan: ReaderPlan, member: Any, positions: Positions, history: History) -> bool:
    try:
        member.commit(positions)
        outcome = Outcome.ACKED
    except member.errors as error:
        LOG.info("%s: commit: %r", plan.name, error)
        outcome = Outcome.UNKNOWN
    at = time.monotonic_ns()
    for partition, offset in positions.items():
        history.commits.append(Commit(plan.group, TopicPartition(plan.topic, partition), offset, outcome, at))
    return outcome is Outcome.ACKED
