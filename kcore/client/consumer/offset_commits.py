"""Commits and lookups of a group's offsets: OffsetCommit and OffsetFetch, for both group protocols. No I/O.

Commits are sent in the order of the calls. Each has the member id and generation from the time of its call. If a
response says that these are no longer valid, the commit fails, and the membership is informed. A commit with a deadline
is retried until then after retriable errors. One without (Kafka's commitAsync) is not retried, because a later commit
replaces it. Source: ConsumerCoordinator and CommitRequestManager of Kafka 4.
"""

from __future__ import annotations

from collections import deque

from kcore.client.consumer import codes
from kcore.client.consumer.broker_request import NEVER_MS, Backoff, BrokerRequest
from kcore.client.consumer.consumer_errors import CommitFailed, FencedInstance, RebalanceInProgress
from kcore.client.consumer.group_settings import GroupMetadata
from kcore.client.consumer.outcome import Outcome
from kcore.client.consumer.positions import OffsetAndMetadata
from kcore.client.errors import ClientTimeout, broker_error
from kcore.client.metadata.cluster import TopicPartition
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from kcore.client.consumer.coordinator_lookup import CoordinatorLookup
    from kcore.client.consumer.group_member import GroupMember
    from kcore.client.consumer.group_settings import GroupSettings
    from kcore.client.metadata.cluster import Node
    from kcore.protocol.message import Message

# First versions of OffsetFetch with a list of groups (KIP-709), and of OffsetCommit with member epochs (KIP-848) and
# with static members.
FIRST_FETCH_OF_MANY = 8
FIRST_COMMIT_WITH_EPOCH = 9
FIRST_STATIC_COMMIT = 7
# First version of OffsetFetch that can wait for the offsets of open transactions (KIP-447).
FIRST_STABLE_FETCH = 7
RETRIED = frozenset(
    {
        codes.COORDINATOR_LOAD_IN_PROGRESS,
        codes.REQUEST_TIMED_OUT,
        *codes.COORDINATOR_LOST,
    }
)
MEMBER_IS_OVER = frozenset(
    {codes.UNKNOWN_MEMBER_ID, codes.ILLEGAL_GENERATION, codes.FENCED_MEMBER_EPOCH, codes.STALE_MEMBER_EPOCH}
)


class Commit:
    """One commit. `deadline_ms` is None for an asynchronous one."""

    __slots__ = ("deadline_ms", "member", "offsets", "outcome", "retry_ms")

    def __init__(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], member: GroupMetadata, deadline_ms: float | None
    ) -> None:
        self.offsets = dict(offsets)
        self.member = member
        self.deadline_ms = deadline_ms
        self.retry_ms = 0.0
        self.outcome: Outcome[None] = Outcome()


class OffsetLookup:
    """One lookup of committed offsets."""

    __slots__ = ("deadline_ms", "outcome", "partitions", "retry_ms")

    def __init__(self, partitions: tuple[TopicPartition, ...], deadline_ms: float) -> None:
        self.partitions = partitions
        self.deadline_ms = deadline_ms
        self.retry_ms = 0.0
        self.outcome: Outcome[dict[TopicPartition, OffsetAndMetadata | None]] = Outcome()


