"""Configurations that are changed while a broker runs, and what they do at once and after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kcore.config.broker import BrokerConfig
from kcore.controller.new_topic import NewTopic
from kcore.metadata.image import BROKER_RESOURCE
from kcore.server.broker import Broker

MEBIBYTE = 1 << 20


class RestartedBroker:
    """A broker that may be stopped and started again on the same directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.broker = self.start()

    def start(self) -> Broker:
        broker = Broker(
            BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(self.directory), "node.id": "7"})
        )
        broker.startup()
        return broker

    def restart(self) -> Broker:
        self.broker.shutdown()
        self.broker = self.start()
        return self.broker

    def set(self, name: str, overrides: dict[str, str]) -> None:
        store = self.broker._store
        assert store is not None
        store.set_configs(self.broker.controller.epoch, BROKER_RESOURCE, name, overrides)

    def segment_bytes(self, topic: str) -> int:
        entry = self.broker.log_manager._logs.get((topic, 0))
        assert entry is not None
        return entry.config.segment_bytes


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RestartedBroker]:
    restarted = RestartedBroker(tmp_path)
    yield restarted
    restarted.broker.shutdown()


def test_a_changed_default_reaches_topics_at_once_and_stays_over_a_restart(running: RestartedBroker) -> None:
    running.broker.controller.create_topics([NewTopic("plain"), NewTopic("own", configs={"segment.bytes": "5000"})])
    running.set("", {"log.segment.bytes": str(MEBIBYTE)})
    assert running.segment_bytes("plain") == MEBIBYTE
    assert running.segment_bytes("own") == 5000
    broker = running.restart()
    assert broker.config.number("log.segment.bytes") == MEBIBYTE
    assert running.segment_bytes("plain") == MEBIBYTE
    running.set("7", {"log.segment.bytes": str(2 * MEBIBYTE)})
    assert running.segment_bytes("plain") == 2 * MEBIBYTE
    running.set("8", {"log.segment.bytes": str(3 * MEBIBYTE)})
    assert running.segment_bytes("plain") == 2 * MEBIBYTE
    running.set("7", {})
    running.set("", {})
    assert running.segment_bytes("plain") == 1024 * MEBIBYTE
