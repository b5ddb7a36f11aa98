"""Members: the members of a classic group, their instance ids, the leader, and the vote for the protocol.

It counts the waiting members and the protocols that all support, so that a join costs the same in groups of any size.
It has no states and answers no requests.
"""

from __future__ import annotations

from kcore.coordinator.group import codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, ValuesView

    from kcore.coordinator.group.member import Member, MemberProfile


class Members:
    """Members by id, in the order in which they joined. A member is not added or removed while its JoinGroup waits.

    `pending_ids` are member ids that were assigned and not used yet (KIP-394). `owing_sync` are the members that have
    not sent the SyncGroup of this generation. `version` changes when a member is added or removed.
    """

    __slots__ = (
        "_by_id",
        "_static_ids",
        "_supporters",
        "_waiting",
        "leader_id",
        "owing_sync",
        "pending_ids",
        "version",
    )

    def __init__(self) -> None:
        self.leader_id: str | None = None
        self.pending_ids: set[str] = set()
        self.owing_sync: set[str] = set()
        self._by_id: dict[str, Member] = {}
        self._static_ids: dict[str, str] = {}  # instance id -> member id
        self._supporters: dict[str, int] = {}  # protocol -> number of members that support it
        self._waiting = 0
        self.version = 0

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __contains__(self, member_id: object) -> bool:
        return member_id in self._by_id

    def __getitem__(self, member_id: str) -> Member:
        return self._by_id[member_id]

    def get(self, member_id: str) -> Member | None:
        """The member with this id, or None."""
        return self._by_id.get(member_id)

    def values(self) -> ValuesView[Member]:
        """All members."""
        return self._by_id.values()

    # --- adding and removing ----------------------------------------------------------------------------------------

    def add(self, member: Member) -> None:
        """Adds a member. The first one becomes the leader."""
        self.pending_ids.discard(member.member_id)
        if self.leader_id is None:
            self.leader_id = member.member_id
        self._put(member)

    def remove(self, member_id: str) -> Member | None:
        """Removes a member or a pending id. Returns the member. If it was the leader, another member becomes it."""
        self.pending_ids.discard(member_id)
        self.owing_sync.discard(member_id)
        member = self._by_id.get(member_id)
        if member is not None:
            self._take(member)
            if self.leader_id == member_id:
                self.leader_id = next(iter(self._by_id), None)
        return member

    def replace(self, old: Member, new: Member) -> None:
        """Gives a static member another member id. It keeps the leadership and the owed SyncGroup."""
        self._take(old)
        self._put(new)
        if self.leader_id == old.member_id:
            self.leader_id = new.member_id
        if old.member_id in self.owing_sync:
            self.owing_sync.discard(old.member_id)
            self.owing_sync.add(new.member_id)

    def _put(self, member: Member) -> None:
        self.version += 1
        self._by_id[member.member_id] = member
        if member.group_instance_id is not None:
            self._static_ids[member.group_instance_id] = member.member_id
        self._count(member.profile, 1)

    def _take(self, member: Member) -> None:
        self.version += 1
        del self._by_id[member.member_id]
        if member.group_instance_id is not None:
            del self._static_ids[member.group_instance_id]
        self._count(member.profile, -1)

    def _count(self, profile: MemberProfile, change: int) -> None:
        for name in profile.protocol_names():
            self._supporters[name] = self._supporters.get(name, 0) + change
            if not self._supporters[name]:
                del self._supporters[name]

    # --- waiting for a generation -----------------------------------------------------------------------------------

    def describe_anew(self, member: Member, profile: MemberProfile) -> None:
        """Replaces the profile of a member that joined again."""
        self._count(member.profile, -1)
        member.profile = profile
        self._count(profile, 1)

    def wait_for_join(self, member: Member, token: object) -> object | None:
        """The member's JoinGroup waits. Returns the previous waiting request, which its client has abandoned."""
        earlier, member.awaiting_join = member.awaiting_join, token
        self._waiting += earlier is None
        return earlier

    def end_waiting_for_join(self, member: Member) -> object | None:
        """The member's JoinGroup does not wait any more. Returns that request, or None."""
        token, member.awaiting_join = member.awaiting_join, None
        self._waiting -= token is not None
        return token

    @property
    def waiting_count(self) -> int:
        """Number of members that wait for the next generation."""
        return self._waiting

    @property
    def all_joined(self) -> bool:
        """Whether all members wait for the next generation, and no pending ids are left."""
        return self._waiting == len(self._by_id) and not self.pending_ids

    def lead_by_someone_who_joined(self) -> bool:
        """Makes a member that waits for the next generation the leader. False if no member waits."""
        leader = self._by_id.get(self.leader_id or "")
        if leader is None or leader.awaiting_join is None:
            joined = next((member for member in self._by_id.values() if member.awaiting_join is not None), None)
            if joined is None:
                return False
            self.leader_id = joined.member_id
        return True

    @property
    def rebalance_timeout_ms(self) -> int:
        """The maximum of the members' rebalance timeouts."""
        return max((member.profile.rebalance_timeout_ms for member in self._by_id.values()), default=0)

    # --- protocols --------------------------------------------------------------------------------------------------

    def support_one_of(self, names: Iterable[str]) -> bool:
        """Whether all members support one of these protocols."""
        return any(self._supporters.get(name, 0) == len(self._by_id) for name in names)

    def choose_protocol(self) -> str:
        """The protocol with the most votes among those that all members support. The first vote wins a tie."""
        candidates = {name for name, count in self._supporters.items() if count == len(self._by_id)}
        votes: dict[str, int] = {}
        for member in self._by_id.values():
            choice = member.profile.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=votes.__getitem__)

    # --- identity ---------------------------------------------------------------------------------------------------

    def id_of_instance(self, group_instance_id: str | None) -> str | None:
        """The present member id of a static member."""
        return None if group_instance_id is None else self._static_ids.get(group_instance_id)

    def identity_error(self, member_id: str, group_instance_id: str | None) -> int:
        """The error code for a request's member id and instance id, which must belong together."""
        if group_instance_id is not None:
            current_id = self._static_ids.get(group_instance_id)
            if current_id is not None and current_id != member_id:
                return codes.FENCED_INSTANCE_ID
            if current_id is None:
                return codes.UNKNOWN_MEMBER_ID
        return codes.NONE if member_id in self._by_id else codes.UNKNOWN_MEMBER_ID
