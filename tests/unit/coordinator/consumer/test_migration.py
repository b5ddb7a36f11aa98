"""Classic members of consumer groups, and groups that change from one protocol to the other and back."""

from __future__ import annotations

from typing import Any

import pytest

from kcore import errors
from kcore.coordinator.group import codes
from kcore.coordinator.group.attempts import JoinAttempt, SyncAttempt
from kcore.coordinator.group.consumer import classic_members, migration, records, removal
from kcore.coordinator.group.consumer.settings import Settings
from kcore.coordinator.group.effects import Persist, Reply
from kcore.coordinator.group.member import MemberProfile
from kcore.coordinator.group.records import GROUP_METADATA, group_metadata_tombstone
from kcore.coordinator.group.state import Group
from kcore.protocol.records import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION
from tests.unit.coordinator.consumer.world import REBALANCE_MS, World

SESSION_MS = 10_000


def subscription(topics: tuple[str, ...], owned: dict[str, list[int]]) -> bytes:
    rows = [{"topic": topic, "partitions": held} for topic, held in owned.items()]
    return CONSUMER_PROTOCOL_SUBSCRIPTION.encode(1, {"topics": list(topics), "owned_partitions": rows})


def profile(
    topics: tuple[str, ...], owned: dict[str, list[int]], protocols: tuple[str, ...] = ("range", "cooperative-sticky")
) -> MemberProfile:
    metadata = subscription(topics, owned)
    return MemberProfile(
        "client", "/127.0.0.1", "consumer", [(name, metadata) for name in protocols], SESSION_MS, REBALANCE_MS
    )


def assignment_of(data: bytes) -> dict[str, list[int]]:
    return {row.topic: row.partitions for row in CONSUMER_PROTOCOL_ASSIGNMENT.decode(data)[1].assigned_partitions}


class MixedWorld(World):
    """A consumer group with classic members, which do as cooperative clients do."""

    def classic_join(self, member_id: str, *topics: str, made_id: str = "made", **how: Any) -> dict[str, Any]:
        """JoinGroup; the member says that it has what it was given last."""
        protocols = how.pop("protocols", ("range", "cooperative-sticky"))
        who = profile(topics, self.have.get(member_id, {}), protocols)
        attempt = JoinAttempt(None, member_id, how.pop("instance_id", None), made_id, who, how.pop("needs_id", False))
        try:
            decision = classic_members.join(self.group, attempt, self.moment)
        except errors.KafkaError as error:
            return {"error_code": error.code}
        if decision.successor is not None:
            self.successor = decision.successor
            self.ended = decision.records
            return decision.response
        response = self.carry_out(decision)
        self.epochs[response["member_id"]] = response.get("generation_id", -1)
        return response

    def classic_sync(self, member_id: str, epoch: int | None = None) -> int:
        epoch = self.epochs[member_id] if epoch is None else epoch
        attempt = SyncAttempt(None, member_id, None, epoch, {}, "consumer", "range")
        try:
            response = self.carry_out(classic_members.sync(self.group, attempt, self.moment))
        except errors.KafkaError as error:
            return error.code
        if not response["error_code"]:
            self.have[member_id] = assignment_of(response["assignment"])
        return int(response["error_code"])

    def classic_beat(self, member_id: str, epoch: int | None = None) -> int:
        epoch = self.epochs[member_id] if epoch is None else epoch
        try:
            decision = classic_members.heartbeat(self.group, member_id, None, epoch, self.moment)
        except errors.KafkaError as error:
            return error.code
        return int(self.carry_out(decision)["error_code"])

    def classic_settle(self, member_id: str, *topics: str) -> None:
        for _ in range(5):
            if not self.classic_beat(member_id):
                return
            self.classic_join(member_id, *topics)
            self.classic_sync(member_id)
        raise AssertionError("the classic member never comes to rest")


@pytest.fixture
def world() -> MixedWorld:
    return MixedWorld({"foo": 4})


def with_both(world: MixedWorld) -> None:
    world.join("a", "foo")
    world.classic_join("c", "foo")
    assert world.classic_sync("c") == 0
    for _ in range(3):
        world.settle("a")
        world.classic_settle("c", "foo")


def test_a_classic_member_shares_with_the_others(world: MixedWorld) -> None:
    with_both(world)
    assert (world.have["a"], world.have["c"]) == ({"foo": [0, 1]}, {"foo": [2, 3]})
    assert world.group.classic_member_ids() == ["c"]


