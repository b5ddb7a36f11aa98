"""The decision on a member's request: subscription, group epoch, target, and the member's next assignment.

Heartbeats and JoinGroups of classic members take the same steps. A changed subscription or changed topics raise the
group epoch, a raised epoch requires a new target, and the member moves one step towards it.
"""

from __future__ import annotations

from kcore.coordinator.group.consumer import records, regular_expressions
from kcore.coordinator.group.consumer.group import REBALANCE, names_of, regexes_of
from kcore.coordinator.group.consumer.member import UNREVOKED_PARTITIONS
from kcore.coordinator.group.consumer.reconciliation import Reconciliation
from kcore.coordinator.group.consumer.subscription import topic_ids, topic_names
from kcore.coordinator.group.consumer.target import new_target
from kcore.coordinator.group.effects import StartTimer, StopTimer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.coordinator.group.consumer.assignors.subscriber import Assignment
    from kcore.coordinator.group.consumer.decision import Decision, Moment
    from kcore.coordinator.group.consumer.group import ConsumerGroup
    from kcore.coordinator.group.consumer.member import ConsumerMember
    from kcore.coordinator.group.consumer.reconciliation import ReportedPartitions


class Progress:
    """One request of one member. Adds records and timers to `decision`.

    `before` is the member in the group, or a new one. `after` has the request's values. `replaced_id` is the member
    whose instance id it takes over.
    """

    def __init__(
        self,
        group: ConsumerGroup,
        moment: Moment,
        decision: Decision,
        before: ConsumerMember,
        after: ConsumerMember,
        reported: ReportedPartitions | None,
        replaced_id: str | None = None,
    ) -> None:
        self._group = group
        self._moment = moment
        self._decision = decision
        self._before = before
        self._after = after
        self._reported = reported
        self._replaced_id = replaced_id
        # Most requests change nothing, and need nothing of the following.
        self._has_changed = after is not before or replaced_id is not None or after.member_id not in group.members

    def _members(self) -> dict[str, ConsumerMember]:
        """The members after this request."""
        members = {
            member_id: member for member_id, member in self._group.members.items() if member_id != self._replaced_id
        }
        members[self._after.member_id] = self._after
        return members

    def _target_before(self) -> Assignment:
        """The present target of the member, or of the member that it replaces."""
        return self._group.targets.get(self._replaced_id or self._after.member_id, {})

    def make(self) -> ConsumerMember:
        """The member after the request. Raises InvalidRegularExpressionError, FencedMemberEpochError."""
        group, before, after = self._group, self._before, self._after
        if self._has_changed and (before != after or after.member_id not in group.members):
            self._decision.records.append(records.member(group.group_id, after))
        have_names_changed = before.subscribed_topic_names != after.subscribed_topic_names
        has_regex_changed = (before.subscribed_topic_regex or "") != (after.subscribed_topic_regex or "")
        is_resolved = has_regex_changed and self._change_regex()
        if has_regex_changed or group.patterns:
            patterns = regexes_of(self._members().values()) if self._has_changed else group.patterns
            self._decision.regexes = regular_expressions.to_resolve(group, patterns, self._moment)
        epoch = self._raise_epoch(have_names_changed or is_resolved)
        epoch, target = self._update_target(epoch)
        return self._reconcile(epoch, target, have_names_changed or has_regex_changed)

    def _change_regex(self) -> bool:
        """Whether the member's new pattern is resolved already."""
        group, old, new = self._group, self._before.subscribed_topic_regex, self._after.subscribed_topic_regex
        if old and old in group.resolved_regexes and old not in regexes_of(self._members().values()):
            self._decision.records.append(records.regex_tombstone(group.group_id, old))
        if new and new not in group.patterns:
            regular_expressions.check(new, self._moment.settings.pattern_limits)
        return bool(new) and new in group.resolved_regexes

    def _raise_epoch(self, is_asked_for: bool) -> int:
        group = self._group
        names = group.subscribed_names
        if self._has_changed:
            names = names_of(self._members().values(), group.resolved_regexes)
        now = group.current_hash(names, self._moment.image)
        if not is_asked_for and now == group.metadata_hash:
            return group.epoch
        epoch = group.next_epoch
        self._decision.records.append(records.group_epoch(group.group_id, epoch, now))
        if group.has_partition_metadata:
            self._decision.records.append(records.partition_metadata_tombstone(group.group_id))
        return epoch

    def _update_target(self, epoch: int) -> tuple[int, Assignment]:
        group = self._group
        if epoch == group.assignment_epoch:
            return group.assignment_epoch, self._target_before()
        targets = dict(group.targets)
        targets[self._after.member_id] = self._target_before()
        changes, assigned = new_target(group, epoch, self._members(), targets, self._moment)
        self._decision.records += changes
        return epoch, assigned.get(self._after.member_id, {})

    def _reconcile(self, target_epoch: int, target: Assignment, has_subscription_changed: bool) -> ConsumerMember:
        group, after = self._group, self._after
        if after.is_reconciled_to(target_epoch) and not has_subscription_changed:
            return after
        subscribed = topic_ids(topic_names(after, group.resolved_regexes), self._moment.image)
        ours = (None, after.member_id, self._replaced_id)
        step = Reconciliation(
            after,
            target_epoch,
            target,
            self._reported,
            subscribed,
            lambda topic, partition: group.owner(topic, partition) in ours,
            has_subscription_changed,
        ).step()
        if step != after:
            self._decision.records.append(records.current(group.group_id, step))
            if not step.uses_classic_protocol:
                self._time_revocation(step)
        return step

    def _time_revocation(self, member: ConsumerMember) -> None:
        name = (REBALANCE, member.member_id)
        if member.state == UNREVOKED_PARTITIONS:
            self._decision.timers.append(StartTimer(name, member.rebalance_timeout_ms))
        else:
            self._decision.timers.append(StopTimer(name))
