"""A producer whose metadata is wrong: leaders that have ended, and leaders that answers name before metadata does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kcore.client.producer.producer import Producer
from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.unit.client.peer import Fields, ScriptedPeer

TOPIC = "events"
NOT_LEADER = 6
TIMEOUT_S = 20
FORMER, NEWER = 1, 2


class ScriptedCluster:
    """A bootstrap server, two brokers; `leaders` are named by one metadata answer each, the last by all others."""

    def __init__(self, leaders: list[int]) -> None:
        self.leaders = leaders
        self.metadata_answers = 0
        answers = {apis.METADATA.key: self._metadata}
        self.bootstrap = ScriptedPeer(dict(answers))
        self.former = ScriptedPeer({**answers, apis.PRODUCE.key: self._refuse})
        self.newer = ScriptedPeer({**answers, apis.PRODUCE.key: self._take})

    def _metadata(self, version: int, request: Message) -> Fields:
        leader = self.leaders[min(self.metadata_answers, len(self.leaders) - 1)]
        self.metadata_answers += 1
        nodes = {FORMER: self.former, NEWER: self.newer}
        partition = {"partition_index": 0, "leader_id": leader, "leader_epoch": 4 + leader}
        replicas = {"replica_nodes": list(nodes), "isr_nodes": list(nodes)}
        return {
            "brokers": [{"node_id": node, "host": "127.0.0.1", "port": peer.port} for node, peer in nodes.items()],
            "cluster_id": "scripted",
            "controller_id": NEWER,
            "topics": [{"name": TOPIC, "error_code": 0, "partitions": [{**partition, **replicas}]}],
        }

    def _refuse(self, version: int, request: Message) -> Fields:
        return produced(error_code=NOT_LEADER, current_leader={"leader_id": NEWER, "leader_epoch": 4 + NEWER})

    def _take(self, version: int, request: Message) -> Fields:
        return produced(error_code=0, base_offset=42)


def produced(**partition: Any) -> Fields:
    answered = {"index": 0, "base_offset": -1, **partition}
    return {"responses": [{"name": TOPIC, "partition_responses": [answered]}], "throttle_time_ms": 0}


def producer_of(cluster: ScriptedCluster, **keywords: Any) -> Producer:
    return Producer(bootstrap_servers=cluster.bootstrap.address, enable_idempotence=False, **keywords)


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    found = ScriptedCluster([FORMER])
    with found.bootstrap, found.newer:
        yield found


def test_a_leader_that_had_ended_before_metadata_named_it(cluster: ScriptedCluster) -> None:
    """Until the controller has noticed its end metadata names it; metadata is asked until it names another."""
    with cluster.former:
        pass
    cluster.leaders = [FORMER, FORMER, FORMER, NEWER]
    with producer_of(cluster, retry_backoff_ms=20) as producer:
        assert producer.send(TOPIC, b"1").result(TIMEOUT_S).offset == 42


def test_a_newer_leader_is_used_before_metadata_names_it(cluster: ScriptedCluster) -> None:
    """KIP-951: neither does the batch wait for the pause of its retry, nor for metadata, which is behind."""
    patient = {"retry_backoff_ms": 1_000_000, "retry_backoff_max_ms": 1_000_000}
    with cluster.former, producer_of(cluster, **patient) as producer:
        assert producer.send(TOPIC, b"1").result(TIMEOUT_S).offset == 42
        assert len(cluster.former.asked(apis.PRODUCE)) == 1
