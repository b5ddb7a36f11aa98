"""OffsetManager: a shard's committed offsets: permissions, reads, deletions, expiry (Kafka's `OffsetMetadataManager`).

Concurrency: every event takes the shard's lock, except the methods at the end, which the shard calls under its lock.
"""

from __future__ import annotations

from kcore.coordinator.group import codes
from kcore.coordinator.group.offset_expiry import expired_places
from kcore.coordinator.group.offset_store import OffsetStore
from kcore.coordinator.group.state import Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kcore.coordinator.group.committer import Committer
    from kcore.coordinator.group.consumer.group import ConsumerGroup
    from kcore.coordinator.group.group_log import GroupLog
    from kcore.coordinator.group.offset_store import Commits, Results
    from kcore.coordinator.group.offsets import CommittedOffset, Offsets, TopicPartition
    from kcore.coordinator.group.records import Pair
    from kcore.coordinator.group.shard_interface import ShardInterface
    from kcore.coordinator.group.surroundings import Surroundings

LAST_OFFSET = 2**63 - 1


class OffsetManager:
    """The part of a shard that serves offsets."""

    __slots__ = ("_shard", "_store", "_surroundings")

    def __init__(self, shard: ShardInterface, surroundings: Surroundings) -> None:
        self._shard = shard
        self._surroundings = surroundings
        self._store: OffsetStore | None = None

    def open(self, log: GroupLog, offsets: Offsets) -> None:
        """Starts to serve. Called under the shard's lock."""
        self._store = OffsetStore(log, offsets, self._surroundings.max_metadata_length)

    @property
    def _written(self) -> OffsetStore:
        """The offsets and their log, which exist while the shard's `error` is 0."""
        assert self._store is not None
        return self._store

    # --- committing -------------------------------------------------------------------------------------------------

    def commit(self, group_id: str, committer: Committer, commits: Commits, retention_time_ms: int) -> Results:
        """OffsetCommit: an error code for each partition."""
        with self._shard.lock:
            allowed, refused = self._allowed(group_id, committer, commits)
            if not allowed:
                return refused
            now_ms = self._surroundings.wall_clock_ms()
            results = self._written.commit(group_id, allowed, retention_time_ms, now_ms)
            self._committed(group_id, results)
            return results | refused

    def commit_transactional(
        self, group_id: str, committer: Committer, commits: Commits, producer_id: int, producer_epoch: int
    ) -> Results:
        """TxnOffsetCommit: an error code for each partition."""
        with self._shard.lock:
            allowed, refused = self._allowed(group_id, committer, commits)
            if not allowed:
                return refused
            now_ms = self._surroundings.wall_clock_ms()
            store = self._written
            results = store.commit_transactional(group_id, allowed, producer_id, producer_epoch, now_ms)
            self._committed(group_id, results)
            return results | refused

    def _allowed(self, group_id: str, committer: Committer, commits: Commits) -> tuple[Commits, Results]:
        """The permitted commits, and an error code for each other partition."""
        group = self._shard.groups.get(group_id)
        if self._shard.error:
            return {}, dict.fromkeys(commits, self._shard.error)
        if group is not None and not isinstance(group, Group):
            from kcore.coordinator.group.consumer.commits import commit_errors

            refused = commit_errors(group, committer, commits, self._surroundings.image)
            if committer.is_transactional:
                # Transactional producers have no member epochs.
                refused = {
                    place: codes.ILLEGAL_GENERATION if error == codes.STALE_MEMBER_EPOCH else error
                    for place, error in refused.items()
                }
            return {place: commits[place] for place in commits if place not in refused}, refused
        error = self._commit_error(group_id, group, committer)
        return ({}, dict.fromkeys(commits, error)) if error else (commits, {})

    def _commit_error(self, group_id: str, group: Group | None, committer: Committer) -> int:
        if group is not None:
            self._shard.sessions.catch_up(group, committer.member_id)
            return group.commit_error(
                committer.member_id,
                committer.group_instance_id,
                committer.generation_id,
                self._surroundings.clock_ms(),
                committer.is_transactional,
                committer.is_connected,
            )
        if committer.generation_id < 0:
            # The client manages its partitions itself and only stores offsets.
            return codes.NONE
        return codes.GROUP_ID_NOT_FOUND if committer.knows_epochs else codes.ILLEGAL_GENERATION

    def _committed(self, group_id: str, results: Results) -> None:
        """Creates the group of new offsets: it is listed, and its offsets expire."""
        self._surroundings.counts.count_commits(sum(not error for error in results.values()))
        if group_id not in self._shard.groups and self._written.offsets.has_any(group_id):
            self._shard.make_classic(group_id)

    def complete_transaction(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, is_commit: bool
    ) -> int:
        """WriteTxnMarkers of one producer: writes the marker and commits or drops its offsets. The error code."""
        with self._shard.lock:
            if self._shard.error:
                return self._shard.error
            now_ms = self._surroundings.wall_clock_ms()
            store = self._written
            return store.complete_transaction(producer_id, producer_epoch, coordinator_epoch, is_commit, now_ms)

    def fetch(
        self,
        group_id: str,
        places: Iterable[TopicPartition] | None,
        require_stable: bool,
        member_id: str | None,
        member_epoch: int,
    ) -> tuple[int, dict[TopicPartition, CommittedOffset], set[TopicPartition]]:
        """OffsetFetch: an error code, the offsets (of `places`, or all), and the partitions with open transactions."""
        with self._shard.lock:
            group = self._shard.groups.get(group_id)
            error = self._shard.error
            if group is not None and not error:
                error = group.offset_fetch_error(member_id, member_epoch)
            if error:
                return error, {}, set()
            offsets = self._written.offsets
            committed = offsets.of_group(group_id)
            unstable = offsets.pending_places(group_id) if require_stable else set()
            if places is None:
                return codes.NONE, dict(committed), unstable
            return codes.NONE, {place: committed[place] for place in places if place in committed}, unstable

    def count(self) -> int:
        """Number of committed offsets."""
        with self._shard.lock:
            return 0 if self._shard.error else self._written.offsets.count

    def committed(self) -> list[tuple[str, Mapping[TopicPartition, CommittedOffset]]]:
        """The present offsets of each group."""
        with self._shard.lock:
            if self._shard.error:
                return []
            offsets = self._written.offsets
            return [(group_id, dict(offsets.of_group(group_id))) for group_id in offsets.groups()]

    def delete(self, group_id: str, places: Sequence[TopicPartition]) -> tuple[int, Results]:
        """OffsetDelete: the error code of the request, and without an error one for each partition."""
        with self._shard.lock:
            group = self._shard.groups.get(group_id)
            if self._shard.error or group is None:
                return self._shard.error or codes.GROUP_ID_NOT_FOUND, {}
            error = group.offset_delete_error()
            if error:
                return error, {}
            subscribed = {topic: group.subscribes_to(topic) for topic in {topic for topic, _ in places}}
            store = self._written
            known = set(store.offsets.places(group_id))
            gone = [place for place in places if place in known and not subscribed[place[0]]]
            error = store.remove(group_id, gone, self._surroundings.wall_clock_ms())
            if error:
                return error, {}
            self._surroundings.counts.count_deletions(len(gone))
            return codes.NONE, {
                place: codes.GROUP_SUBSCRIBED_TO_TOPIC if subscribed[place[0]] else codes.NONE for place in places
            }

    def log_end(self) -> int:
        """The log end offset. The maximum while the shard is loaded: all records there are older than new commits."""
        store = self._store
        return store.log_end if store is not None else LAST_OFFSET

    def forget_topics(self, topics: Collection[str], end_offset: int) -> int:
        """Removes offsets of deleted topics whose records are below `end_offset` of the log. The error code."""
        with self._shard.lock:
            group_ids = [] if self._shard.error else self._written.offsets.groups_with_any()
        for group_id in group_ids:
            with self._shard.lock:
                if self._shard.error:
                    return codes.NONE
                store = self._written
                gone = [place for place in store.offsets.places_before(group_id, end_offset) if place[0] in topics]
                error = store.remove(group_id, gone, self._surroundings.wall_clock_ms())
                if error:
                    return error
        return codes.NONE

    # --- parts of a shard's events, under its lock ------------------------------------------------------------------

    def has_any(self, group_id: str) -> bool:
        """Whether a group has offsets, also in an open transaction."""
        return self._written.offsets.has_any(group_id)

    def remove_all(self, group_id: str, ending: Sequence[Pair]) -> int:
        """Deletes a group's offsets, and the group by the records of `ending`. The error code."""
        store = self._written
        count = sum(1 for _ in store.offsets.places(group_id))
        error = store.remove_all(group_id, ending, self._surroundings.wall_clock_ms())
        if not error:
            self._surroundings.counts.count_deletions(count)
        return error

    def expire(self, group: Group | ConsumerGroup) -> tuple[int, int]:
        """Removes a group's expired offsets. Their number, and the error code of the append."""
        expiry = group.offset_expiry()
        if expiry is None:
            return 0, codes.NONE
        store = self._written
        now_ms = self._surroundings.wall_clock_ms()
        gone = expired_places(store.offsets, group.group_id, expiry, now_ms, self._surroundings.retention_ms)
        error = store.remove(group.group_id, gone, now_ms)
        if error:
            return 0, error
        self._surroundings.counts.count_expirations(len(gone))
        return len(gone), codes.NONE
