"""Groups that change their protocol under a coordinator, over a log in memory and virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kcore.coordinator.group import codes
from kcore.metadata.image import MetadataImage
from kcore.protocol import apis
from kcore.protocol.records import CONSUMER_PROTOCOL_SUBSCRIPTION
from tests.simulator.groups.client import Protocols
from tests.unit.coordinator.consumer.world import topic
from tests.unit.coordinator.test_loading import World

GROUP = "g"
REBALANCE_MS = 30_000
INCONSISTENT_GROUP_PROTOCOL = 23


class ChangingWorld(World):
    """A coordinator of one group, with members of both protocols that read `foo`."""

    def __init__(self, **properties: str) -> None:
        super().__init__(None, **properties)
        self.load()
        self.coordinator.on_image(MetadataImage(topics={"foo": topic("foo", 4)}))

    def beat(self, member_id: str, epoch: int) -> Mapping[str, Any]:
        fields = {"group_id": GROUP, "member_id": member_id, "member_epoch": epoch}
        if epoch == 0:
            fields |= {"rebalance_timeout_ms": REBALANCE_MS, "subscribed_topic_names": ["foo"], "topic_partitions": []}
        api = apis.CONSUMER_GROUP_HEARTBEAT.request
        return self.coordinator.consumer_heartbeat(api.decode(1, api.encode(1, fields)), 1, "client", "/h")

    def join(self, member_id: str = "", instance_id: str | None = None, protocol_type: str = "consumer") -> Any:
        """JoinGroup; its answer, None while there is none."""
        answers: list[Mapping[str, Any]] = []
        metadata = CONSUMER_PROTOCOL_SUBSCRIPTION.encode(1, {"topics": ["foo"], "owned_partitions": []})
        request = SimpleNamespace(
            group_id=GROUP,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=[Protocols("range", metadata)],
            session_timeout_ms=10_000,
            rebalance_timeout_ms=REBALANCE_MS,
            reason=None,
        )
        token = SimpleNamespace(respond=answers.append)
        self.coordinator.join(token, request, "c", "/h", needs_member_id=False, can_skip_assignment=True)
        self.run_until(self.clockwork.now_ms)
        return answers[0] if answers else None

    def run_until(self, end_ms: int) -> None:
        """Everything that is due by then happens."""
        self.clockwork.schedule(end_ms - self.clockwork.now_ms, lambda: None)
        while self.clockwork.now_ms < end_ms:
            assert self.clockwork.step()

    def type_of_group(self) -> str:
        _, (listing,) = self.coordinator.list_groups([], [])
        return str(listing.type)


def test_a_timer_of_a_group_says_nothing_in_another_that_took_its_place() -> None:
    """A member lost its place while its SyncGroup was awaited: that is awaited still, in the group that is over."""
    world = ChangingWorld()
    epoch = world.beat("a", 0)["member_epoch"]
    world.join(instance_id="i")
    world.join(instance_id="i")
    world.beat("a", -1)
    assert world.type_of_group() == "classic"
    epoch = world.beat("b", 0)["member_epoch"]
    assert world.type_of_group() == "consumer"
    for _ in range(8):
        world.run_until(world.clockwork.now_ms + 5_000)
        answer = world.beat("b", epoch)
        assert not answer.get("error_code"), answer
        epoch = answer["member_epoch"]


@pytest.mark.parametrize("protocol_type", ["consumer", "connect"])
def test_who_comes_first_to_an_empty_group_says_what_it_is(protocol_type: str) -> None:
    """Its offsets are the group's still, and a restart knows it as what it has become."""
    world = ChangingWorld(group_initial_rebalance_delay_ms="0")
    world.beat("a", 0)
    world.beat("a", -1)
    assert world.commit(GROUP, 5) == codes.NONE
    assert world.join(member_id="somebody")["error_code"] == codes.UNKNOWN_MEMBER_ID
    assert world.type_of_group() == "consumer"
    answer = world.join(protocol_type=protocol_type)
    assert (answer["error_code"], answer["leader"]) == (codes.NONE, answer["member_id"])
    assert world.type_of_group() == "classic"
    assert world.committed(GROUP) == (codes.NONE, 5)
    world.restart()
    assert world.type_of_group() == "classic"
    assert world.committed(GROUP) == (codes.NONE, 5)


def test_classic_members_stay_out_where_groups_do_not_migrate() -> None:
    world = ChangingWorld(group_consumer_migration_policy="disabled")
    world.beat("a", 0)
    assert world.join()["error_code"] == INCONSISTENT_GROUP_PROTOCOL
