"""A coordinator over a log in memory and virtual time: loads, commits that cannot be written, offsets that expire."""

from __future__ import annotations

from random import Random

import pytest

from kcore.config.broker import BrokerConfig
from kcore.coordinator.group import codes, records
from kcore.coordinator.group.committer import Committer
from kcore.coordinator.group.coordinator import GroupCoordinator
from kcore.coordinator.group.group_log import in_parts
from kcore.coordinator.group.offsets import CommittedOffset
from kcore.coordinator.group.records import GroupMetadata
from kcore.errors import KafkaStorageError
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch
from tests.simulator.groups.clockwork import Clockwork
from tests.simulator.groups.kept_log import KeptLog, Outcome

READ = ("read", 0)
NOBODY = Committer("", None, -1, knows_epochs=True)
MINUTE_MS = 60_000
WEEK_MINUTES = 7 * 24 * 60


class World:
    """One partition, and who coordinates it."""

    def __init__(self, log: KeptLog | None = None, **properties: str) -> None:
        self.properties = {name.replace("_", "."): value for name, value in properties.items()}
        self.clockwork = Clockwork()
        self.log = log or KeptLog(Random(1))
        self.coordinator = self.made()

    def made(self) -> GroupCoordinator:
        config = BrokerConfig({"offsets.topic.num.partitions": "1", **self.properties})
        time_ms = self.clockwork.time_ms
        return GroupCoordinator(config, self.clockwork, time_ms, time_ms)  # type: ignore[arg-type]

    def load(self) -> None:
        self.coordinator.announce(0, 1)
        self.coordinator.load(self.log)  # type: ignore[arg-type]

    def restart(self) -> None:
        self.coordinator = self.made()
        self.load()

    def keep(self, *pairs: records.Pair) -> None:
        """Records that somebody wrote before."""
        self.log.append_records(encode_batch(pairs, timestamp=0), -1, internal=True)

    def commit(self, group_id: str, offset: int) -> int:
        return self.coordinator.commit(group_id, NOBODY, {READ: (offset, -1, "")})[READ]

    def committed(self, group_id: str) -> tuple[int, int | None]:
        error, offsets, _ = self.coordinator.fetch_offsets(group_id)
        return error, offsets[READ].offset if READ in offsets else None


def kept_offset(group_id: str, offset: int, committed_ms: int = 0) -> records.Pair:
    return records.offset_commits(group_id, {READ: CommittedOffset(offset, -1, "", committed_ms)})[0]


# --- loading --------------------------------------------------------------------------------------------------------


def test_requests_that_come_while_a_partition_loads_are_to_come_again() -> None:
    world = World()
    assert world.commit("g", 1) == codes.NOT_COORDINATOR
    world.coordinator.announce(0, 1)
    assert world.commit("g", 1) == codes.COORDINATOR_LOAD_IN_PROGRESS
    assert world.committed("g")[0] == codes.COORDINATOR_LOAD_IN_PROGRESS
    assert world.coordinator.delete_offsets("g", [READ])[0] == codes.COORDINATOR_LOAD_IN_PROGRESS
    assert world.coordinator.delete_group("g") == codes.COORDINATOR_LOAD_IN_PROGRESS
    assert world.coordinator.complete_transaction(0, 1, 0, 0, is_commit=True) == codes.COORDINATOR_LOAD_IN_PROGRESS
    world.coordinator.load(world.log)  # type: ignore[arg-type]
    assert world.commit("g", 1) == codes.NONE


class LeavingLog(KeptLog):
    """Loses its leader while it is read."""

    def __init__(self, world: list[World]) -> None:
        super().__init__(Random(1))
        self.world = world

    def fetch(self, offset: int, max_bytes: int, isolation: int) -> Outcome:
        self.world.pop().coordinator.unload(0)
        return super().fetch(offset, max_bytes, isolation)


