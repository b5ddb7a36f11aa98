"""The committed offsets of the groups of one partition of `__consumer_offsets` (Kafka's `OffsetMetadataManager`).

Pure. The log is authoritative: `put_...`, `remove` and `complete_transaction` apply records that are in the log
already. All other methods read.

Offsets of open transactions are kept separately, by producer id. A commit marker merges those that no later commit has
replaced; an abort marker drops them. The order of commits is that of their records in the log: compaction may keep a
transaction's records longer than the commits that came between.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    TopicPartition: TypeAlias = tuple[str, int]
    OffsetsByGroup: TypeAlias = dict[str, dict[TopicPartition, "CommittedOffset"]]

NO_EXPIRY = -1
NOT_WRITTEN = -1


class CommittedOffset:
    """A committed offset: the position from which the group continues.

    `expire_timestamp_ms` is the client's expiry (OffsetCommit 2 to 4), or NO_EXPIRY. `record_offset` is the offset of
    the record in the log, which equality ignores.
    """

    __slots__ = (
        "commit_timestamp_ms",
        "expire_timestamp_ms",
        "leader_epoch",
        "metadata",
        "offset",
        "record_offset",
    )

    def __init__(
        self,
        offset: int,
        leader_epoch: int,
        metadata: str,
        commit_timestamp_ms: int,
        expire_timestamp_ms: int = NO_EXPIRY,
        record_offset: int = NOT_WRITTEN,
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp_ms = commit_timestamp_ms
        self.expire_timestamp_ms = expire_timestamp_ms
        self.record_offset = record_offset

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CommittedOffset) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"CommittedOffset{self._values()!r}"

    def _values(self) -> tuple[int, int, str, int, int]:
        return (self.offset, self.leader_epoch, self.metadata, self.commit_timestamp_ms, self.expire_timestamp_ms)


class Offsets:
    """Committed offsets by group, topic and partition, and those of open transactions. `count` excludes the latter."""

    __slots__ = ("_committed", "_open_transactions", "_pending", "count")

    def __init__(self) -> None:
        self._committed: OffsetsByGroup = {}
        self._pending: dict[int, OffsetsByGroup] = {}
        self._open_transactions: dict[str, set[int]] = {}  # group -> producer ids
        self.count = 0

    # --- records of the log -----------------------------------------------------------------------------------------

    def put(self, group_id: str, place: TopicPartition, committed: CommittedOffset) -> None:
        """Applies a commit."""
        offsets = self._committed.setdefault(group_id, {})
        self.count += place not in offsets
        offsets[place] = committed

    def put_all(self, group_id: str, commits: Mapping[TopicPartition, CommittedOffset], base_offset: int) -> None:
        """Applies the commits of one batch, whose first record is at `base_offset`."""
        offsets = self._committed.setdefault(group_id, {})
        count_before = len(offsets)
        offsets.update(commits)
        self.count += len(offsets) - count_before
        for committed in commits.values():
            committed.record_offset = base_offset
            base_offset += 1

    def put_pending(self, producer_id: int, group_id: str, place: TopicPartition, committed: CommittedOffset) -> None:
        """Applies a commit in a producer's open transaction."""
        self._pending.setdefault(producer_id, {}).setdefault(group_id, {})[place] = committed
        self._open_transactions.setdefault(group_id, set()).add(producer_id)

    def remove(self, group_id: str, place: TopicPartition) -> None:
        """Applies a tombstone, also to the offsets of open transactions."""
        offsets = self._committed.get(group_id)
        if offsets is not None and offsets.pop(place, None) is not None:
            self.count -= 1
            if not offsets:
                del self._committed[group_id]
        for producer_id in tuple(self._open_transactions.get(group_id, ())):
            pending = self._pending[producer_id]
            pending[group_id].pop(place, None)
            if not pending[group_id]:
                # The transaction has no offsets of this group left.
                del pending[group_id]
                self._leave_transaction(group_id, producer_id)

    def complete_transaction(self, producer_id: int, is_commit: bool) -> None:
        """Applies a transaction marker of a producer."""
        for group_id, offsets in self._pending.pop(producer_id, {}).items():
            self._leave_transaction(group_id, producer_id)
            if is_commit:
                for place, committed in offsets.items():
                    present = self._committed.get(group_id, {}).get(place)
                    if present is None or committed.record_offset > present.record_offset:
                        self.put(group_id, place, committed)

    def _leave_transaction(self, group_id: str, producer_id: int) -> None:
        producers = self._open_transactions[group_id]
        producers.discard(producer_id)
        if not producers:
            del self._open_transactions[group_id]

    # --- reading ----------------------------------------------------------------------------------------------------

    def of_group(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        """All committed offsets of a group; empty for an unknown group."""
        return self._committed.get(group_id, {})

    def groups(self) -> list[str]:
        """The groups with committed offsets."""
        return list(self._committed)

    def has_any(self, group_id: str) -> bool:
        """Whether a group has offsets, also in an open transaction."""
        return group_id in self._committed or group_id in self._open_transactions

    def has_open_transaction(self, group_id: str) -> bool:
        """Whether an open transaction has offsets of this group."""
        return group_id in self._open_transactions

    def pending_places(self, group_id: str) -> set[TopicPartition]:
        """The partitions of a group with offsets in open transactions."""
        producers = self._open_transactions.get(group_id, ())
        return {place for producer_id in producers for place in self._pending[producer_id][group_id]}

    def places(self, group_id: str) -> Iterator[TopicPartition]:
        """The partitions of a group with offsets, also in open transactions; each once."""
        committed = self.of_group(group_id)
        yield from committed
        for place in self.pending_places(group_id):
            if place not in committed:
                yield place

    def places_before(self, group_id: str, end_offset: int) -> list[TopicPartition]:
        """The partitions of a group whose offsets are all in records below `end_offset`, also in open transactions."""
        by_place = [self.of_group(group_id)]
        by_place += [self._pending[producer_id][group_id] for producer_id in self._open_transactions.get(group_id, ())]
        newer = {place for offsets in by_place for place, found in offsets.items() if found.record_offset >= end_offset}
        return [place for place in self.places(group_id) if place not in newer]

    def groups_with_any(self) -> list[str]:
        """The groups with offsets, also in open transactions."""
        return [*self._committed, *(group for group in self._open_transactions if group not in self._committed)]
