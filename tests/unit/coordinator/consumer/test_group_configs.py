"""A group's own session timeout and heartbeat interval, as a coordinator goes by them from the next heartbeat on."""

from __future__ import annotations

from kcore.coordinator.group import codes
from kcore.metadata.image import GROUP_RESOURCE, MetadataImage
from tests.unit.coordinator.consumer.test_changing_protocols import GROUP, ChangingWorld
from tests.unit.coordinator.consumer.world import topic

OWN_MS = 50_000
USUAL_MS = 45_000


def configure(world: ChangingWorld, **overrides: str) -> None:
    configs = {(GROUP_RESOURCE, GROUP): {name.replace("_", "."): value for name, value in overrides.items()}}
    world.coordinator.on_image(MetadataImage(topics={"foo": topic("foo", 4)}, configs=configs))


def is_in_after(world: ChangingWorld, epoch: int, span_ms: int) -> bool:
    world.run_until(world.clockwork.now_ms + span_ms)
    return world.beat("a", epoch).get("error_code", codes.NONE) == codes.NONE


def test_a_group_s_own_configurations_come_before_the_broker_s() -> None:
    world = ChangingWorld()
    configure(world, consumer_session_timeout_ms=str(OWN_MS), consumer_heartbeat_interval_ms="9000")
    answer = world.beat("a", 0)
    epoch = answer["member_epoch"]
    assert answer["heartbeat_interval_ms"] == 9_000
    assert is_in_after(world, epoch, OWN_MS - 1)
    assert not is_in_after(world, epoch, OWN_MS + 1)


def test_what_changes_while_members_are_there_counts_from_their_next_heartbeat() -> None:
    world = ChangingWorld()
    epoch = world.beat("a", 0)["member_epoch"]
    configure(world, consumer_session_timeout_ms=str(OWN_MS))
    assert is_in_after(world, epoch, USUAL_MS - 1)
    assert is_in_after(world, epoch, OWN_MS - 1)
    configure(world)
    assert is_in_after(world, epoch, USUAL_MS - 1)
    assert not is_in_after(world, epoch, USUAL_MS + 1)
