"""GroupCoordinator: finds the shard of a group, loads and unloads shards (Kafka's `GroupCoordinatorService`).

Each partition of `__consumer_offsets` that this broker leads has a shard. It is announced when the leadership is known,
and answers COORDINATOR_LOAD_IN_PROGRESS until its records are loaded. Requests for groups of other partitions are
answered NOT_COORDINATOR.

Concurrency: the table of shards has a lock, and no other lock is taken under it. Each shard has its own (`shard.py`).
"""

from __future__ import annotations

import time
from threading import Lock

from kcore import uuid
from kcore.coordinator.group import codes
from kcore.coordinator.group.answers import join_failure, sync_failure
from kcore.coordinator.group.attempts import JoinAttempt, SyncAttempt
from kcore.coordinator.group.group_log import GroupLog
from kcore.coordinator.group.member import MemberProfile
from kcore.coordinator.group.offset_store import NO_RETENTION
from kcore.coordinator.group.partitioner import partition_for
from kcore.coordinator.group.replay import Replay
from kcore.coordinator.group.session_table import SessionTable
from kcore.coordinator.group.shard import GroupShard
from kcore.coordinator.group.surroundings import Surroundings
from kcore.errors import KafkaError
from kcore.logger import get_logger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Any

    from kcore.config.broker import BrokerConfig
    from kcore.coordinator.group.committer import Committer
    from kcore.coordinator.group.descriptions import GroupDescription, GroupListing
    from kcore.coordinator.group.offset_store import Commits, Results
    from kcore.coordinator.group.offsets import CommittedOffset, TopicPartition
    from kcore.coordinator.group.surroundings import Aside, Responder, Scheduler
    from kcore.metadata.image import MetadataImage
    from kcore.protocol.message import Message
    from kcore.replication.partition import Partition

LOG = get_logger("kcore.coordinator.group")

NO_EPOCH = -1


