"""The scenarios: lives of small groups, for any client and assignor, and which of them are CI's and the campaign's."""

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
    replaced,
    resume,
    step,
)

CONFLUENT, KAFKA_PYTHON, AIOKAFKA, JAVA = "confluent-kafka", "kafka-python", "aiokafka", "java"
ASSIGNORS = {
    CONFLUENT: (RANGE, ROUND_ROBIN, COOPERATIVE_STICKY),
    KAFKA_PYTHON: (RANGE, ROUND_ROBIN, STICKY, COOPERATIVE_STICKY),
    AIOKAFKA: (RANGE, ROUND_ROBIN, STICKY),
    JAVA: (RANGE, ROUND_ROBIN, STICKY, COOPERATIVE_STICKY),
}


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


def ends(client: str, assignor: str) -> Scenario:
    """All leave; all are killed: the group is found again, with what it has committed."""
    return Scenario(
        f"{client} by {assignor}, ends",
        {"a": Member(client, assignor), "b": Member(client, assignor), "c": Member(client, assignor)},
        (
            step("a joins", join("a")),
            step("b joins", join("b")),
            step("b leaves", leave("b")),
            step("a leaves, the last", leave("a"), settles=False),
            step("a is back", join("a")),
            step("a is killed", kill("a"), settles=False),
            step("c finds it dead", join("c")),
        ),
    )


def crowded(client: str, assignor: str) -> Scenario:
    """More members than partitions: who has none stands by."""
    return Scenario(
        f"{client} by {assignor}, one partition",
        {"a": Member(client, assignor), "b": Member(client, assignor)},
        (
            step("a joins", join("a")),
            step("b joins", join("b")),
            step("b is killed", kill("b")),
            step("b is back", join("b")),
            step("a leaves", leave("a")),
        ),
        partitions=1,
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


def absences(client: str, assignor: str) -> Scenario:
    """A static member stays away for longer than its session; another takes the place of one that lives."""
    return Scenario(
        f"{client} by {assignor}, static absence",
        {
            "a": Member(client, assignor, "first"),
            "b": Member(client, assignor, "second"),
            "c": Member(client, assignor, "second"),
        },
        (
            step("a joins", join("a")),
            step("b joins", join("b")),
            step("c takes the place of b", join("c"), replaced("b")),
            step("c stops, and its session ends", leave("c")),
            step("c is back", join("c")),
        ),
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
    sleep(CONFLUENT, COOPERATIVE_STICKY),
    ends(CONFLUENT, RANGE),
    restarts(CONFLUENT, RANGE),
    absences(JAVA, COOPERATIVE_STICKY),
    MIXED,
)

LIVES = (lives, sleep, ends, crowded, restarts, absences)
# aiokafka does not know that a static member can be fenced, and kafka-python's poll does not say so: before either
# broker its heartbeat is answered FENCED_INSTANCE_ID, and the application hears nothing.
SILENT_WHEN_FENCED = (AIOKAFKA, KAFKA_PYTHON)
# What the campaign goes through in turn.
ALL = (
    *(
        life(client, assignor)
        for life in LIVES
        for client, assignors in ASSIGNORS.items()
        for assignor in assignors
        if life is not absences or client not in SILENT_WHEN_FENCED
    ),
    MIXED,
)
