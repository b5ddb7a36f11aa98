"""What a load makes of the batches of `__consumer_offsets`."""

from __future__ import annotations

import pytest

from kcore.coordinator.group import records
from kcore.coordinator.group.offsets import CommittedOffset
from kcore.coordinator.group.replay import Replay
from kcore.record.control import encode_marker
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch

READ = ("read", 0)
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4


def commit(offset: int, group: str = "g") -> tuple[bytes, bytes | None]:
    return records.offset_commits(group, {READ: CommittedOffset(offset, 2, "note", 77)})[0]


def replayed(*batches: bytes, place: str = "__consumer_offsets-0") -> Replay:
    replay = Replay(place)
    for batch in decode_batches(b"".join(batches)):
        replay.take_batch(batch)
    return replay


def offset_of(replay: Replay, group: str = "g") -> int | None:
    committed = replay.offsets.of_group(group).get(READ)
    return None if committed is None else committed.offset


def in_transaction(offset: int, base_offset: int, producer_id: int = 9) -> bytes:
    return encode_batch(
        [commit(offset)],
        timestamp=0,
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0,
        transactional=True,
    )


def marker(is_commit: bool, base_offset: int, producer_id: int = 9) -> bytes:
    return encode_marker(is_commit, 0, producer_id=producer_id, producer_epoch=0, timestamp=0, base_offset=base_offset)


@pytest.mark.parametrize("codec", [0, GZIP, SNAPPY, LZ4, ZSTD])
def test_newest_record_of_a_key_counts(codec: int) -> None:
    replay = replayed(encode_batch([commit(1), commit(2), commit(3, "h")], timestamp=0, codec=codec))
    assert (offset_of(replay), offset_of(replay, "h"), replay.record_count) == (2, 3, 3)
    (committed,) = replay.offsets.of_group("h").values()
    assert (committed.leader_epoch, committed.metadata, committed.commit_timestamp_ms) == (2, "note", 77)
    assert committed.record_offset == 2


def test_tombstone_ends_an_offset_and_a_group() -> None:
    group = records.GroupMetadata("consumer", 1, None, None, 5, [])
    kept = encode_batch([commit(1), records.group_metadata("g", group)], timestamp=0)
    assert list(replayed(kept).classic_groups) == ["g"]
    gone = encode_batch(
        [records.offset_commit_tombstone("g", READ), records.group_metadata_tombstone("g")], timestamp=0, base_offset=2
    )
    replay = replayed(kept, gone)
    assert not replay.classic_groups
    assert not replay.offsets.groups_with_any()


@pytest.mark.parametrize(("is_commit", "found"), [(True, 7), (False, 1)])
def test_marker_decides_on_a_transaction(is_commit: bool, found: int) -> None:
    replay = replayed(encode_batch([commit(1)], timestamp=0), in_transaction(7, 1), marker(is_commit, 2))
    assert offset_of(replay) == found
    assert not replay.offsets.has_open_transaction("g")


def test_transaction_without_a_marker_stays_open() -> None:
    replay = replayed(encode_batch([commit(1)], timestamp=0), in_transaction(7, 1), marker(True, 2, producer_id=8))
    assert offset_of(replay) == 1
    assert replay.offsets.pending_places("g") == {READ}


def test_commit_of_an_idempotent_producer_is_no_transaction() -> None:
    replay = replayed(encode_batch([commit(4)], timestamp=0, producer_id=9, producer_epoch=0, base_sequence=0))
    assert offset_of(replay) == 4


def test_what_cannot_be_read_or_is_not_known_hides_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    strange = [(b"\x00\x11later", b"?"), (b"\x7f\xff", None), (b"", b"?"), (b"\x00\x01", b"?"), (None, b"?")]
    foreign = [(version.to_bytes(2, "big") + b"\x00\x01g", b"\x00\x00") for version in range(9, 16)]
    # Kinds are logged once in a process. Other tests load the other partitions.
    place = "__consumer_offsets-4711"
    replay = replayed(encode_batch([*strange, *foreign, commit(3)], timestamp=0), place=place)
    assert offset_of(replay) == 3
    assert replay.unreadable_count == 2
    replayed(encode_batch([*strange, *foreign], timestamp=0), place=place)
    written = capfd.readouterr().err
    assert written.count("Records of kind 17 ") == written.count("Records of kind 9 (ShareGroupPartitionMetadata)") == 1