@pytest.mark.parametrize("comes_back", [False, True])
def test_load_of_a_partition_that_leaves_serves_nobody(comes_back: bool) -> None:
    worlds: list[World] = []
    world = World(LeavingLog(worlds))
    worlds.append(world)
    world.keep(kept_offset("g", 5))
    world.load()
    assert world.committed("g") == (codes.NOT_COORDINATOR, None)
    assert not world.coordinator.coordinates(0)
    if comes_back:
        worlds.append(World())  # another is asked to leave
        world.load()
        assert world.committed("g") == (codes.NONE, 5)


class BrokenLog(KeptLog):
    """Cannot be read to its end."""

    def fetch(self, offset: int, max_bytes: int, isolation: int) -> Outcome:
        return Outcome(codes.KAFKA_STORAGE_ERROR)


def test_partition_that_cannot_be_read_is_not_served_by_what_was_read() -> None:
    world = World(BrokenLog(Random(1)))
    world.keep(kept_offset("g", 5))
    with pytest.raises(KafkaStorageError):
        world.load()
    assert world.commit("g", 1) == codes.NOT_COORDINATOR
    assert not world.coordinator.coordinates(0)


class CutLog(KeptLog):
    """Lost its last records with the power, but not the empty segment that had been rolled after them."""

    def fetch(self, offset: int, max_bytes: int, isolation: int) -> Outcome:
        return super().fetch(offset, max_bytes, isolation) if offset == 0 else Outcome(codes.NONE)


def test_log_that_ends_in_a_gap_is_served_by_what_is_left() -> None:
    world = World(CutLog(Random(1)))
    world.keep(kept_offset("g", 5))
    world.log.end_offset += 3
    world.load()
    assert world.committed("g") == (codes.NONE, 5)
    assert world.commit("g", 6) == codes.NONE


def test_group_is_read_back_with_its_age() -> None:
    world = World()
    since_ms = world.clockwork.now_ms - (WEEK_MINUTES - 1) * MINUTE_MS
    world.keep(
        records.group_metadata("g", GroupMetadata("consumer", 4, None, None, since_ms, [])),
        kept_offset("g", 5, committed_ms=1),
    )
    world.load()
    world.coordinator.clean_up()
    assert world.committed("g") == (codes.NONE, 5)
    world.clockwork.now_ms += MINUTE_MS
    world.coordinator.clean_up()
    assert world.committed("g") == (codes.NONE, None)
    assert world.coordinator.group_states() == []
    assert set(world.log.latest.values()) == {None}, "everything of the group has its tombstone"


# --- commits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("append_error", "answer"),
    [
        (codes.NOT_ENOUGH_REPLICAS, codes.COORDINATOR_NOT_AVAILABLE),
        (codes.NOT_ENOUGH_REPLICAS_AFTER_APPEND, codes.COORDINATOR_NOT_AVAILABLE),
        (codes.UNKNOWN_TOPIC_OR_PARTITION, codes.COORDINATOR_NOT_AVAILABLE),
        (codes.NOT_LEADER_OR_FOLLOWER, codes.NOT_COORDINATOR),
        (codes.KAFKA_STORAGE_ERROR, codes.NOT_COORDINATOR),
        (codes.MESSAGE_TOO_LARGE, codes.INVALID_COMMIT_OFFSET_SIZE),
        (codes.RECORD_LIST_TOO_LARGE, codes.INVALID_COMMIT_OFFSET_SIZE),
    ],
)
def test_commit_that_cannot_be_written_changes_nothing(append_error: int, answer: int) -> None:
    class RefusingLog(KeptLog):
        refuses = False

        def append_records(self, batch: bytes, acks: int, *, internal: bool) -> Outcome:
            return Outcome(append_error) if self.refuses else super().append_records(batch, acks, internal=internal)

    log = RefusingLog(Random(1))
    world = World(log)
    world.load()
    assert world.commit("g", 3) == codes.NONE
    log.refuses = True
    assert world.commit("g", 4) == answer
    assert world.commit("new", 4) == answer
    committer = Committer("", None, -1, knows_epochs=False, is_transactional=True)
    results = world.coordinator.commit_transactional("g", committer, {READ: (5, -1, "")}, 1, 0)
    assert results == {READ: answer}
    assert world.coordinator.fetch_offsets("g", require_stable=True)[2] == set()
    assert world.coordinator.delete_offsets("g", [READ])[0] != codes.NONE
    assert world.committed("g") == (codes.NONE, 3)
    assert [group for group, _, _ in world.coordinator.group_states()] == ["g"]
    assert world.coordinator.offset_count() == 1