class OffsetCommits:
    """`membership` is None if the consumer commits to a group without being a member of it."""

    def __init__(self, settings: GroupSettings, lookup: CoordinatorLookup, *, has_member_epochs: bool = False) -> None:
        self._settings = settings
        self._lookup = lookup
        self._has_member_epochs = has_member_epochs
        self._backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        self._commits: deque[Commit] = deque()
        self._sent: list[Commit] = []
        self._lookups: list[OffsetLookup] = []
        self.membership: GroupMember | None = None

    # Calls

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        deadline_ms: float | None,
    ) -> Outcome[None]:
        """Commit offsets; with a deadline, retry until then. Without a membership, the commit has no member id."""
        member = GroupMetadata(self._settings.group_id)
        outcome: Outcome[None] = Outcome()
        if self.membership is not None:
            member = self.membership.group_metadata
            if not self.membership.can_commit:
                in_between = self.membership.is_rebalancing
                group_id = self._settings.group_id
                outcome.fail(RebalanceInProgress(group_id) if in_between else CommitFailed(group_id))
                return outcome
        if not offsets:
            outcome.complete(None)
            return outcome
        commit = Commit(offsets, member, deadline_ms)
        self._commits.append(commit)
        return commit.outcome

    def fetch(self, partitions: Iterable[TopicPartition], deadline_ms: float) -> Outcome[Any]:
        """Look up the committed offset of each partition; None if there is none."""
        lookup = OffsetLookup(tuple(partitions), deadline_ms)
        if lookup.partitions:
            self._lookups.append(lookup)
        else:
            lookup.outcome.complete({})
        return lookup.outcome

    @property
    def has_unanswered(self) -> bool:
        return bool(self._commits or self._sent)

    # Time

    def poll(self, now_ms: float) -> list[BrokerRequest]:
        self._expire(now_ms)
        if self._commits or self._lookups:
            self._lookup.is_wanted = True
        node = self._lookup.node
        if node is None:
            if self._lookup.error is not None:
                self._fail_all(self._lookup.error)
            return []
        requests = []
        for lookup in [lookup for lookup in self._lookups if lookup.retry_ms <= now_ms]:
            lookup.retry_ms = NEVER_MS
            requests.append(self._fetch_request(lookup, node))
        while self._commits and self._commits[0].retry_ms <= now_ms:
            # A synchronous commit waits for all earlier ones, so that no older offset overwrites it.
            if self._commits[0].deadline_ms is not None and self._sent:
                break
            commit = self._commits.popleft()
            self._sent.append(commit)
            requests.append(self._commit_request(commit, node))
        return requests

    def wake_ms(self) -> float:
        times = [lookup.deadline_ms for lookup in self._lookups]
        times += [commit.deadline_ms for commit in self._commits if commit.deadline_ms is not None]
        if self._lookup.node is not None:
            times += [lookup.retry_ms for lookup in self._lookups]
            if self._commits and not (self._commits[0].deadline_ms is not None and self._sent):
                times.append(self._commits[0].retry_ms)
        return min(times, default=NEVER_MS)

    def _expire(self, now_ms: float) -> None:
        for lookup in [lookup for lookup in self._lookups if lookup.deadline_ms <= now_ms]:
            self._lookups.remove(lookup)
            names = ", ".join(map(str, lookup.partitions[:5]))
            lookup.outcome.fail(ClientTimeout(f"no committed offsets of {names} in time"))
        for commit in [c for c in self._commits if c.deadline_ms is not None and c.deadline_ms <= now_ms]:
            self._commits.remove(commit)
            commit.outcome.fail(
                ClientTimeout(f"group {self._settings.group_id}: the commit was not acknowledged in time")
            )

    def _fail_all(self, error: Exception) -> None:
        lookups, self._lookups = self._lookups, []
        commits, self._commits = self._commits, deque()
        for lookup in lookups:
            lookup.outcome.fail(error)
        for commit in commits:
            commit.outcome.fail(error)

    # Commits

    def _commit_request(self, commit: Commit, node: Node) -> BrokerRequest:
        topics: dict[str, list[dict[str, Any]]] = {}
        for partition, offset in commit.offsets.items():
            row = {
                "partition_index": partition.partition,
                "committed_offset": offset.offset,
                "committed_leader_epoch": offset.leader_epoch,
                "committed_metadata": offset.metadata,
            }
            topics.setdefault(partition.topic, []).append(row)
        fields = {
            "group_id": self._settings.group_id,
            "generation_id_or_member_epoch": commit.member.generation_id,
            "member_id": commit.member.member_id,
            "group_instance_id": commit.member.group_instance_id,
            "topics": [{"name": topic, "partitions": rows} for topic, rows in topics.items()],
        }

        def answered(response: Message | None, error: Exception | None, now_ms: float) -> None:
            self._sent.remove(commit)
            self._committed(commit, node, response, error, now_ms)

        min_version = None
        if self._has_member_epochs and commit.member.member_id:
            min_version = FIRST_COMMIT_WITH_EPOCH
        elif commit.member.group_instance_id is not None:
            min_version = FIRST_STATIC_COMMIT
        return BrokerRequest(
            apis.OFFSET_COMMIT, lambda version: fields, node, answered, min_version=min_version, max_version=9
        )

    def _committed(
        self, commit: Commit, node: Node, response: Message | None, error: Exception | None, now_ms: float
    ) -> None:
        if response is None:
            self._lookup.lost(node)
            self._repeat(commit, error or ClientTimeout("the broker has not answered a commit in time"), now_ms)
            return
        refused = [
            (TopicPartition(topic.name, partition.partition_index), partition.error_code)
            for topic in response.topics
            for partition in topic.partitions
            if partition.error_code != codes.NONE
        ]
        if not refused:
            self._backoff.succeeded()
            commit.outcome.complete(None)
            return
        # An error that cannot be retried takes precedence.
        partition, code = min(refused, key=lambda entry: entry[1] in RETRIED)
        if code in codes.COORDINATOR_LOST or code == codes.REQUEST_TIMED_OUT:
            self._lookup.lost(node)
        self._refused(commit, partition, code, now_ms)

    def _refused(self, commit: Commit, partition: TopicPartition, code: int, now_ms: float) -> None:
        group_id = self._settings.group_id
        if code in RETRIED:
            self._repeat(commit, broker_error(code, f"group {group_id}, partition {partition}"), now_ms)
            return
        membership = self.membership
        if code == codes.STALE_MEMBER_EPOCH and membership is not None and membership.can_commit:
            # The member's epoch changed while the commit was in flight. It is still the same member (KIP-848).
            newer = membership.group_metadata
            if newer.member_id == commit.member.member_id and newer.generation_id > commit.member.generation_id:
                commit.member = newer
                self._repeat(commit, CommitFailed(group_id), now_ms)
                return
        if membership is not None and (
            code in MEMBER_IS_OVER or code in (codes.REBALANCE_IN_PROGRESS, codes.FENCED_INSTANCE_ID)
        ):
            membership.commit_refused(commit.member, code)
        if code == codes.REBALANCE_IN_PROGRESS:
            commit.outcome.fail(RebalanceInProgress(group_id))
        elif code == codes.FENCED_INSTANCE_ID:
            commit.outcome.fail(FencedInstance(group_id, commit.member.group_instance_id))
        elif code in MEMBER_IS_OVER:
            commit.outcome.fail(CommitFailed(group_id))
        else:
            commit.outcome.fail(broker_error(code, f"group {group_id}, partition {partition}"))

    def _repeat(self, commit: Commit, error: Exception, now_ms: float) -> None:
        self._backoff.failed(now_ms)
        if commit.deadline_ms is None or commit.deadline_ms <= self._backoff.until_ms:
            commit.outcome.fail(error)
        else:
            commit.retry_ms = self._backoff.until_ms
            self._commits.appendleft(commit)

    # Lookups

    def _fetch_request(self, lookup: OffsetLookup, node: Node) -> BrokerRequest:
        topics: dict[str, list[int]] = {}
        for topic, number in lookup.partitions:
            topics.setdefault(topic, []).append(number)
        rows = [{"name": topic, "partition_indexes": numbers} for topic, numbers in topics.items()]
        member = self.membership.group_metadata if self.membership is not None else None

        def fields(version: int) -> Mapping[str, Any]:
            group: dict[str, Any] = {"group_id": self._settings.group_id, "topics": rows}
            if version < FIRST_FETCH_OF_MANY:
                return {**group, "require_stable": True} if version >= FIRST_STABLE_FETCH else group
            if version > FIRST_FETCH_OF_MANY and self._has_member_epochs and member is not None and member.member_id:
                group |= {"member_id": member.member_id, "member_epoch": member.generation_id}
            return {"groups": [group], "require_stable": True}

        def answered(response: Message | None, error: Exception | None, now_ms: float) -> None:
            if lookup in self._lookups:
                self._fetched(lookup, node, response, now_ms)

        return BrokerRequest(apis.OFFSET_FETCH, fields, node, answered, max_version=9)

    def _fetched(self, lookup: OffsetLookup, node: Node, response: Message | None, now_ms: float) -> None:
        group = response.groups[0] if response is not None and getattr(response, "groups", None) else response
        code = codes.NETWORK_EXCEPTION if group is None else getattr(group, "error_code", codes.NONE)
        found: dict[TopicPartition, OffsetAndMetadata | None] = dict.fromkeys(lookup.partitions)
        where = f"group {self._settings.group_id}"
        for topic in group.topics if group is not None else ():
            for entry in topic.partitions:
                partition = TopicPartition(topic.name, entry.partition_index)
                if entry.error_code:
                    code = code or entry.error_code
                    where = f"group {self._settings.group_id}, partition {partition}"
                elif entry.committed_offset >= 0:
                    epoch = getattr(entry, "committed_leader_epoch", -1)
                    found[partition] = OffsetAndMetadata(entry.committed_offset, entry.metadata or "", epoch)
        if code == codes.NONE:
            self._lookups.remove(lookup)
            self._backoff.succeeded()
            lookup.outcome.complete(found)
            return
        if group is None or code in codes.COORDINATOR_LOST:
            self._lookup.lost(node)
        is_out = code == codes.UNKNOWN_MEMBER_ID and self.membership is not None
        if self.membership is not None and is_out:
            # The member joins again. The lookup is retried with its new identity.
            self.membership.commit_refused(self.membership.group_metadata, code)
        passing = (codes.NETWORK_EXCEPTION, codes.UNSTABLE_OFFSET_COMMIT, codes.STALE_MEMBER_EPOCH)
        if is_out or code in passing or code in codes.COORDINATOR_LOST or code == codes.COORDINATOR_LOAD_IN_PROGRESS:
            self._backoff.failed(now_ms)
            lookup.retry_ms = self._backoff.until_ms
            return
        self._lookups.remove(lookup)
        lookup.outcome.fail(broker_error(code, where))
