"""Who takes part, in what, and with how many records: a turn is to last about a second, whoever's it is."""

from __future__ import annotations

from typing import NamedTuple

from perf.clients.turn import CONSUME, LATENCY, PRODUCE


class Contender(NamedTuple):
    """`share` of the run's records: those that are faster get more. `is_reported`: each record's outcome is told."""

    kind: str
    client: str
    way: str
    share: float = 1.0

    @property
    def name(self) -> str:
        return f"{self.client} {self.way}"


NATIVE, JAVA = "native", "java"
CONTENDERS = (
    Contender(PRODUCE, "ours", "send"),
    Contender(PRODUCE, "confluent", "produce"),
    Contender(PRODUCE, "ours", "send_reports"),
    Contender(PRODUCE, "confluent", "produce_reports"),
    Contender(PRODUCE, "ours", "send_batch", 4.0),
    Contender(PRODUCE, "ours", "send_batch_arrow", 4.0),
    Contender(PRODUCE, "confluent", "produce_batch"),
    Contender(PRODUCE, "kafka_python", "send", 0.1),
    Contender(PRODUCE, "aiokafka_client", "send", 0.1),
    Contender(PRODUCE, "aiokafka_client", "send_batch", 0.4),
    Contender(PRODUCE, JAVA, "tool", 2.0),
    Contender(PRODUCE, NATIVE, "send", 4.0),
    Contender(PRODUCE, NATIVE, "send_filled", 4.0),
    Contender(CONSUME, "ours", "poll"),
    Contender(CONSUME, "ours", "poll_columns", 4.0),
    Contender(CONSUME, "ours", "poll_arrow", 4.0),
    Contender(CONSUME, "confluent", "consume"),
    Contender(CONSUME, "kafka_python", "poll", 0.1),
    Contender(CONSUME, "aiokafka_client", "getmany", 0.4),
    Contender(CONSUME, JAVA, "tool", 2.0),
    Contender(CONSUME, NATIVE, "receive", 4.0),
    Contender(CONSUME, NATIVE, "receive_filled", 4.0),
    Contender(LATENCY, "ours", "latency"),
    Contender(LATENCY, "confluent", "latency"),
    Contender(LATENCY, "kafka_python", "latency"),
    Contender(LATENCY, "aiokafka_client", "latency"),
)
MOST_SHARE = max(contender.share for contender in CONTENDERS)


class Plan(NamedTuple):
    """`records` is what a contender with a share of 1 sends or reads; nobody more than `max_bytes` of values."""

    servers: list[str]
    sizes: list[int]
    rounds: int
    records: int
    max_bytes: int
    clients: list[str]
    latency_records: int
    latency_rate: float = 200.0

    def records_of(self, contender: Contender, size: int) -> int:
        return max(
            1, min(int(self.records * contender.share), int(self.max_bytes * contender.share / MOST_SHARE) // size)
        )

    def stored_records(self, size: int) -> int:
        """How many the topic has that is read."""
        return max(self.records_of(contender, size) for contender in CONTENDERS if contender.kind == CONSUME)

    def contenders(self, kind: str, number: int) -> list[Contender]:
        """In the order of a round: each is the first one once."""
        chosen = [each for each in CONTENDERS if each.kind == kind and each.client in self.clients]
        first = number % max(1, len(chosen))
        return chosen[first:] + chosen[:first]


ALL_CLIENTS = list(dict.fromkeys(contender.client for contender in CONTENDERS))
FULL = Plan(["kcli", "3.9"], [10, 100, 1024, 10_240], 3, 1_000_000, 1 << 30, ALL_CLIENTS, 600)
QUICK = Plan(["kcli"], [100, 1024], 1, 300_000, 1 << 28, ALL_CLIENTS, 200)
