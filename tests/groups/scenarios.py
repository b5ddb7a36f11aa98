"""The scenarios of CI: small groups of each client, and one of all."""

from __future__ import annotations

from tests.groups.scenario import (
    COOPERATIVE_STICKY,
    RANGE,
    ROUND_ROBIN,
    STICKY,
    Member,
    Scenario,
    commits,
    join,
    kill,
    leave,
    pause,
    resume,
    step,
)

CONFLUENT, KAFKA_PYTHON, AIOKAFKA, JAVA = "confluent-kafka", "kafka-python", "aiokafka", "java"


def lives(client: str, assignor: str) -> Scenario:
    """One joins the other, dies without having committed, comes back; the other leaves."""
    return Scenario(
        f"{client} by {assignor}, death and return",
        {"a": Member(client, assignor), "b": Member(client, assignor)},
        (
            step("a joins", join("a")),
            step("b joins", join("b")),
            step("b commits nothing", commits("b", on=False)),
            step("b is killed", kill("b")),
            step("b is back", join("b")),
            step("a leaves", leave("a")),
        ),
    )


def sleep(client: str, assignor: str) -> Scenario:
    """One is stopped beyond its session, and wakes up."""
    return Scenario(
        f"{client} by {assignor}, sleep",
        {"a": Member(client, assignor), "b": Member(client, assignor)},
        (
            step("a joins", join("a")),
            step("b joins", join("b")),
            step("b sleeps", pause("b")),
            step("b wakes up", resume("b")),
        ),
    )


def restarts(client: str, assignor: str) -> Scenario:
    """Static members (KIP-345) end and begin again within their session."""
    return Scenario(
        f"{client} by {assignor}, static restarts",
        {"a": Member(client, assignor, "first"), "b": Member(client, assignor, "second")},
        (
            step("a joins", join("a")),
            step("b joins", join("b")),
            step("b is killed and back", kill("b"), join("b")),
            step("b stops and is back", leave("b"), join("b")),
            step("a, which leads, is killed and back", kill("a"), join("a")),
        ),
        session_ms=20_000,
    )


MIXED = Scenario(
    "all clients in one group",
    {"a": Member(CONFLUENT), "b": Member(KAFKA_PYTHON), "c": Member(AIOKAFKA), "d": Member(JAVA)},
    (
        step("a joins", join("a")),
        step("the others join", join("b", "c", "d"), at_once=True),
        step("a, which leads, is killed", kill("a")),
        step("d leaves", leave("d")),
    ),
    partitions=12,
)

SCENARIOS = (
    lives(CONFLUENT, RANGE),
    lives(CONFLUENT, COOPERATIVE_STICKY),
    lives(KAFKA_PYTHON, ROUND_ROBIN),
    lives(AIOKAFKA, STICKY),
    lives(JAVA, COOPERATIVE_STICKY),
    sleep(CONFLUENT, COOPERATIVE_STICKY),
    sleep(JAVA, RANGE),
    # restarts(CONFLUENT, RANGE),
    # restarts(JAVA, COOPERATIVE_STICKY),
    MIXED,
)
