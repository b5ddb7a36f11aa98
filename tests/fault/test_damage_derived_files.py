"""Files that are derived from the log, damaged: everything is still there, each is built anew, and the log says why.

Each harm is done to the files of every segment, older and active, after a clean stop and after kill -9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
from tests.fault.specimen import (
    COMMITTED,
    DELETED_BELOW,
    PARTITIONS,
    PROPERTIES,
    TOPIC,
    Reader,
    Specimen,
    flip,
    make_specimen,
    rewrite,
    segment_files,
    timestamp_of,
    write,
)

Harm = Callable[[Path], None]

LOOKED_AT = (20, 77, 149, 260)


def delete(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    rewrite(path, b"")


def garbage(path: Path) -> None:
    rewrite(path, bytes(range(7, 255)))


def zeros(path: Path) -> None:
    rewrite(path, bytes(path.stat().st_size))


def flip_first(path: Path) -> None:
    if path.stat().st_size:
        flip(path, 0, 0x40)


def flip_each_entry(path: Path) -> None:
    """The low byte of every entry: each still rises, and each is wrong."""
    content = bytearray(path.read_bytes())
    for position in range(3, len(content), 4):
        content[position] ^= 0x01
    rewrite(path, bytes(content))


# What such harm is done to may never be looked up, or the log may hold where it was.
SOMETIMES_MET = (flip_first, flip_each_entry)
HARMS = (delete, empty, garbage, zeros, flip_first, flip_each_entry)
SMALL_HARMS = (delete, flip_first, flip_each_entry)


def by_size(harms: Sequence[Harm]) -> list[object]:
    """As parameters of a test: the small size of the suite has one loss and the flipped bits."""
    return [pytest.param(harm, marks=[] if harm in SMALL_HARMS else [pytest.mark.full_size]) for harm in harms]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Specimen:
    return make_specimen(tmp_path_factory.mktemp("clean") / "data", clean=True)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Specimen:
    return make_specimen(tmp_path_factory.mktemp("killed") / "data", clean=False)


@pytest.fixture(params=["clean", "killed"])
def specimen(request: pytest.FixtureRequest) -> Specimen:
    found: Specimen = request.getfixturevalue(request.param)
    return found


def check_everything(broker: BrokerProcess, specimen: Specimen, *, deleted: bool = True) -> None:
    """Every record, from the start and from several offsets on, and by time; and the log goes on."""
    with Reader(broker) as reader:
        for partition in range(PARTITIONS):
            expected = specimen.readable(partition) if deleted else specimen.records[partition]
            assert reader.read(partition) == expected
        expected = specimen.readable(1)
        for offset in LOOKED_AT:
            assert reader.read(1, offset) == {at: value for at, value in expected.items() if at >= offset}
            assert reader.offset_for_time(1, timestamp_of(offset) - 5) == offset
        assert reader.committed(1) == COMMITTED
        records = {partition: dict(known) for partition, known in specimen.records.items()}
        write(broker, records, 10)
        assert all(len(known) == len(specimen.records[partition]) + 10 for partition, known in records.items())
        assert reader.read(1) == records[1]


@pytest.mark.parametrize("harm", by_size(HARMS))
@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_an_index_is_never_believed_against_its_log(
    specimen: Specimen, suffix: str, harm: Harm, tmp_path: Path
) -> None:
    data = specimen.copy(tmp_path / "data")
    for partition in range(PARTITIONS):
        files = segment_files(data, suffix, partition)
        assert len(files) > 3
        for path in files:
            harm(path)
    with BrokerProcess(data, PROPERTIES) as broker:
        check_everything(broker, specimen)
        if harm not in SOMETIMES_MET:
            # The start had to look, or else readers have found it.
            broker.wait_for_log("The indexes of")
        assert broker.stop() == 0
    first_log = broker.log()
    with BrokerProcess(data, PROPERTIES) as broker:
        with Reader(broker) as reader:
            assert reader.read(0).keys() >= specimen.readable(0).keys()
            assert reader.offset_for_time(1, timestamp_of(77)) == 77
        log = broker.log()
    if harm not in SOMETIMES_MET:
        assert "are missing, empty or wrong. They are rebuilt" in first_log + log


@pytest.mark.parametrize("harm", by_size([delete, empty, garbage, flip_first]))
def test_producers_are_known_without_their_snapshots(specimen: Specimen, harm: Harm, tmp_path: Path) -> None:
    data = specimen.copy(tmp_path / "data")
    for partition in range(PARTITIONS):
        snapshots = segment_files(data, ".snapshot", partition)
        assert snapshots
        for path in snapshots:
            harm(path)
    with BrokerProcess(data, PROPERTIES) as broker:
        check_everything(broker, specimen)
        if harm is not delete:
            assert f"damaged producer snapshots of {TOPIC}-0" in broker.log()


@pytest.mark.parametrize("harm", by_size([delete, empty, garbage, flip_each_entry]))
def test_leader_epochs_are_learnt_from_the_batches(specimen: Specimen, harm: Harm, tmp_path: Path) -> None:
    data = specimen.copy(tmp_path / "data")
    paths = [data / f"{TOPIC}-{partition}" / "leader-epoch-checkpoint" for partition in range(PARTITIONS)]
    before = [path.read_bytes() for path in paths]
    for path in paths:
        harm(path)
    with BrokerProcess(data, PROPERTIES) as broker:
        check_everything(broker, specimen)
        if harm is not flip_each_entry:
            assert "has no readable leader-epoch-checkpoint" in broker.log()
        assert broker.stop() == 0
    for path, old in zip(paths, before, strict=True):
        after, expected = (content.split(b"\n")[2:4] for content in (path.read_bytes(), old))
        # The first one's start moves along with the log's.
        assert after[1] == expected[1] == b"1 150"
        assert after[0] in (b"0 0", b"0 5")


@pytest.mark.parametrize("content", [b"", b"garbage", bytes(34)])
def test_a_transaction_index_that_nobody_wrote_hides_no_record(
    specimen: Specimen, content: bytes, tmp_path: Path
) -> None:
    data = specimen.copy(tmp_path / "data")
    for partition in range(PARTITIONS):
        for path in segment_files(data, ".log", partition):
            path.with_suffix(".txnindex").write_bytes(content)
    with BrokerProcess(data, PROPERTIES) as broker:
        check_everything(broker, specimen)


CHECKPOINTS = ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint")


def nines(path: Path) -> None:
    """Every number that ends a line is as large as one can be."""
    lines = path.read_bytes().split(b"\n")
    harmed = [line.rpartition(b" ")[0] + b" 9223372036854775807" if b" " in line else line for line in lines]
    rewrite(path, b"\n".join(harmed))


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        (name, harm)
        for name in CHECKPOINTS
        for harm in (delete, empty, garbage, zeros, nines)
        # That has a test of its own.
        if not (harm is nines and name.startswith("log-start"))
    ],
)
def test_a_checkpoint_holds_nothing_that_the_log_does_not_know(
    killed: Specimen, name: str, harm: Harm, tmp_path: Path
) -> None:
    data = killed.copy(tmp_path / "data")
    harm(data / name)
    with BrokerProcess(data, PROPERTIES) as broker:
        check_everything(broker, killed, deleted=not name.startswith("log-start"))
        if harm in (empty, garbage, zeros):
            assert "It is ignored and rebuilt; no action is required" in broker.log()
            assert name in broker.log()
        assert broker.stop() == 0
    assert b"9223372036854775807" not in (data / name).read_bytes()


@pytest.mark.parametrize("harm", [delete, garbage])
def test_no_checkpoint_is_needed_after_a_clean_stop(clean: Specimen, harm: Harm, tmp_path: Path) -> None:
    data = clean.copy(tmp_path / "data")
    for name in CHECKPOINTS:
        harm(data / name)
    with BrokerProcess(data, PROPERTIES) as broker:
        check_everything(broker, clean, deleted=False)


def test_a_log_start_offset_beyond_the_log_costs_no_record(specimen: Specimen, tmp_path: Path) -> None:
    """The log begins anew where the checkpoint says, since offsets must not come twice; its segments are kept aside."""
    data = specimen.copy(tmp_path / "data")
    path = data / "log-start-offset-checkpoint"
    kept = {segment.name: segment.read_bytes() for segment in segment_files(data, ".log") if segment.stat().st_size}
    assert path.read_bytes().endswith(b"%d\n" % DELETED_BELOW)
    rewrite(path, path.read_bytes().replace(b" %d\n" % DELETED_BELOW, b" 70005\n"))
    with BrokerProcess(data, PROPERTIES) as broker:
        with Reader(broker) as reader:
            assert reader.read(1) == specimen.readable(1)
        log = broker.log()
        assert f"{TOPIC}-0 ends at offset 300, below its log start offset 70005" in log
    saved = {path.name.removesuffix(".corrupt"): path.read_bytes() for path in segment_files(data, ".corrupt")}
    assert saved == kept
    assert all(name in log for name in kept)
