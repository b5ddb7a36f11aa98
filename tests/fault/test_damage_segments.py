"""Segments damaged themselves: the unbroken run stays, what follows the damage is kept aside, and the log names both.

Above the recovery point a start scans; what lies below was on the device once and is not read again, as in Kafka: there
damage is met by whoever reads it. The consumer is told, everything before and after stays readable, and `kcli dump-log`
names the place.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from kcore.record.decoder import decode_batches
from kcore.testing.errors import BrokerNotStarted  # noqa: F401
from tests.broker_process import BrokerProcess
from tests.fault.specimen import (
    PROPERTIES,
    TOPIC,
    Reader,
    Specimen,
    make_specimen,
    rewrite,
    segment_files,
    write,
)

Batches = list[tuple[int, int, int]]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Specimen:
    return make_specimen(tmp_path_factory.mktemp("clean") / "data", clean=True)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Specimen:
    return make_specimen(tmp_path_factory.mktemp("killed") / "data", clean=False)


def batches(content: bytes) -> Batches:
    """Position, first and next offset of each batch, by a reader of records."""
    found, position = [], 0
    for batch in decode_batches(content):
        size = 12 + int.from_bytes(content[position + 8 : position + 12], "big")
        found.append((position, int.from_bytes(content[position : position + 8], "big"), batch.next_offset))
        position += size
    return found


def flip_body(content: bytearray, position: int) -> None:
    content[position + 70] ^= 0x10


def flip_length(content: bytearray, position: int) -> None:
    content[position + 10] ^= 0x01


def flip_magic(content: bytearray, position: int) -> None:
    content[position + 16] ^= 0x08


def truncate(content: bytearray, position: int) -> None:
    del content[position + 40 :]


def zero_tail(content: bytearray, position: int) -> None:
    content[position + 40 :] = bytes(len(content) - position - 40)


def zero_whole_tail(content: bytearray, position: int) -> None:
    content[position:] = bytes(len(content) - position + 4_096)


Damage = Callable[[bytearray, int], None]
INSIDE = (flip_body, flip_length, flip_magic)
TAILS = (truncate, zero_tail, zero_whole_tail)


def check_kept(data: Path, specimen: Specimen, end: int, *, stop: bool = True) -> str:
    """Partition 1 has exactly the records below `end`, and goes on there; partition 0 has all. The broker's log."""
    with BrokerProcess(data, PROPERTIES) as broker:
        with Reader(broker) as reader:
            kept = {offset: value for offset, value in specimen.readable(1).items() if offset < end}
            assert reader.read(1) == kept
            assert reader.read(0) == specimen.readable(0)
        records = {1: dict(kept)}
        write(broker, records, 3)
        assert sorted(records[1]) == list(range(end + 3))
        with Reader(broker) as reader:
            assert reader.read(1) == records[1]
        log = broker.log()
        broker.stop()
    return log


@pytest.mark.parametrize("damage", [*INSIDE, *TAILS])
def test_after_a_crash_the_active_segment_keeps_its_unbroken_run(
    killed: Specimen, damage: Damage, tmp_path: Path
) -> None:
    data = killed.copy(tmp_path / "data")
    active = segment_files(data, ".log", 1)[-1]
    content = bytearray(active.read_bytes())
    position, first, _ = batches(bytes(content))[-4]
    damage(content, position)
    rewrite(active, bytes(content))
    log = check_kept(data, killed, first)
    assert f"Cut {active} at byte {position} of {len(content)}" in log
    saved = {path.name: path.read_bytes() for path in segment_files(data, ".corrupt", 1)}
    if damage in TAILS:
        # Nothing sound follows a torn tail: nothing that anybody was promised.
        assert saved == {}
        assert f"offset {first}" in log
    else:
        assert saved == {f"{active.name}.{position}.corrupt": bytes(content[position:])}
        assert f"The log now ends at offset {first}. Valid batches from offset" in log


