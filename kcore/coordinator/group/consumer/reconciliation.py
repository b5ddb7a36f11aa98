"""A member's steps from its present assignment to its target (KIP-848, Kafka's `CurrentAssignmentBuilder`).

    Stable, and a target of a newer epoch  --> Unrevoked: same epoch; the member first revokes what the target takes
    away Unrevoked, and the member has revoked  --> the newest target, as if from Stable nothing to revoke
    --> the target's epoch, with every partition that is free: Stable if these are
                                               all, else Unreleased until other members revoke theirs
    a changed subscription, in any epoch   --> partitions of unsubscribed topics are revoked at once

So no member gets a partition that another member may still use, and a member's epoch only changes when it has revoked
all partitions that the new target takes away.
"""

from __future__ import annotations

from kcore import errors
from kcore.coordinator.group.consumer.member import (
    STABLE,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from kcore.coordinator.group.consumer.assignors.subscriber import Assignment
    from kcore.coordinator.group.consumer.member import ConsumerMember, OwnedPartitions

# The partitions by topic id that a member reports; None if the request has none.
if TYPE_CHECKING:
    ReportedPartitions = Mapping[bytes, Collection[int]]


class Reconciliation:
    """One step of one member.

    `is_free(topic_id, partition)`: no other member owns the partition. `subscribed` are the ids of the member's topics.
    `has_subscription_changed`: they changed with this request.
    """

    __slots__ = ("has_subscription_changed", "is_free", "member", "reported", "subscribed", "target", "target_epoch")

    def __init__(
        self,
        member: ConsumerMember,
        target_epoch: int,
        target: Assignment,
        reported: ReportedPartitions | None,
        subscribed: Collection[bytes],
        is_free: Callable[[bytes, int], bool],
        has_subscription_changed: bool = False,
    ) -> None:
        self.member = member
        self.target_epoch = target_epoch
        self.target = target
        self.reported = reported
        self.subscribed = subscribed
        self.is_free = is_free
        self.has_subscription_changed = has_subscription_changed

    def step(self) -> ConsumerMember:
        """The member after this request: the same object when nothing changes. Raises FencedMemberEpochError."""
        member = self.member
        if member.state == STABLE:
            if member.member_epoch != self.target_epoch:
                return self._toward_target(member.member_epoch)
            return self._within_subscription() if self.has_subscription_changed else member
        if member.state == UNREVOKED_PARTITIONS:
            if self._still_has(member.pending_revocation):
                return self._within_subscription() if self.has_subscription_changed else member
            # After a changed subscription there may be no newer target yet.
            return self._toward_target(min(member.member_epoch + 1, self.target_epoch))
        if member.state == UNRELEASED_PARTITIONS:
            return self._toward_target(member.member_epoch)
        if self.reported is None or any(self.reported.values()):
            raise errors.FencedMemberEpochError(
                "The consumer group member is in a unknown state. "
                "The member must abandon all its partitions and rejoin."
            )
        return self._toward_target(self.target_epoch)

    def _still_has(self, revoked: OwnedPartitions) -> bool:
        """Whether the member may still own some of these partitions. Without a report it may own all of them."""
        if self.reported is None:
            return True
        return any(partition in revoked.get(topic, ()) for topic, have in self.reported.items() for partition in have)

    def _within_subscription(self) -> ConsumerMember:
        """Revokes partitions of topics that the member no longer subscribes to."""
        member = self.member
        revoked = {topic: held for topic, held in member.assigned.items() if topic not in self.subscribed}
        if not revoked:
            return member
        assigned = {topic: held for topic, held in member.assigned.items() if topic in self.subscribed}
        pending = {topic: dict(held) for topic, held in member.pending_revocation.items()}
        for topic, held in revoked.items():
            pending.setdefault(topic, {}).update(held)
        if self._still_has(pending):
            return member.replaced(state=UNREVOKED_PARTITIONS, assigned=assigned, pending_revocation=pending)
        return member.replaced(assigned=assigned)

    def _toward_target(self, epoch: int) -> ConsumerMember:
        member = self.member
        kept: dict[bytes, dict[int, int]] = {}
        revoked: dict[bytes, dict[int, int]] = {}
        added: dict[bytes, list[int]] = {}
        has_unreleased = False
        for topic in {*self.target, *member.assigned}:
            target = self.target.get(topic, frozenset()) if topic in self.subscribed else frozenset()
            for partition, since in member.assigned.get(topic, {}).items():
                (kept if partition in target else revoked).setdefault(topic, {})[partition] = since
            for partition in sorted(target - member.assigned.get(topic, {}).keys()):
                if self.is_free(topic, partition) or partition in member.pending_revocation.get(topic, ()):
                    added.setdefault(topic, []).append(partition)
                else:
                    has_unreleased = True
        if revoked and self._still_has(revoked):
            return member.at_epoch(epoch, state=UNREVOKED_PARTITIONS, assigned=kept, pending_revocation=revoked)
        for topic, partitions in added.items():
            kept.setdefault(topic, {}).update(dict.fromkeys(partitions, self.target_epoch))
        state = UNRELEASED_PARTITIONS if has_unreleased else STABLE
        return member.at_epoch(self.target_epoch, state=state, assigned=kept, pending_revocation={})
