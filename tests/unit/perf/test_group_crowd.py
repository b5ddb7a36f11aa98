"""The crowd of members can be believed: its groups come together, stay together, and what it commits is committed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kcore.protocol import apis
from perf.group_crowd import PARTITIONS_A_COMMIT, GroupCrowd
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient

GROUPS, MEMBERS = 3, 4
TOPIC = "committed"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    overrides = {"group.initial.rebalance.delay.ms": "50", "offsets.topic.num.partitions": "2"}
    with BrokerProcess(tmp_path / "data", overrides) as broker:
        with RawClient(broker.port) as client:
            client.create_topic(TOPIC, PARTITIONS_A_COMMIT)
        yield broker
        assert broker.stop() == 0


@pytest.fixture
def crowd(broker: BrokerProcess) -> Iterator[GroupCrowd]:
    crowd = GroupCrowd(broker.port, GROUPS, MEMBERS, TOPIC, interval_ms=20)
    yield crowd
    crowd.close()


def test_heartbeats_are_answered_without_an_error(crowd: GroupCrowd) -> None:
    crowd.gather()
    generations = [group.generation for group in crowd.groups]
    while len(crowd.heartbeats.latencies_ns) < 2 * len(crowd.members):
        crowd.beat(0.05)
    assert not crowd.heartbeats.errors
    assert [group.generation for group in crowd.groups] == generations
    assert all(len(group.synced) == MEMBERS for group in crowd.groups)


def test_commits_are_committed(broker: BrokerProcess, crowd: GroupCrowd) -> None:
    crowd.gather()
    crowd.commit(0.1, GROUPS)
    assert crowd.commits.latencies_ns
    assert not crowd.commits.errors
    with RawClient(broker.port) as client:
        for group in crowd.groups:
            fields = {"groups": [{"group_id": group.group_id, "topics": None}]}
            answer = client.request(apis.OFFSET_FETCH, 8, fields).groups[0]
            assert [topic.name for topic in answer.topics] == [TOPIC]
            committed = {one.partition_index: one.committed_offset for one in answer.topics[0].partitions}
            assert committed == dict.fromkeys(range(PARTITIONS_A_COMMIT), 1_000)


def test_a_refused_commit_is_counted(crowd: GroupCrowd) -> None:
    """Behind a refusal of the group's, which every partition is told."""
    crowd.gather()
    for group in crowd.groups:
        for member in group.members:
            # Of a generation that there never was.
            group.generation = 77
            crowd.prepare(member)
    crowd.commit(0.1, GROUPS)
    assert set(crowd.commits.errors) == {22}
    assert crowd.commits.errors.total() == len(crowd.commits.latencies_ns)
