"""Reads records, from partitions of the caller's choice (`assign`) or as a member of a group (`subscribe`).

`poll` returns the records of one partition at a time, in the order of the log. Positions are the consumer's own;
with a group they begin at what the group has committed, and are committed from `poll` every few seconds.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from kcore.client.cluster import TopicPartition
from kcore.client.connection import now_ms
from kcore.client.errors import ClientError, InvalidSetting, broker_error
from kcore.client.fetched_records import decode_fetch
from kcore.client.fetcher import Fetcher, FetchSettings
from kcore.client.network_client import NetworkClient
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from kcore.client.fetched_records import FetchedRecords
    from kcore.client.group_membership import GroupMembership

# ListOffsets: timestamps that stand for a place in the log.
LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
READ_UNCOMMITTED = 0
READ_COMMITTED = 1
RESET_TIMESTAMPS = {"earliest": EARLIEST, "latest": LATEST}


class OffsetAndTimestamp(NamedTuple):
    offset: int
    timestamp_ms: int


class Consumer:
    """Options carry the names of Kafka's consumer configurations, with underscores."""

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        *,
        client_id: str = "kcli-consumer",
        group_id: str | None = None,
        auto_offset_reset: str = "latest",
        enable_auto_commit: bool = True,
        auto_commit_interval_ms: int = 5_000,
        session_timeout_ms: int = 45_000,
        heartbeat_interval_ms: int = 3_000,
        max_poll_interval_ms: int = 300_000,
        isolation_level: int = READ_UNCOMMITTED,
        fetch_min_bytes: int = 1,
        fetch_max_wait_ms: int = 500,
        fetch_max_bytes: int = 52_428_800,
        max_partition_fetch_bytes: int = 1_048_576,
        request_timeout_ms: float = 30_000.0,
        check_crcs: bool = True,
    ) -> None:
        if auto_offset_reset not in (*RESET_TIMESTAMPS, "none"):
            raise InvalidSetting(f"auto.offset.reset {auto_offset_reset!r}: must be earliest, latest or none")
        self.client = NetworkClient(bootstrap_servers, client_id=client_id, request_timeout_ms=request_timeout_ms)
        settings = FetchSettings(
            fetch_min_bytes, fetch_max_wait_ms, fetch_max_bytes, max_partition_fetch_bytes, isolation_level
        )
        self._fetcher = Fetcher(self.client, settings)
        self._isolation_level = isolation_level
        self._auto_offset_reset = auto_offset_reset
        self._check_crcs = check_crcs
        self._auto_commit_interval_ms = auto_commit_interval_ms if enable_auto_commit and group_id else None
        self._next_commit_ms = now_ms() + auto_commit_interval_ms
        self._consumed: dict[TopicPartition, int] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._topics: list[str] = []
        # What joining the group has cost so far.
        self.rebalance_time_ms = 0.0
        self._group: GroupMembership | None = None
        if group_id is not None:
            from kcore.client.group_membership import GroupMembership

            self._group = GroupMembership(
                self.client,
                group_id,
                session_timeout_ms=session_timeout_ms,
                heartbeat_interval_ms=heartbeat_interval_ms,
                rebalance_timeout_ms=max_poll_interval_ms,
            )

    # What to read

    def subscribe(self, topics: Sequence[str]) -> None:
        """Reads the partitions of these topics that the group gives this member, from the next `poll` on."""
        if self._group is None:
            raise ClientError("a consumer without a group.id cannot subscribe; assign partitions instead")
        self._topics = list(topics)
        self._group.must_join = True

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Reads these partitions, from where the group stands, or else as auto.offset.reset says."""
        wanted = list(partitions)
        committed = self._group.committed(wanted) if self._group is not None else {}
        self._start_at({**self._reset_positions(p for p in wanted if p not in committed), **committed})

    def _start_at(self, positions: dict[TopicPartition, int]) -> None:
        self._consumed = dict(positions)
        self._committed = dict(positions)
        self._fetcher.assign(positions)

    def _reset_positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        wanted = list(partitions)
        if wanted and self._auto_offset_reset == "none":
            names = ", ".join(map(str, wanted))
            raise ClientError(f"{names}: no offset to start from; commit one, or set auto.offset.reset")
        if not wanted:
            return {}
        found = self.offsets_for_times(dict.fromkeys(wanted, RESET_TIMESTAMPS[self._auto_offset_reset]))
        return {partition: found[partition].offset for partition in wanted}

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """The next record read of an assigned partition is the one at `offset`, or the first one after it."""
        self._consumed[partition] = offset
        self._fetcher.seek(partition, offset)

    @property
    def assignment(self) -> list[TopicPartition]:
        return list(self._consumed)

    def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that `poll` returns of this partition."""
        return self._consumed[partition]

    # Where things are

    def offsets_for_times(self, timestamps: Mapping[TopicPartition, int]) -> dict[TopicPartition, OffsetAndTimestamp]:
        """For each partition the first record at or after a time; offset -1 where there is none (KIP-79)."""
        by_leader: dict[Any, dict[str, list[dict[str, Any]]]] = {}
        for partition, timestamp in timestamps.items():
            topics = by_leader.setdefault(self.client.leader_of(partition), {})
            wanted = {"partition_index": partition.partition, "timestamp": timestamp}
            topics.setdefault(partition.topic, []).append(wanted)
        found: dict[TopicPartition, OffsetAndTimestamp] = {}
        for leader, topics in by_leader.items():
            fields = {
                "replica_id": -1,
                "isolation_level": self._isolation_level,
                "topics": [{"name": name, "partitions": wanted} for name, wanted in topics.items()],
            }
            found.update(self.client.retrying(partial(self._list_offsets, fields, leader)))
        return found

    def _list_offsets(self, fields: dict[str, Any], leader: Any) -> dict[TopicPartition, OffsetAndTimestamp]:
        response = self.client.request(apis.LIST_OFFSETS, fields, leader)
        found = {}
        for topic in response.topics:
            for data in topic.partitions:
                partition = TopicPartition(topic.name, data.partition_index)
                if data.error_code:
                    raise broker_error(data.error_code, f"partition {partition}")
                found[partition] = OffsetAndTimestamp(data.offset, data.timestamp)
        return found

    def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets_at(partitions, EARLIEST)

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset after the last readable record of each partition."""
        return self._offsets_at(partitions, LATEST)

    def _offsets_at(self, partitions: Iterable[TopicPartition], timestamp: int) -> dict[TopicPartition, int]:
        found = self.offsets_for_times(dict.fromkeys(partitions, timestamp))
        return {partition: where.offset for partition, where in found.items()}

    # Reading

    def poll(self, timeout_ms: float) -> FetchedRecords | None:
        """The next records of one partition; None when none came within the time."""
        deadline_ms = now_ms() + timeout_ms
        while True:
            self._keep_membership()
            self._commit_if_due()
            completed = self._fetcher.take(max(0.0, deadline_ms - now_ms()))
            out_of_range = self._fetcher.take_out_of_range()
            if out_of_range:
                for partition, offset in self._reset_positions(out_of_range).items():
                    self.seek(partition, offset)
            if completed is not None:
                fetched = decode_fetch(completed, self._isolation_level == READ_COMMITTED, self._check_crcs)
                self._consumed[completed.partition] = fetched.next_offset
                if fetched.records:
                    return fetched
            elif now_ms() >= deadline_ms:
                return None

    def _keep_membership(self) -> None:
        if self._group is None or not self._topics:
            return
        self._group.heartbeat_if_due()
        if self._group.must_join:
            if self._auto_commit_interval_ms is not None and self._group.member_id:
                self._commit_before_rebalance()
            began_ms = now_ms()
            self.assign(self._group.join(self._topics))
            self.rebalance_time_ms += now_ms() - began_ms

    def _commit_before_rebalance(self) -> None:
        """Best effort: a member that was thrown out may not commit, and then reads some records again."""
        assert self._group is not None
        if not self._group.is_member_of_generation:
            return
        self.commit()
        self._group.must_join = True

    def _commit_if_due(self) -> None:
        if self._auto_commit_interval_ms is None or now_ms() < self._next_commit_ms:
            return
        self._next_commit_ms = now_ms() + self._auto_commit_interval_ms
        self.commit()

    def commit(self) -> None:
        """Commits the positions that have moved since the last commit."""
        if self._group is None:
            raise ClientError("a consumer without a group.id has nowhere to commit to")
        moved = {p: offset for p, offset in self._consumed.items() if self._committed.get(p) != offset}
        if moved:
            self._group.commit(moved)
            self._committed.update(moved)

    def close(self) -> None:
        """Commits where that is automatic, leaves the group, and lets the connections go."""
        try:
            if self._group is not None:
                if self._auto_commit_interval_ms is not None and self._group.is_member_of_generation:
                    self.commit()
                self._group.leave()
        finally:
            self.client.close()

    def __enter__(self) -> Consumer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None or issubclass(kind, KeyboardInterrupt):
            self.close()
        else:
            self.client.close()
