"""What is configured at run time, over a broker's properties."""

from __future__ import annotations

import pytest

from kcore.config.broker import BrokerConfig
from kcore.config.topic import TopicConfig

HOUR_MS = 3_600_000


def test_a_brokers_own_layer_beats_that_of_all_brokers_which_beats_the_properties() -> None:
    config = BrokerConfig({"message.max.bytes": "1000"})
    assert config.number("message.max.bytes") == 1000
    config.update_dynamic({"message.max.bytes": "2000"}, {})
    assert config.number("message.max.bytes") == 2000
    config.update_dynamic({"message.max.bytes": "2000"}, {"message.max.bytes": "3000"})
    assert config.number("message.max.bytes") == 3000
    config.update_dynamic({}, {})
    assert config.number("message.max.bytes") == 1000


def test_a_topic_takes_its_default_from_what_was_changed() -> None:
    config = BrokerConfig({"log.retention.hours": "2"})
    config.update_dynamic({"log.retention.ms": "77"}, {})
    assert TopicConfig(config).number("retention.ms") == 77
    assert TopicConfig(config, {"retention.ms": "5"}).number("retention.ms") == 5
    config.update_dynamic({}, {})
    assert TopicConfig(config).number("retention.ms") == 2 * HOUR_MS


def test_only_those_concerned_hear_of_a_change_and_see_the_new_value() -> None:
    config = BrokerConfig({})
    heard: list[tuple[str, int]] = []
    config.on_change(["num.io.threads"], lambda: heard.append(("io", config.number("num.io.threads"))))
    config.on_change(
        ["num.io.threads", "message.max.bytes"], lambda: heard.append(("both", config.number("message.max.bytes")))
    )
    config.update_dynamic({"num.io.threads": "3"}, {})
    assert heard == [("io", 3), ("both", 1_048_588)]
    config.update_dynamic({"num.io.threads": "3"}, {"message.max.bytes": "9"})
    assert heard[2:] == [("both", 9)]
    config.update_dynamic({"num.io.threads": "3"}, {"message.max.bytes": "9"})
    assert len(heard) == 3
    config.update_dynamic({}, {})
    assert heard[3:] == [("io", 8), ("both", 1_048_588)]


def test_one_who_fails_keeps_nobody_from_hearing(capfd: pytest.CaptureFixture[str]) -> None:
    config = BrokerConfig({})
    heard: list[str] = []

    def fail() -> None:
        raise RuntimeError("no room for threads")

    config.on_change(["num.io.threads"], fail)
    config.on_change(["num.io.threads"], lambda: heard.append("told"))
    config.update_dynamic({"num.io.threads": "3"}, {})
    assert heard == ["told"]
    assert "no room for threads" in capfd.readouterr().err


def test_what_is_stored_but_cannot_be_used_is_named_and_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    config = BrokerConfig({})
    config.update_dynamic({"message.max.bytes": "many", "log.dirs": "/elsewhere", "num.io.threads": "2"}, {})
    assert config.number("num.io.threads") == 2
    assert config.number("message.max.bytes") == 1_048_588
    assert config.log_directories == ("/tmp/kafka-logs",)
    complaints = capfd.readouterr().err
    assert "Invalid value many for configuration message.max.bytes" in complaints
    assert "log.dirs" in complaints
