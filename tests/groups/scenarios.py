"""The scenarios of CI: small groups, one behaviour of Kafka's groups each."""

from __future__ import annotations

from tests.groups.scenario import Member, Scenario, join, kill, step

CONFLUENT = "confluent-kafka"

SCENARIOS = (
    Scenario(
        "confluent, one of two is killed",
        {"a": Member(CONFLUENT), "b": Member(CONFLUENT)},
        (
            step("a joins", join("a")),
            step("b joins", join("b")),
            step("a is killed", kill("a")),
        ),
    ),
)
