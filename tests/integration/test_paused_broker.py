"""A broker that was stopped for longer than sessions last (SIGSTOP), as a virtual machine is when it is moved: what its
clients sent meanwhile, and gave up, must not hold up the groups that they join again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from kcore.protocol import apis
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient

SESSION_MS = 5_000
SHORTER_SESSION_MS = 4_000
MEMBER_ID_REQUIRED = 79
# From this delay on a session's timer gives members a moment to be heard, instead of removing them at once.
HELD_UP_S = 1.5


@pytest.fixture(scope="module", params=["native", "handlers"])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    fast_path = str(request.param == "native").lower()
    overrides = {"kcli.fast.path.enable": fast_path, "group.min.session.timeout.ms": "1"}
    with BrokerProcess(tmp_path_factory.mktemp("paused") / "data", overrides) as broker:
        yield broker


class Member:
    """A member of a group of the classic protocol, with a connection of its own."""

    def __init__(self, port: int, group_id: str, session_ms: int = SESSION_MS) -> None:
        self.session_ms = session_ms
        self.client = RawClient(port)
        self.identity: dict[str, object] = {"group_id": group_id, "member_id": "", "group_instance_id": None}
        while self.client.request(apis.FIND_COORDINATOR, 2, {"key": group_id, "key_type": 0}).error_code:
            pass  # until the partition has been made

    def join_fields(self) -> dict[str, object]:
        return {
            "group_id": self.identity["group_id"],
            "member_id": "",
            "group_instance_id": None,
            "session_timeout_ms": self.session_ms,
            "rebalance_timeout_ms": 60_000,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        }

    def join(self) -> None:
        """Returns when the member has its part of a generation; a group has to wait for members that it knows."""
        fields = self.join_fields()
        answer = self.client.request(apis.JOIN_GROUP, 5, fields)
        if answer.error_code == MEMBER_ID_REQUIRED:
            answer = self.client.request(apis.JOIN_GROUP, 5, {**fields, "member_id": answer.member_id})
        assert answer.error_code == 0
        self.identity |= {"member_id": answer.member_id, "generation_id": answer.generation_id}
        assignments = [{"member_id": answer.member_id, "assignment": b"all"}]
        assert self.client.request(apis.SYNC_GROUP, 3, {**self.identity, "assignments": assignments}).error_code == 0

    def send_heartbeat(self) -> None:
        self.client.send(apis.HEARTBEAT, 4, self.identity)

    def heartbeat(self) -> int:
        return int(self.client.request(apis.HEARTBEAT, 4, self.identity).error_code)

    def close(self) -> None:
        self.client.socket.close()


def test_requests_of_clients_that_gave_up_do_not_hold_up_who_joins_after_a_pause(broker: BrokerProcess) -> None:
    gone, steady = Member(broker.port, "interrupted"), Member(broker.port, "steady", SHORTER_SESSION_MS)
    gone.join()
    steady.join()
    broker.pause()
    paused_at = time.monotonic()
    # As librdkafka does: heartbeats, then a new start, and a new connection when that is not answered either.
    for _ in range(3):
        gone.send_heartbeat()
    gone.client.send(apis.JOIN_GROUP, 5, gone.join_fields())
    gone.close()
    # A member that is there all the time: its heartbeat waits in its socket, on an open connection.
    steady.send_heartbeat()
    while time.monotonic() - paused_at < SESSION_MS / 1000:
        time.sleep(0.05)  # the sessions end while the broker does nothing
    broker.resume()
    assert steady.client.receive(apis.HEARTBEAT, 4).error_code == 0
    successor = Member(broker.port, "interrupted")
    successor.join()
    # `gone` would have been waited for longer than this session lasts, had its heartbeats counted.
    assert steady.heartbeat() == 0
    for member in (successor, steady):
        member.close()


def test_a_commit_of_a_membership_that_ended_does_not_hold_up_the_member_s_successor(broker: BrokerProcess) -> None:
    gone, steady = Member(broker.port, "revoked"), Member(broker.port, "steady-too", SHORTER_SESSION_MS)
    row = {"name": "read", "num_partitions": 1, "replication_factor": 1}
    assert gone.client.request(apis.CREATE_TOPICS, 4, {"topics": [row]}).topics[0].error_code == 0
    gone.join()
    steady.join()
    broker.pause()
    paused_at = time.monotonic()
    gone.close()
    steady.send_heartbeat()
    while time.monotonic() - paused_at < SESSION_MS / 1000 + HELD_UP_S:
        time.sleep(0.05)  # the sessions end while the broker does nothing
    broker.resume()
    assert steady.client.receive(apis.HEARTBEAT, 4).error_code == 0
    successor = Member(broker.port, "revoked")
    # librdkafka does this on a new connection when its session has ended: it commits, then it joins as a new member.
    partitions = [{"partition_index": 0, "committed_offset": 7, "committed_metadata": None}]
    fields = {**gone.identity, "topics": [{"name": "read", "partitions": partitions}]}
    fields["generation_id_or_member_epoch"] = fields.pop("generation_id")
    answer = successor.client.request(apis.OFFSET_COMMIT, 7, fields)
    assert answer.topics[0].partitions[0].error_code == 0
    successor.join()
    # `gone` would have been waited for longer than this session lasts, had its commit counted.
    assert steady.heartbeat() == 0
    for member in (successor, steady):
        member.close()
