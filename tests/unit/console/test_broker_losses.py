"""BrokerLosses: which lines are due when, without a clock or a network."""

from __future__ import annotations

from kcli.broker_connection import WARNING_INTERVAL_S, BrokerLosses
from kcore.client.network.connection_state import ConnectionState

DOWN = "no connection to a:1 since 12:00:00 (connection refused). Retrying."


def losses() -> BrokerLosses:
    return BrokerLosses("Retrying.", clock_text=lambda: "12:00:00")


def refused(attempts: int, server: str = "a:1") -> ConnectionState:
    return ConnectionState(server, False, attempts, "Connection refused")


UP = ConnectionState("a:1", True, 0, None)
IDLE = ConnectionState("a:1", False, 0, "the connection was idle")


def test_a_loss_is_reported_at_once_and_then_every_few_seconds() -> None:
    reports = losses()
    assert reports.report([UP], 0.0) == []
    assert reports.report([refused(1)], 1.0) == [DOWN]
    assert reports.report([refused(2)], 1.1) == []
    assert reports.report([refused(9)], 0.9 + WARNING_INTERVAL_S) == []
    assert reports.report([refused(9)], 1.0 + WARNING_INTERVAL_S) == [DOWN]
    assert reports.report([UP], 8.4) == ["reconnected to a:1 after 7 s"]
    assert reports.report([UP], 9.0) == []
    assert reports.report([refused(1)], 10.0) == [DOWN]


def test_a_server_that_is_not_tried_any_more_is_not_reported_again() -> None:
    reports = losses()
    assert reports.report([refused(3)], 1.0) == [DOWN]
    assert reports.report([refused(3)], 100.0) == []


def test_connections_without_a_failed_attempt_are_not_lost() -> None:
    reports = losses()
    assert reports.report([IDLE], 0.0) == []
    assert reports.report([ConnectionState("a:1", False, 0, "the broker closed the connection")], 1.0) == []


def test_one_connection_of_several_to_a_server_is_enough() -> None:
    reports = losses()
    assert reports.report([refused(1), UP], 0.0) == []
    assert reports.report([refused(2), refused(1)], 1.0) == [DOWN]
    assert reports.report([refused(2), UP], 3.0) == ["reconnected to a:1 after 2 s"]


def test_each_server_has_its_own_losses() -> None:
    lines = losses().report([refused(1), refused(1, "b:2"), ConnectionState("c:3", True, 0, None)], 0.0)
    assert lines == [DOWN, DOWN.replace("a:1", "b:2")]
