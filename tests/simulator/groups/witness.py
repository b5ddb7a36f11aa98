"""What clients were told, held against what must hold; every method raises AssertionError where it does not.

8   a partition has one owner a generation, and only that one's commits are taken
9   committed offsets never go back, and a coordinator that starts anew has every one that was acknowledged
    one leader a generation and life of the coordinator; what is assigned was kept before it was told
    no request is lost: whatever waits is known to a group, which will answer it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kcore.coordinator.group import records
from kcore.coordinator.group.rebalancing import COMPLETING_REBALANCE, DEAD, EMPTY, STABLE, RebalancingGroup
from kcore.coordinator.group.records import GroupMetadata
from tests.simulator.groups.service import TOPIC, Service


class Witness:
    """Of one group."""

    def __init__(self, group_id: str, service: Service) -> None:
        self.group_id = group_id
        self.service = service
        self.owners: dict[tuple[int, int], str] = {}
        self.leaders: dict[tuple[int, int], str] = {}
        self.committed: dict[int, int] = {}
        self.assignments_told = 0
        self._generation = (0, 0)  # life, generation
        self._key = records.group_metadata_key(group_id)
        self._kept: tuple[bytes | None, GroupMetadata | None] = (None, None)

    # --- what clients are told --------------------------------------------------------------------------------------

    def leads(self, identity: str, generation: int) -> None:
        """A member is told that it is to assign."""
        place = (self.service.life.number, generation)
        leader = self.leaders.setdefault(place, identity)
        assert leader == identity, f"two leaders, {leader} and {identity}, of generation {generation}"

    def assigns(self, identity: str, member_id: str, generation: int, partitions: Sequence[int], raw: bytes) -> None:
        """A member's SyncGroup is being answered."""
        self.assignments_told += 1
        kept = self.kept
        assert kept is not None, "an assignment was told that is not kept"
        assert kept.generation_id == generation, f"generation {generation} was told, {kept.generation_id} is kept"
        assignments = {row.member_id: row.assignment for row in kept.members}
        assert assignments.get(member_id) == raw, f"{member_id} was told {raw!r}, and kept is {assignments}"
        for partition in partitions:
            owner = self.owners.setdefault((generation, partition), identity)
            assert owner == identity, f"{partition} belongs to {owner} and {identity} in generation {generation}"

    def commits(self, identity: str, generation: int, offsets: Mapping[int, int]) -> None:
        """A commit was taken."""
        for partition, offset in offsets.items():
            owner = self.owners.get((generation, partition))
            assert owner == identity, f"{identity} committed {partition}, which is {owner}'s in {generation}"
            before = self.committed.get(partition, 0)
            assert offset >= before, f"the committed offset of {partition} went back from {before} to {offset}"
            self.committed[partition] = offset

    # --- what the coordinator has -----------------------------------------------------------------------------------

    @property
    def group(self) -> RebalancingGroup | None:
        """The group as the coordinator has it."""
        group = self.service.life.shard.groups.get(self.group_id)
        assert group is None or isinstance(group, RebalancingGroup)
        return group

    @property
    def kept(self) -> GroupMetadata | None:
        """The group as a restart would have it."""
        value = self.service.log.latest.get(self._key)
        if value is not self._kept[0]:
            self._kept = (value, None if value is None else records.decode_group_metadata_value(value))
        return self._kept[1]

    def began_again(self) -> None:
        """A coordinator has read its log. There may be a commit more, the last act before it died."""
        read_back = self.service.committed(self.group_id)
        assert read_back is not None
        for partition, offset in self.committed.items():
            assert read_back.get(partition, -1) >= offset, f"the acknowledged offset of {partition} is lost"
        self.committed = read_back
        kept, group = self.kept, self.group
        if kept is not None:
            assert group is not None
            assert group.generation_id == kept.generation_id
            assert {member.member_id: member.assignment for member in group.members.values()} == {
                row.member_id: row.assignment for row in kept.members
            }

    def cleaned_up(self, was_empty: bool) -> None:
        """What expired was removed; nothing does while somebody is in the group. A group that ended may begin again."""
        left = self.service.committed(self.group_id)
        if left is None:
            # It is not here, or died of it: the tombstones may have been its last act.
            if self.service.life.is_over and was_empty:
                self._take_what_the_log_has()
            return
        assert was_empty or left == self.committed, "offsets of a group with members expired"
        assert left.items() <= self.committed.items()
        self.committed = left
        if self.group is None:
            assert was_empty, "a group with members was removed"
            assert self.kept is None, "a restart would have a group that was removed"
            self._begin_anew()

    def _take_what_the_log_has(self) -> None:
        latest = self.service.log.latest
        keys = {partition: records.offset_commit_key(self.group_id, (TOPIC, partition)) for partition in self.committed}
        self.committed = {
            partition: offset for partition, offset in self.committed.items() if latest.get(keys[partition]) is not None
        }
        if self.kept is None:
            self._begin_anew()

    def _begin_anew(self) -> None:
        """There is no such group any more: one of its name is another."""
        self.owners.clear()
        self.leaders.clear()
        self._generation = (0, 0)

    def look(self) -> None:
        """After every step."""
        life, group = self.service.life, self.group
        if life.is_over or group is None:
            return
        assert (life.number, group.generation_id) >= self._generation, "the generation went back"
        self._generation = (life.number, group.generation_id)
        members = group.members
        joins = {member.awaiting_join for member in members.values()} - {None}
        syncs = {member.awaiting_sync for member in members.values()} - {None}
        assert life.waiting == joins | syncs, "a request waits that no member knows of"
        assert members.waiting_count == len(joins)
        assert group.state != DEAD
        assert group.state != EMPTY or not members
        assert not syncs or group.state == COMPLETING_REBALANCE, "a sync waits for nobody"
        if group.state == STABLE:
            kept = self.kept
            assert kept is not None
            assert (kept.generation_id, kept.leader_id) == (group.generation_id, group.leader_id)
            assert {row.member_id for row in kept.members} == set(members), "a restart would have other members"
        if group.state in (COMPLETING_REBALANCE, STABLE):
            assert group.leader_id in members
            assert not joins, "a join waits for a generation that is there"
