"""OffsetStore: committed offsets with their log. Changes are appended to the log first, then applied in memory.

Concurrency: called under the shard's lock, also during appends.
"""

from __future__ import annotations

from kcore.coordinator.group import codes, records
from kcore.coordinator.group.group_log import in_parts
from kcore.coordinator.group.offsets import NO_EXPIRY, CommittedOffset, Offsets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from kcore.coordinator.group.group_log import GroupLog
    from kcore.coordinator.group.offsets import TopicPartition
    from kcore.coordinator.group.records import Pair

    Commits: TypeAlias = Mapping[TopicPartition, tuple[int, int, str | None]]
    """Offset, leader epoch and metadata of each partition."""

    Results: TypeAlias = dict[TopicPartition, int]
    """A wire code for each partition."""

NO_RETENTION = -1
# The range of the record's int64.
LAST_EXPIRY_MS = 2**63 - 1
TOO_LARGE = (codes.MESSAGE_TOO_LARGE, codes.RECORD_LIST_TOO_LARGE)


class OffsetStore:
    """The offsets of a shard and their log. `max_metadata_length` is `offset.metadata.max.bytes`."""

    __slots__ = ("_log", "_max_metadata_length", "offsets")

    def __init__(self, log: GroupLog, offsets: Offsets, max_metadata_length: int) -> None:
        self.offsets = offsets
        self._log = log
        self._max_metadata_length = max_metadata_length

    @property
    def log_end(self) -> int:
        """The log end offset."""
        return self._log.end_offset

    def commit(self, group_id: str, commits: Commits, retention_time_ms: int, now_ms: int) -> Results:
        """Commits at `now_ms` of the wall clock. The client's retention time takes precedence over the broker's."""
        keeps_default = retention_time_ms == NO_RETENTION
        expire_ms = NO_EXPIRY if keeps_default else min(now_ms + retention_time_ms, LAST_EXPIRY_MS)
        results: Results = {}
        accepted = self._acceptable(commits, now_ms, expire_ms, results)
        if accepted:
            error, base_offset = self._log.append(records.offset_commits(group_id, accepted), now_ms)
            if not error:
                self.offsets.put_all(group_id, accepted, base_offset)
            results.update(dict.fromkeys(accepted, client_error(error)))
        return results

    def commit_transactional(
        self, group_id: str, commits: Commits, producer_id: int, producer_epoch: int, now_ms: int
    ) -> Results:
        """Commits in a producer's open transaction."""
        results: Results = {}
        accepted = self._acceptable(commits, now_ms, NO_EXPIRY, results)
        if accepted:
            error, base_offset = self._log.append_transactional(
                records.offset_commits(group_id, accepted), now_ms, producer_id, producer_epoch
            )
            if not error:
                for record_offset, (place, committed) in enumerate(accepted.items(), base_offset):
                    committed.record_offset = record_offset
                    self.offsets.put_pending(producer_id, group_id, place, committed)
            results.update(dict.fromkeys(accepted, client_error(error)))
        return results

    def _acceptable(
        self, commits: Commits, now_ms: int, expire_ms: int, results: Results
    ) -> dict[TopicPartition, CommittedOffset]:
        """The valid commits. The others get their error codes in `results`."""
        longest = self._max_metadata_length
        accepted = {}
        for place, (offset, leader_epoch, metadata) in commits.items():
            # As in Kafka, the limit in bytes is compared with the number of characters.
            if metadata is not None and len(metadata) > longest:
                results[place] = codes.OFFSET_METADATA_TOO_LARGE
            else:
                accepted[place] = CommittedOffset(offset, leader_epoch, metadata or "", now_ms, expire_ms)
        return accepted

    def complete_transaction(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, is_commit: bool, now_ms: int
    ) -> int:
        """Ends a producer's transaction in this partition: writes the marker, then applies it. The error code."""
        error, _ = self._log.append_marker(is_commit, coordinator_epoch, now_ms, producer_id, producer_epoch)
        if not error:
            self.offsets.complete_transaction(producer_id, is_commit)
        return error

    def remove(self, group_id: str, places: Iterable[TopicPartition], now_ms: int) -> int:
        """Writes tombstones. The error code; with an error some offsets may be removed already."""
        remaining = list(places)
        tombstones = (records.offset_commit_tombstone(group_id, place) for place in remaining)
        done = 0
        for part in in_parts(tombstones):
            error, _ = self._log.append(part, now_ms)
            if error:
                return error
            for place in remaining[done : done + len(part)]:
                self.offsets.remove(group_id, place)
            done += len(part)
        return codes.NONE

    def remove_all(self, group_id: str, ending: Sequence[Pair], now_ms: int) -> int:
        """Writes tombstones for all offsets of a group, and `ending`, the group's own. The error code.

        One batch makes it atomic. If one batch is too small, offsets are deleted first: a crash may leave a group
        without offsets, which the next check for expired offsets deletes.
        """
        places = list(self.offsets.places(group_id))
        whole = [*(records.offset_commit_tombstone(group_id, place) for place in places), *ending]
        error = self._log.append(whole, now_ms)[0] if whole else codes.NONE
        if error in TOO_LARGE:
            return self.remove(group_id, places, now_ms) or self._log.append(ending, now_ms)[0]
        if not error:
            for place in places:
                self.offsets.remove(group_id, place)
        return error


def client_error(error: int) -> int:
    """The error code for a commit whose append failed (Kafka's `GroupMetadataManager.storeOffsets`)."""
    return codes.INVALID_COMMIT_OFFSET_SIZE if error in TOO_LARGE else error
