"""Heartbeats that the table of sessions answers in a shard's stead count as if the shard had been told."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kcore.coordinator.group import codes
from kcore.coordinator.group.session_table import SessionTable
from tests.unit.coordinator.test_loading import World as Coordinated

GROUP = "flights"
SESSION_MS = 10_000
REBALANCE_MS = 60_000


class Answer:
    """What a request was answered."""

    def __init__(self) -> None:
        self.fields: Mapping[str, Any] | None = None

    def respond(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields


class World(Coordinated):
    """A coordinator with one group, and processors that ask its table first."""

    def __init__(self) -> None:
        super().__init__(group_initial_rebalance_delay_ms="0", group_min_session_timeout_ms="1")
        self.load()

    def join(self, member_id: str = "", instance_id: str | None = None) -> Answer:
        answer = Answer()
        request = SimpleNamespace(
            group_id=GROUP,
            member_id=member_id,
            group_instance_id=instance_id,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            protocol_type="consumer",
            protocols=[SimpleNamespace(name="range", metadata=b"")],
            reason=None,
        )
        self.coordinator.join(answer, request, "c", "/h", False, False)
        return answer

    def sync(self, member_id: str, generation: int) -> None:
        request = SimpleNamespace(
            group_id=GROUP,
            member_id=member_id,
            group_instance_id=None,
            generation_id=generation,
            assignments=[],
            protocol_type=None,
            protocol_name=None,
        )
        answer = Answer()
        self.coordinator.sync(answer, request)
        assert answer.fields is not None
        assert answer.fields["error_code"] == codes.NONE

    def stable(self, instance_id: str | None = None) -> tuple[str, int]:
        """A member, alone in its group."""
        fields = self.join(instance_id=instance_id).fields
        assert fields is not None
        assert fields["error_code"] == codes.NONE
        self.sync(fields["member_id"], fields["generation_id"])
        return fields["member_id"], fields["generation_id"]

    def beat(self, member_id: str, generation: int, instance_id: str | None = None) -> bool:
        return self.coordinator.sessions.beat(GROUP, member_id, instance_id, generation, self.clockwork.now_ms)

    def wait(self, delay_ms: int) -> None:
        is_over: list[bool] = []
        self.clockwork.schedule(delay_ms, lambda: is_over.append(True))
        while not is_over:
            self.clockwork.step()

    def asked(self, member_id: str, generation: int) -> int:
        """What the shard itself says."""
        return self.coordinator.heartbeat(GROUP, member_id, generation, None)


def test_member_that_only_processors_hear_of_lives_as_long_as_it_is_heard_of() -> None:
    world = World()
    member, generation = world.stable()
    for _ in range(10):
        world.wait(SESSION_MS - 1)
        assert world.beat(member, generation)
    world.wait(SESSION_MS - 1)
    assert world.coordinator.group_states() == [(GROUP, "Stable", 1)]
    world.wait(2)
    assert world.coordinator.group_states() == [(GROUP, "Empty", 0)]
    assert not world.beat(member, generation)


def test_when_a_member_was_heard_of_is_not_forgotten_in_a_rebalance() -> None:
    world = World()
    member, generation = world.stable()
    world.wait(SESSION_MS - 1)
    assert world.beat(member, generation)
    newcomer = world.join()
    assert not world.beat(member, generation), "it is to hear of the rebalance"
    world.wait(SESSION_MS - 1)
    assert world.asked(member, generation) == codes.REBALANCE_IN_PROGRESS
    assert newcomer.fields is None


def test_groups_that_are_not_stable_are_not_answered_for() -> None:
    world = World()
    fields = world.join().fields
    assert fields is not None
    member, generation = fields["member_id"], fields["generation_id"]
    assert not world.beat(member, generation)
    world.sync(member, generation)
    assert world.beat(member, generation)
    world.coordinator.leave(GROUP, [(member, None)])
    assert not world.beat(member, generation)
    assert len(world.coordinator.sessions) == 0


def test_partition_that_leaves_takes_its_groups_out_at_once() -> None:
    world = World()
    member, generation = world.stable()
    assert world.beat(member, generation)
    world.coordinator.unload(0)
    assert not world.beat(member, generation), "though its groups end later, on a handler thread"
    # It comes back before they have ended: the members were kept, and go on here.
    world.load()
    assert world.beat(member, generation)
    world.wait(1)
    assert world.beat(member, generation), "what ends an earlier life of the partition ends nothing of this one"


def test_members_read_back_are_answered_for() -> None:
    world = World()
    member, generation = world.stable()
    world.restart()
    assert world.beat(member, generation)


def test_static_member_under_a_new_id_is_the_only_one() -> None:
    world = World()
    old, generation = world.stable("seat-1")
    assert world.beat(old, generation, "seat-1")
    fields = world.join(instance_id="seat-1").fields
    assert fields is not None
    assert fields["error_code"] == codes.NONE
    new = fields["member_id"]
    assert new != old
    assert fields["generation_id"] == generation
    assert not world.beat(old, generation, "seat-1")
    assert not world.beat(old, generation)
    assert world.beat(new, generation, "seat-1")


@pytest.mark.parametrize("group_id", ["g", "", "héron", "g" * 5_000])
def test_table_knows_members_by_all_that_they_are(group_id: str) -> None:
    table = SessionTable(0)
    table.publish(group_id, 1, 4, [("m-1", None), ("m-2", "seat"), ("", "")])
    assert table.beat(group_id, "m-1", None, 4, 70)
    assert table.beat(group_id, "m-2", None, 4, 71)
    assert table.beat(group_id, "m-2", "seat", 4, 72)
    assert table.beat(group_id, "", "", 4, 73)
    assert not table.beat(group_id, "m-1", "", 4, 99)
    assert not table.beat(group_id, "m-1", "seat", 4, 99)
    assert not table.beat(group_id, "m-2", "sea", 4, 99)
    assert not table.beat(group_id, "m-1", None, 5, 99)
    assert not table.beat(group_id, "m-1\0", None, 4, 99)
    assert not table.beat(group_id + "x", "m-1", None, 4, 99)
    assert table.beat(group_id, "m-2", None, 4, 60)
    assert table.withdraw(group_id, 2) == []
    assert dict(table.withdraw(group_id, 1)) == {"m-1": 70, "m-2": 72, "": 73}
    assert not table.beat(group_id, "m-1", None, 4, 99)


def test_time_of_the_table_begins_where_it_is_told_and_never_goes_back() -> None:
    table = SessionTable(1_700_000_000_000)
    first, second = table.now_ms(), table.now_ms()
    assert 1_700_000_000_000 <= first <= second < 1_700_000_000_000 + 60_000


def test_processors_and_shards_share_the_table() -> None:
    """Nobody is answered for a group that is out, whoever asks meanwhile; what was heard of comes out with it."""
    table = SessionTable(0)
    is_over = threading.Event()
    answered = [0] * 4

    def beat_on(number: int) -> None:
        while not is_over.is_set():
            answered[number] += table.beat(GROUP, f"m-{number}", None, 1, 5)

    threads = [threading.Thread(target=beat_on, args=(number,)) for number in range(len(answered))]
    for thread in threads:
        thread.start()
    members = [(f"m-{number}", None) for number in range(len(threads))]
    table.publish(GROUP, 1, 1, members)
    while not all(answered):
        pass  # until everyone has been answered
    assert dict(table.withdraw(GROUP, 1)) == {member_id: 5 for member_id, _ in members}
    for _ in range(500):
        table.publish(GROUP, 1, 1, members)
        table.withdraw(GROUP, 1)
        assert not table.beat(GROUP, "m-0", None, 1, 5)
    before = sum(answered)
    is_over.set()
    for thread in threads:
        thread.join()
    assert sum(answered) - before <= len(threads), "only answers that were on their way"
    assert len(table) == 0


def test_session_that_ended_while_the_broker_was_stopped_is_judged_after_the_heartbeats_of_that_time() -> None:
    world = World()
    member, generation = world.stable()
    world.clockwork.hold_up(SESSION_MS * 6)
    assert world.clockwork.step(), "the session's timer rings, late"
    assert world.beat(member, generation), "what waited in its socket is read next"
    world.wait(SESSION_MS - 1)
    assert world.coordinator.group_states() == [(GROUP, "Stable", 1)]


def test_member_that_sent_nothing_while_the_broker_was_stopped_is_out_soon_after() -> None:
    world = World()
    world.stable()
    world.clockwork.hold_up(SESSION_MS * 6)
    world.wait(1_001)
    assert world.coordinator.group_states() == [(GROUP, "Empty", 0)]