def test_it_is_told_to_join_again_when_there_is_something_to_learn(world: MixedWorld) -> None:
    with_both(world)
    assert world.classic_beat("c") == codes.NONE
    world.join("b", "foo")
    assert world.classic_beat("c") == codes.REBALANCE_IN_PROGRESS
    assert world.classic_sync("c") == codes.REBALANCE_IN_PROGRESS
    for _ in range(3):
        world.settle("a", "b")
        world.classic_settle("c", "foo")
    assert sorted(len(have.get("foo", [])) for have in world.have.values()) == [1, 1, 2]


def test_a_classic_member_that_does_not_come_when_called_is_out(world: MixedWorld) -> None:
    with_both(world)
    world.join("b", "foo")
    world.classic_beat("c")
    for _ in range(REBALANCE_MS // 5_000):
        assert "c" in world.group.members
        world.pass_ms(5_000)
        world.beat("a")
        world.beat("b")
        world.classic_beat("c")
    assert "c" not in world.group.members


def test_a_classic_session_ends_by_its_own_timeout(world: MixedWorld) -> None:
    with_both(world)
    world.pass_ms(SESSION_MS)
    assert list(world.group.members) == ["a"]


def test_who_joins_and_never_syncs_is_out(world: MixedWorld) -> None:
    world.join("a", "foo")
    world.classic_join("c", "foo")
    for _ in range(REBALANCE_MS // 5_000):
        world.pass_ms(5_000)
        world.beat("a")
        world.classic_beat("c")
    assert list(world.group.members) == ["a"]


def test_errors_of_classic_members(world: MixedWorld) -> None:
    with_both(world)
    assert world.classic_beat("c", 99) == codes.ILLEGAL_GENERATION
    assert world.classic_beat("nobody", 1) == codes.UNKNOWN_MEMBER_ID
    assert world.classic_beat("a") == codes.UNKNOWN_MEMBER_ID
    assert world.classic_sync("c", 99) == codes.ILLEGAL_GENERATION
    assert world.classic_join("", "foo", needs_id=True) == {"error_code": codes.MEMBER_ID_REQUIRED, "member_id": "made"}
    assert world.classic_join("x", "foo", protocols=("mine",)) == {"error_code": codes.INCONSISTENT_GROUP_PROTOCOL}
    world.settings = Settings(max_size=2)
    assert world.classic_join("x", "foo") == {"error_code": codes.GROUP_MAX_SIZE_REACHED}


def test_leaving_by_member_and_by_instance_id(world: MixedWorld) -> None:
    world.join("a", "foo")
    world.classic_join("", "foo", made_id="s", instance_id="i")
    decision, results = classic_members.leave(world.group, [("a", None), ("", "other"), ("", "i")], world.moment)
    world.carry_out(decision)
    assert results == [codes.UNKNOWN_MEMBER_ID, codes.UNKNOWN_MEMBER_ID, codes.NONE]
    assert list(world.group.members) == ["a"]


# --- downgrade ------------------------------------------------------------------------------------------------------


def test_the_last_consumer_leaves_a_classic_group_behind(world: MixedWorld) -> None:
    with_both(world)
    decision = removal.remove(world.group, ["a"], world.moment)
    assert decision.must_rebalance
    metadata = decision.successor
    assert metadata is not None
    assert (metadata.protocol_type, metadata.protocol_name, metadata.leader_id) == ("consumer", "range", "c")
    assert metadata.generation_id == world.group.epoch
    (member,) = metadata.members
    assert (member.member_id, member.session_timeout_ms, assignment_of(member.assignment)) == (
        "c",
        SESSION_MS,
        {"foo": [2, 3]},
    )
    *gone, (key, value) = decision.records
    assert all(end is None for _, end in gone)
    assert value is not None
    assert records.kind_of(key) == GROUP_METADATA
    for item in gone:
        world.group.apply(*records.decode(*item))
    assert world.group.is_removed
    assert not world.group.members


@pytest.mark.parametrize("settings", [Settings(migration_policy="upgrade"), Settings(classic_max_size=0)])
def test_a_downgrade_may_be_forbidden(world: MixedWorld, settings: Settings) -> None:
    with_both(world)
    world.settings = settings
    decision = removal.remove(world.group, ["a"], world.moment)
    assert decision.successor is None
    world.carry_out(decision)
    assert list(world.group.members) == ["c"]


def test_a_static_member_that_comes_back_classic_downgrades_its_group(world: MixedWorld) -> None:
    world.join("a", "foo", instance_id="i")
    response = world.classic_join("", "foo", made_id="a2", instance_id="i")
    assert (response["error_code"], response["member_id"]) == (codes.NONE, "a2")
    assert [member.member_id for member in world.successor.members] == ["a2"]
    assert world.successor.generation_id == response["generation_id"]
    for key, value in world.ended[:-1]:
        world.group.apply(*records.decode(key, value))
    assert world.group.is_removed
    assert not world.group.members


# --- upgrade --------------------------------------------------------------------------------------------------------


def classic_group(assignments: dict[str, dict[str, list[int]]], user_data: bytes | None = None) -> Group:
    """A stable classic group whose leader has assigned so."""
    group = Group("flights", 0, 100)
    for member_id in assignments:
        group.join(JoinAttempt(member_id, "", None, member_id, profile(("foo",), {})), 0)
    for member_id in assignments:
        if group.state == "PreparingRebalance":
            group.join(JoinAttempt(member_id, member_id, None, "", profile(("foo",), {})), 0)
    given = {
        member_id: CONSUMER_PROTOCOL_ASSIGNMENT.encode(
            0,
            {
                "assigned_partitions": [{"topic": topic, "partitions": held} for topic, held in have.items()],
                "user_data": user_data,
            },
        )
        for member_id, have in assignments.items()
    }
    leader = group.leader_id
    assert leader is not None
    for effect in group.sync(SyncAttempt(None, leader, None, group.generation_id, given, None, None), 0):
        if isinstance(effect, Persist):
            group.on_persisted(effect.event, codes.NONE, 0)
        else:
            assert not isinstance(effect, Reply) or effect.fields["error_code"] == codes.NONE
    assert group.state == "Stable"
    return group


def test_a_classic_group_becomes_a_consumer_group(world: MixedWorld) -> None:
    classic = classic_group({"x": {"foo": [0, 1]}, "y": {"foo": [2, 3], "gone": [0]}})
    world.group, written = migration.upgrade(classic, world.moment)
    assert written[0] == group_metadata_tombstone("flights")
    world.log = written[1:]
    world.check()
    assert world.group.epoch == world.group.assignment_epoch == classic.generation_id
    assert world.group.state == "Stable"
    assert sorted(world.group.classic_member_ids()) == ["x", "y"]
    world.have = {"x": {"foo": [0, 1]}, "y": {"foo": [2, 3]}}
    world.epochs = dict.fromkeys(("x", "y"), classic.generation_id)
    world.join("a", "foo")
    for _ in range(4):
        world.classic_settle("x", "foo")
        world.classic_settle("y", "foo")
        world.settle("a")
    assert sorted(len(have.get("foo", [])) for have in world.have.values()) == [1, 1, 2]
    assert world.group.state == "Stable"


def test_a_partition_that_a_leader_gave_twice_has_one_owner(world: MixedWorld) -> None:
    world.group, written = migration.upgrade(classic_group({"x": {"foo": [0, 1]}, "y": {"foo": [1]}}), world.moment)
    world.log = written[1:]
    world.check()


@pytest.mark.parametrize(
    ("settings", "user_data", "words"),
    [
        (Settings(migration_policy="disabled"), None, "because online upgrade is disabled."),
        (Settings(max_size=1), None, "because the group size exceeds the consumer group maximum size."),
        (Settings(), b"mine", "because an unsupported custom assignor is in use."),
    ],
)
def test_an_upgrade_may_be_refused(world: MixedWorld, settings: Settings, user_data: bytes | None, words: str) -> None:
    world.settings = settings
    classic = classic_group({"x": {"foo": [0, 1]}, "y": {"foo": [2, 3]}}, user_data)
    with pytest.raises(errors.GroupIdNotFoundError, match=words):
        migration.upgrade(classic, world.moment)


def test_a_pattern_goes_with_the_member_that_had_it(world: MixedWorld) -> None:
    """A static member that comes back with the classic protocol has the topics that it names, and no others."""
    world.set_topics({"foo": 2, "bar": 2})
    world.join("a", instance_id="i", subscribed_topic_regex="foo|bar")
    world.resolve()
    world.settle("a")
    assert world.have["a"] == {"foo": [0, 1], "bar": [0, 1]}
    world.join("b", "bar")
    world.beat("a", -2, instance_id="i")
    answer = world.classic_join("", "foo", instance_id="i")
    assert not answer["error_code"], answer
    assert world.group.patterns == frozenset()
    assert world.group.targets["made"].keys() == {b"foo".ljust(16, b".")}