class GroupCoordinator:
    """Serves the groups whose partition of `__consumer_offsets` this broker leads.

    `timer` runs callables on handler threads. `now_ms` is the wall clock, `steady_ms` a monotonic clock. Default: that
    of `sessions`. `aside` is called by appends that wait for the device. Processors may answer heartbeats from
    `sessions`.
    """

    def __init__(
        self,
        config: BrokerConfig,
        timer: Scheduler,
        now_ms: Callable[[], int],
        steady_ms: Callable[[], int] | None = None,
        aside: Aside | None = None,
    ) -> None:
        # The configured number, until the topic exists: it keeps its number of partitions.
        self._partition_count = config.number("offsets.topic.num.partitions")
        self._min_session_timeout_ms = config.number("group.min.session.timeout.ms")
        self._max_session_timeout_ms = config.number("group.max.session.timeout.ms")
        self._codec = config.number("offsets.topic.compression.codec")
        self._load_buffer_bytes = config.number("offsets.load.buffer.size")
        self._timer = timer
        self._aside = aside
        self.sessions = SessionTable(now_ms())
        self._surroundings = Surroundings(config, timer, self.sessions, steady_ms or self.sessions.now_ms, now_ms)
        self.counts = self._surroundings.counts
        self._lock = Lock()  # guards `_shards`
        self._shards: dict[int, GroupShard] = {}
        self._elsewhere = GroupShard(self._surroundings, codes.NOT_COORDINATOR)

    # --- partitions of __consumer_offsets ---------------------------------------------------------------------------

    def partition_for(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` for a group."""
        return partition_for(group_id, self._partition_count)

    def announce(self, index: int, partition_count: int) -> None:
        """Announces a partition that will be loaded; `partition_count` is that of the topic."""
        with self._lock:
            self._partition_count = partition_count
            self._shards[index] = GroupShard(self._surroundings)

    def load(self, partition: Partition) -> None:
        """Loads the records of an announced partition and starts to serve its groups.

        A partition that cannot be read to its end is not served: a group would continue from an older commit, read
        records twice, and overwrite the newer commit.
        """
        shard = self._shards.get(partition.index)
        if shard is None:
            return
        started_ns = time.monotonic_ns()
        log = GroupLog(partition, self._codec, self._aside)
        loaded = Replay(str(log))
        try:
            for batch in log.read(self._load_buffer_bytes):
                if shard.error != codes.COORDINATOR_LOAD_IN_PROGRESS:
                    LOG.info("Stopped loading %s: another broker leads it now", log)
                    return
                loaded.take_batch(batch)
        except BaseException:
            LOG.error(
                "The groups of %s could not be loaded and are unavailable. Repair the log and restart the broker", log
            )
            self._give_up(partition.index, shard)
            raise
        if not shard.open(log, loaded):
            return
        elapsed_ms = (time.monotonic_ns() - started_ns) // 1_000_000
        self.counts.count_load(elapsed_ms)
        if loaded.record_count:
            LOG.info(
                "Loaded %d records of groups and offsets from %s in %d ms, %d could not be read",
                loaded.record_count,
                log,
                elapsed_ms,
                loaded.unreadable_count,
            )

    def _give_up(self, index: int, shard: GroupShard) -> None:
        with self._lock:
            shard.error = codes.NOT_COORDINATOR
            if self._shards.get(index) is shard:
                del self._shards[index]

    def unload(self, index: int) -> None:
        """Unloads a partition. Its groups end on a handler thread, since the caller may hold any lock."""
        with self._lock:
            shard = self._shards.pop(index, None)
        if shard is not None:
            shard.error = codes.NOT_COORDINATOR
            shard.sessions.leave()
            self._timer.schedule(0, lambda: shard.close(codes.NOT_COORDINATOR))

    def clean_up(self) -> None:
        """Removes expired offsets and empty groups. Runs every `offsets.retention.check.interval.ms`."""
        started_ns = time.monotonic_ns()
        count = 0
        for shard in self._all_shards():
            removed, error = shard.clean_up()
            count += removed
            if error:
                LOG.warn("Could not remove all expired offsets and groups (error %d). The next check retries", error)
        if count:
            LOG.info("Removed %d expired offsets in %d ms", count, (time.monotonic_ns() - started_ns) // 1_000_000)

    def coordinates(self, index: int) -> bool:
        """Whether this broker serves the partition's groups, now or after loading them."""
        return index in self._shards

    def _shard(self, group_id: str) -> GroupShard:
        """The group's shard, or one that refuses all requests if another broker serves the group."""
        return self._shards.get(self.partition_for(group_id), self._elsewhere)

    def _all_shards(self) -> list[GroupShard]:
        with self._lock:
            return list(self._shards.values())

    # --- membership -------------------------------------------------------------------------------------------------

    def join(
        self,
        context: Responder,
        request: Any,
        client_id: str,
        client_host: str,
        needs_member_id: bool,
        can_skip_assignment: bool,
        is_connected: bool = True,
    ) -> None:
        """JoinGroup. `needs_member_id`: the client gets its member id first (KIP-394). `can_skip_assignment`: a
        returning static leader may be told not to assign (KIP-814).

        A client that has closed its connection (`is_connected` is False) does not join: it would not get its member id
        or generation, and the other members would wait for it.
        """
        shard = self._shard(request.group_id)
        error = shard.error if request.group_id else codes.INVALID_GROUP_ID
        if not error and not self._is_session_timeout(request.session_timeout_ms):
            error = codes.INVALID_SESSION_TIMEOUT
        if not error and not is_connected:
            error = codes.REBALANCE_IN_PROGRESS
        if error:
            context.respond(join_failure(error, request.member_id))
            return
        profile = MemberProfile(
            client_id,
            client_host,
            request.protocol_type,
            [(protocol.name, bytes(protocol.metadata)) for protocol in request.protocols],
            request.session_timeout_ms,
            request.rebalance_timeout_ms,
        )
        instance_id = request.group_instance_id
        new_member_id = f"{client_id if instance_id is None else instance_id}-{new_suffix()}"
        attempt = JoinAttempt(
            context,
            request.member_id,
            instance_id,
            new_member_id,
            profile,
            needs_member_id,
            can_skip_assignment,
            request.reason,
        )
        shard.join(request.group_id, attempt)

    def _is_session_timeout(self, timeout_ms: int) -> bool:
        return self._min_session_timeout_ms <= timeout_ms <= self._max_session_timeout_ms

    def sync(self, context: Responder, request: Any) -> None:
        """SyncGroup."""
        if not request.group_id:
            context.respond(sync_failure(codes.INVALID_GROUP_ID))
            return
        attempt = SyncAttempt(
            context,
            request.member_id,
            request.group_instance_id,
            request.generation_id,
            {entry.member_id: bytes(entry.assignment) for entry in request.assignments},
            request.protocol_type,
            request.protocol_name,
        )
        self._shard(request.group_id).sync(request.group_id, attempt)

    def heartbeat(
        self,
        group_id: str,
        member_id: str,
        generation_id: int,
        group_instance_id: str | None,
        is_connected: bool = True,
    ) -> int:
        """Heartbeat: the error code."""
        if not group_id:
            return codes.INVALID_GROUP_ID
        return self._shard(group_id).heartbeat(group_id, member_id, group_instance_id, generation_id, is_connected)

    def leave(self, group_id: str, members: Sequence[tuple[str, str | None]]) -> tuple[int, list[int]]:
        """LeaveGroup of (member id, instance id): an error code; without an error one for each member."""
        if not group_id:
            return codes.INVALID_GROUP_ID, []
        return self._shard(group_id).leave(group_id, members)

    # --- consumer groups --------------------------------------------------------------------------------------------

    def consumer_heartbeat(
        self, request: Message, version: int, client_id: str, client_host: str, is_connected: bool = True
    ) -> Mapping[str, Any]:
        """ConsumerGroupHeartbeat: the response fields."""
        from kcore.coordinator.group.consumer.heartbeat import check, failure

        try:
            check(request, version, self._surroundings.consumer_settings.assignors)
        except KafkaError as error:
            return failure(error)
        member_id = request.member_id or uuid.to_text(uuid.random_uuid())
        shard = self._shard(request.group_id)
        return shard.consumer_heartbeat(request, member_id, client_id, client_host, is_connected)

    def describe_consumer(self, group_id: str) -> Mapping[str, Any]:
        """One group of ConsumerGroupDescribe: its response fields."""
        if not group_id:
            return {"group_id": group_id, "error_code": codes.INVALID_GROUP_ID}
        return self._shard(group_id).describe_consumer(group_id)

    def on_image(self, image: MetadataImage) -> None:
        """Takes new cluster metadata. Consumer groups use it with their next heartbeat."""
        self._surroundings.image = image

    # --- offsets ----------------------------------------------------------------------------------------------------

    def commit(
        self, group_id: str, committer: Committer, commits: Commits, retention_time_ms: int = NO_RETENTION
    ) -> Results:
        """OffsetCommit: an error code for each partition. The empty group id may commit, as in Kafka."""
        return self._shard(group_id).offsets.commit(group_id, committer, commits, retention_time_ms)

    def commit_transactional(
        self, group_id: str, committer: Committer, commits: Commits, producer_id: int, producer_epoch: int
    ) -> Results:
        """TxnOffsetCommit: an error code for each partition."""
        if not group_id:
            return dict.fromkeys(commits, codes.INVALID_GROUP_ID)
        offsets = self._shard(group_id).offsets
        return offsets.commit_transactional(group_id, committer, commits, producer_id, producer_epoch)

    def complete_transaction(
        self, index: int, producer_id: int, producer_epoch: int, coordinator_epoch: int, is_commit: bool
    ) -> int:
        """WriteTxnMarkers of one producer in a partition of `__consumer_offsets`: writes the marker. The error code."""
        shard = self._shards.get(index, self._elsewhere)
        return shard.offsets.complete_transaction(producer_id, producer_epoch, coordinator_epoch, is_commit)

    def fetch_offsets(
        self,
        group_id: str,
        places: Iterable[TopicPartition] | None = None,
        require_stable: bool = False,
        member_id: str | None = None,
        member_epoch: int = NO_EPOCH,
    ) -> tuple[int, dict[TopicPartition, CommittedOffset], set[TopicPartition]]:
        """OffsetFetch: an error code, the offsets (of `places`, or all), and with `require_stable` the partitions that
        an open transaction may still change. A consumer group checks the member, if one is named."""
        return self._shard(group_id).offsets.fetch(group_id, places, require_stable, member_id, member_epoch)

    def delete_offsets(self, group_id: str, places: Sequence[TopicPartition]) -> tuple[int, Results]:
        """OffsetDelete: the error code of the request; without an error one for each partition."""
        if not group_id:
            return codes.INVALID_GROUP_ID, {}
        return self._shard(group_id).offsets.delete(group_id, places)

    def delete_group(self, group_id: str) -> int:
        """DeleteGroups of one group: the error code."""
        return self._shard(group_id).delete_group(group_id)

    def committed_offsets(self) -> list[tuple[str, Mapping[TopicPartition, CommittedOffset]]]:
        """All groups of this coordinator with their present offsets, with or without members."""
        everything: list[tuple[str, Mapping[TopicPartition, CommittedOffset]]] = []
        for shard in self._all_shards():
            everything += shard.offsets.committed()
        return everything

    def offset_count(self) -> int:
        """Number of committed offsets of this coordinator's groups."""
        return sum(shard.offsets.count() for shard in self._all_shards())

    def group_states(self) -> list[tuple[str, str, int]]:
        """(group, state, number of members) of the groups in memory."""
        states: list[tuple[str, str, int]] = []
        for shard in self._all_shards():
            with shard.lock:
                states += [(group.group_id, group.state, len(group.members)) for group in shard.groups.values()]
        return states

    # --- listing and describing -------------------------------------------------------------------------------------

    def list_groups(self, states: Iterable[str], types: Iterable[str]) -> tuple[int, list[GroupListing]]:
        """ListGroups: this coordinator's groups in these states and of these types. Empty: all.

        While a partition is loaded, there is only an error code.
        """
        from kcore.coordinator.group.descriptions import listing_filter

        is_wanted = listing_filter(states, types)
        listed: list[GroupListing] = []
        for shard in self._all_shards():
            error, groups = shard.list_groups()
            if error and error != codes.NOT_COORDINATOR:
                return error, []
            listed += filter(is_wanted, groups)
        return codes.NONE, listed

    def describe_classic(self, group_id: str) -> tuple[int, GroupDescription | None, str | None]:
        """DescribeGroups of one group: an error code, the group, and an error message."""
        return self._shard(group_id).describe_classic(group_id)

    def forgetting(self, topics: Collection[str]) -> Callable[[], None]:
        """Returns a call that removes present offsets of deleted topics (Kafka's `onPartitionsDeleted`).

        It may run after topics of the same names are created again: their commits stay.
        """
        ends = [(shard, shard.offsets.log_end()) for shard in self._all_shards()]

        def forget() -> None:
            for shard, end_offset in ends:
                error = shard.offsets.forget_topics(topics, end_offset)
                if error:
                    LOG.warn("Could not remove the offsets of %d deleted topics (error %d)", len(topics), error)

        return forget


def new_suffix() -> str:
    """The random end of a member id, in the format of Java's `UUID.toString`."""
    text = uuid.random_uuid().hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