def test_part_of_a_commit_may_be_refused() -> None:
    world = World()
    world.load()
    commits = {READ: (3, -1, "x" * 4097), ("read", 1): (4, -1, "x" * 4096), ("read", 2): (5, -1, None)}
    assert world.coordinator.commit("g", NOBODY, commits) == {
        READ: codes.OFFSET_METADATA_TOO_LARGE,
        ("read", 1): codes.NONE,
        ("read", 2): codes.NONE,
    }
    assert sorted(world.coordinator.fetch_offsets("g")[1]) == [("read", 1), ("read", 2)]


def test_commits_come_back_whatever_is_in_them() -> None:
    world = World()
    world.load()
    commits = {("é" * 60, index): (2**62 + index, index, "✓" * 1000) for index in range(50)}
    assert set(world.coordinator.commit("gruppe ✓", NOBODY, commits).values()) == {codes.NONE}
    before = world.coordinator.fetch_offsets("gruppe ✓")
    world.restart()
    assert world.coordinator.fetch_offsets("gruppe ✓") == before
    assert {place: (kept.offset, kept.leader_epoch, kept.metadata) for place, kept in before[1].items()} == commits


@pytest.mark.parametrize("codec", range(5))
def test_records_are_compressed_as_configured(codec: int) -> None:
    world = World(offsets_topic_compression_codec=str(codec))
    world.load()
    assert world.commit("g", 3) == codes.NONE
    committer = Committer("", None, -1, knows_epochs=False, is_transactional=True)
    world.coordinator.commit_transactional("h", committer, {READ: (5, -1, "")}, 1, 0)
    batches = list(decode_batches(world.log.fetch(0, 1 << 20, 0).records))
    assert [(batch.codec, batch.is_transactional) for batch in batches] == [(codec, False), (codec, True)]
    world.restart()
    assert world.committed("g") == (codes.NONE, 3)


# --- expiry ---------------------------------------------------------------------------------------------------------


def test_standalone_commits_expire_each_by_itself() -> None:
    world = World()
    world.load()
    assert world.commit("old", 1) == codes.NONE
    world.clockwork.now_ms += 60 * MINUTE_MS
    assert world.commit("young", 2) == codes.NONE
    world.clockwork.now_ms += (WEEK_MINUTES - 60) * MINUTE_MS
    world.coordinator.clean_up()
    assert (world.committed("old"), world.committed("young")) == ((codes.NONE, None), (codes.NONE, 2))
    world.restart()
    assert [group for group, _, _ in world.coordinator.group_states()] == ["young"]


def test_expiry_that_cannot_be_written_is_tried_again() -> None:
    world = World()
    world.load()
    assert world.commit("g", 1) == codes.NONE
    world.clockwork.now_ms += WEEK_MINUTES * MINUTE_MS
    world.log.refusals = 1.0
    world.coordinator.clean_up()
    assert world.committed("g") == (codes.NONE, 1)
    world.log.refusals = 0.0
    world.coordinator.clean_up()
    assert world.committed("g") == (codes.NONE, None)
    assert world.coordinator.counts.offset_expirations == 1


def test_many_tombstones_are_written_in_several_batches() -> None:
    pairs = [records.offset_commit_tombstone("g" * 1000, ("read", index)) for index in range(1000)]
    parts = list(in_parts(pairs))
    assert [pair for part in parts for pair in part] == pairs
    assert len(parts) > 3
    assert all(sum(len(key) for key, _ in part) < (1 << 18) + 2000 for part in parts)
    world = World()
    world.load()
    commits = {("read", index): (index, -1, "") for index in range(1000)}
    for first in range(0, 1000, 250):
        some = dict(list(commits.items())[first : first + 250])
        assert set(world.coordinator.commit("g" * 1000, NOBODY, some).values()) == {codes.NONE}
    assert world.coordinator.delete_group("g" * 1000) == codes.NONE
    world.restart()
    assert world.coordinator.offset_count() == 0
