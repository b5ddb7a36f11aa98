"""What a client of the workload does: plain values, made from a seed, that its process is started with."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from tests.interop.series import FILLER
from tests.invariants.history import History, Outcome, Producer, Send, TopicPartition

CLIENTS = ("confluent-kafka", "kafka-python", "aiokafka")
# How long a client goes on with a record before it gives up: longer than a broker is ever away.
PATIENCE_S = 60.0
# Until a client that has lost its broker tries again. Rounds are short, and the usual seconds would let them pass idle.
RETRY_MS = 10
RETRY_MAX_MS = 50
# Between two bursts of a producer. Clients must not starve the broker of the processor, nor each other.
PAUSE_S = 0.03
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class ProducerPlan(NamedTuple):
    """One producer; `burst` is how many records it sends before it waits for their outcomes."""

    name: str
    client: str
    topic: str
    partitions: int
    idempotent: bool
    acks: int | str
    in_flight: int
    codec: str
    burst: int
    value_bytes: int
    batch_bytes: int
    seed: int

    @property
    def producer(self) -> Producer:
        """aiokafka has one request in flight for a partition, whatever is asked for."""
        ordered = self.idempotent or self.in_flight == 1 or self.client == "aiokafka"
        return Producer(self.name, self.idempotent, ordered and self.acks != 0)


class ReaderPlan(NamedTuple):
    """One member of a group that nobody else is in."""

    name: str
    client: str
    topic: str
    group: str


Plan = ProducerPlan | ReaderPlan


class Recorder:
    """The history of one client's thread; callbacks may come from other threads of the client."""

    def __init__(self, plan: ProducerPlan) -> None:
        self.plan = plan
        self.history = History()
        self.history.add_producer(plan.producer)
        self.outstanding: dict[int, tuple[TopicPartition, bytes]] = {}
        self._chance = random.Random(plan.seed)
        self._number = 0
        self._changed = threading.Condition()

    def burst(self) -> Iterator[tuple[int, int, bytes]]:
        """The next records to send: number, partition, value."""
        for _ in range(self._chance.randint(1, self.plan.burst)):
            number = self._number
            self._number += 1
            partition = self._chance.randrange(self.plan.partitions)
            value = self._value(number)
            with self._changed:
                self.outstanding[number] = (TopicPartition(self.plan.topic, partition), value)
            yield number, partition, value

    def _value(self, number: int) -> bytes:
        size = self._chance.randint(8, self.plan.value_bytes)
        start = self._chance.randrange(len(FILLER) - size)
        return b"%s:%d:%s" % (self.plan.name.encode(), number, FILLER[start : start + size])

    def hear(self, number: int, outcome: Outcome, offset: int | None) -> None:
        """What became of a record. With acks=0 nobody knows: to have handed it to the kernel says nothing."""
        with self._changed:
            partition, value = self.outstanding.pop(number)
            if self.plan.acks == 0:
                outcome, offset = Outcome.UNKNOWN, None
            known = offset if offset is not None and offset >= 0 else None
            self.history.sends.append(
                Send(self.plan.name, number, partition, value, outcome, known, time.monotonic_ns())
            )
            self._changed.notify_all()

    def await_outcomes(self, at_most: int, timeout_s: float) -> bool:
        """Returns when no more than so many records have no outcome yet."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.outstanding) <= at_most, timeout_s)

    def finish(self) -> History:
        """Whatever has no outcome by now will have none."""
        for number in sorted(self.outstanding):
            self.hear(number, Outcome.UNKNOWN, None)
        return self.history


def plans(chance: random.Random, topic: str, partitions: int, client: str) -> list[Plan]:
    """An idempotent producer, ordered and unordered ones that are not, one without acks, and a group's member."""
    made: list[Plan] = []
    variants: list[tuple[str, bool, int | str, int]] = [
        ("idempotent", True, "all", 5),
        ("leader", False, 1, 1),
        ("all", False, "all", 5),
        ("none", False, 0, 5),
    ]
    for variant, idempotent, acks, in_flight in variants:
        made.append(
            ProducerPlan(
                name=f"{client}-{variant}",
                client=client,
                topic=topic,
                partitions=partitions,
                idempotent=idempotent,
                acks=acks,
                in_flight=in_flight,
                codec=chance.choice(CODECS),
                burst=chance.choice((1, 5, 20)),
                value_bytes=chance.choice((20, 200, 1_000)),
                batch_bytes=chance.choice((1_000, 4_000, 12_000)),
                seed=chance.getrandbits(32),
            )
        )
    made.append(ReaderPlan(f"{client}-reader", client, topic, f"group-{client}"))
    return made