@pytest.mark.parametrize("damage", [*INSIDE, truncate])
def test_without_a_recovery_point_later_segments_are_kept_aside(
    killed: Specimen, damage: Damage, tmp_path: Path
) -> None:
    data = killed.copy(tmp_path / "data")
    (data / "recovery-point-offset-checkpoint").unlink()
    segments = segment_files(data, ".log", 1)
    damaged, later = segments[1], segments[2:]
    content = bytearray(damaged.read_bytes())
    position, first, _ = batches(bytes(content))[-4]
    damage(content, position)
    rewrite(damaged, bytes(content))
    expected = {f"{path.name}.corrupt": path.read_bytes() for path in later}
    expected[f"{damaged.name}.{position}.corrupt"] = bytes(content[position:])
    log = check_kept(data, killed, first)
    saved = {path.name: path.read_bytes() for path in segment_files(data, ".corrupt", 1)}
    assert saved == expected
    assert f"Cut {damaged} at byte {position}" in log
    assert all(name in log for name in expected)
    # A second crash finds nothing more to do, and overwrites nothing.
    check_log = check_kept_again(data)
    assert "Cut " not in check_log
    assert {path.name: path.read_bytes() for path in segment_files(data, ".corrupt", 1)} == expected


def check_kept_again(data: Path) -> str:
    (data / ".kafka_cleanshutdown").unlink()
    with BrokerProcess(data, PROPERTIES) as broker:
        return broker.log()


@pytest.mark.parametrize("damage", TAILS)
def test_after_a_clean_stop_a_torn_tail_is_found(clean: Specimen, damage: Damage, tmp_path: Path) -> None:
    """Nobody looks for it: the file's size, or its last batch, does not fit what the stop left."""
    data = clean.copy(tmp_path / "data")
    active = segment_files(data, ".log", 1)[-1]
    content = bytearray(active.read_bytes())
    position, first, _ = batches(bytes(content))[-1]
    damage(content, position)
    active.write_bytes(bytes(content))
    log = check_kept(data, clean, first)
    assert f"Cut {active} at byte {position}" in log


@pytest.mark.parametrize("kind", ["clean", "killed"])
@pytest.mark.parametrize("damage", INSIDE)
def test_damage_below_the_recovery_point_is_met_by_readers_and_named_by_dump_log(
    request: pytest.FixtureRequest, kind: str, damage: Damage, tmp_path: Path
) -> None:
    specimen: Specimen = request.getfixturevalue(kind)
    data = specimen.copy(tmp_path / "data")
    damaged = segment_files(data, ".log", 1)[1]
    content = bytearray(damaged.read_bytes())
    position, first, after = batches(bytes(content))[10]
    damage(content, position)
    rewrite(damaged, bytes(content))
    following = int(segment_files(data, ".log", 1)[2].stem)
    everything = specimen.readable(1)
    with BrokerProcess(data, PROPERTIES) as broker, Reader(broker) as reader:
        with pytest.raises(KafkaException):
            reader.read(1)
        with pytest.raises(KafkaException):
            reader.read(1, first)
        # What stands behind it is still there: from the next segment on, and for who asks for an offset behind it.
        assert reader.read(1, following) == {
            offset: value for offset, value in everything.items() if offset >= following
        }
        if damage is flip_body:
            assert reader.read(1, after) == {offset: value for offset, value in everything.items() if offset >= after}
        assert reader.read(0) == specimen.readable(0)
        # The log goes on, and the directory stays in use.
        records = {1: dict(everything)}
        write(broker, records, 1)
        assert "offline" not in broker.log()
    done = subprocess.run(
        [sys.executable, "-m", "kcli", "dump-log", "--files", str(damaged), "--deep-iteration"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert str(position) in done.stderr + done.stdout
    assert damaged.read_bytes() == content, "nothing is repaired behind anybody's back"


@pytest.mark.parametrize("kind", ["clean", "killed"])
def test_a_lost_segment_leaves_the_others_readable(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> None:
    specimen: Specimen = request.getfixturevalue(kind)
    data = specimen.copy(tmp_path / "data")
    segments = segment_files(data, ".log", 1)
    segments[1].unlink()
    gone = range(int(segments[1].stem), int(segments[2].stem))
    expected = {offset: value for offset, value in specimen.readable(1).items() if offset not in gone}
    with BrokerProcess(data, PROPERTIES) as broker:
        with Reader(broker) as reader:
            assert reader.read(1) == expected
        assert f"{segments[1].stem}.index: its segment does not exist" in broker.log()
    assert TOPIC
