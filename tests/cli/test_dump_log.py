"""`kcli dump-log`: Apache Kafka's own tool prints the same of the same files; damage is told, and ends with 1."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path

import pytest

from kcore.coordinator.group.consumer import records as group_records
from kcore.coordinator.group.consumer.member import ClassicMember, ConsumerMember
from kcore.coordinator.group.consumer.subscription import ResolvedRegex
from kcore.record.crc import checksum
from kcore.record.encoder import encode_batch
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Kcli, run_kcli

FIRST = "00000000000000000000"
TIME = 1_700_000_000_000


def write_log(directory: Path, batches: int = 3, codec: int = 0) -> Path:
    """Batches of four records each, two of them with keys and headers."""
    directory.mkdir(parents=True, exist_ok=True)
    content = b""
    for number in range(batches):
        records = [
            (b"key", b"value %d" % number, [("h", b"1"), ("i", None)], TIME + number * 10),
            (None, b"plain", [], TIME + number * 10 + 1),
            (b"tombstone", None, [], TIME + number * 10 + 2),
            (b"", b"", [], TIME + number * 10 + 3),
        ]
        content += encode_batch(
            records,
            codec=codec,
            base_offset=number * 4,
            leader_epoch=2,
            producer_id=7,
            producer_epoch=1,
            base_sequence=number * 4,
        )
    path = directory / f"{FIRST}.log"
    path.write_bytes(content)
    return path


def write_indexes(log: Path, batches: int = 3) -> None:
    size = log.stat().st_size // batches
    offsets = [struct.pack(">ii", number * 4 + 3, number * size) for number in range(1, batches)]
    log.with_suffix(".index").write_bytes(b"".join(offsets))
    times = [struct.pack(">qi", TIME + number * 10 + 3, number * 4 + 3) for number in range(1, batches)]
    log.with_suffix(".timeindex").write_bytes(b"".join(times))


def kafkas_dump(checkout: Path, *arguments: str | Path, version: str = "3.9") -> str:
    command = [checkout / "bin" / "kafka-run", version, "DumpLogSegments", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_batches_and_records_as_kafka_prints_them(tmp_path: Path, offline: Kcli) -> None:
    log = write_log(tmp_path, batches=1)
    raw = log.read_bytes()
    crc = int.from_bytes(raw[17:21], "big")
    assert offline("dump-log", "--files", log, "--print-data-log") == (
        0,
        f"Dumping {log}\n"
        "Log starting offset: 0\n"
        "baseOffset: 0 lastOffset: 3 count: 4 baseSequence: 0 lastSequence: 3 producerId: 7 producerEpoch: 1 "
        "partitionLeaderEpoch: 2 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty "
        f"position: 0 CreateTime: {TIME + 3} size: {len(raw)} magic: 2 compresscodec: none crc: {crc} isvalid: true\n"
        f"| offset: 0 CreateTime: {TIME} keySize: 3 valueSize: 7 sequence: 0 headerKeys: [h,i] "
        "key: key payload: value 0\n"
        f"| offset: 1 CreateTime: {TIME + 1} keySize: -1 valueSize: 5 sequence: 1 headerKeys: [] payload: plain\n"
        f"| offset: 2 CreateTime: {TIME + 2} keySize: 9 valueSize: -1 sequence: 2 headerKeys: [] key: tombstone\n"
        f"| offset: 3 CreateTime: {TIME + 3} keySize: 0 valueSize: 0 sequence: 3 headerKeys: [] key:  payload: \n",
        "",
    )


@pytest.mark.needs("java", "mvn")
@pytest.mark.parametrize("codec", range(5))
def test_kafkas_tool_agrees_on_files_made_here(tmp_path: Path, checkout: Path, offline: Kcli, codec: int) -> None:
    log = write_log(tmp_path, codec=codec)
    write_indexes(log)
    files = ",".join(str(log.with_suffix(suffix)) for suffix in (".log", ".index", ".timeindex"))
    for arguments in (["--deep-iteration"], ["--print-data-log", "--skip-record-metadata"], ["--index-sanity-check"]):
        ours = offline("dump-log", "--files", files, *arguments)
        assert (ours.code, ours.stderr) == (0, "")
        assert ours.stdout == kafkas_dump(checkout, "--files", files, *arguments)


@pytest.mark.needs("java", "mvn")
def test_kafkas_tool_agrees_on_files_of_a_broker(tmp_path: Path, checkout: Path, offline: Kcli) -> None:
    """A segment that was rolled, its indexes, its producer snapshot, and the committed offsets of a group."""
    overrides = {"log.index.interval.bytes": "256", "offsets.topic.num.partitions": "1"}
    with BrokerProcess(tmp_path / "data", overrides) as broker:
        server = ("--bootstrap-server", broker.bootstrap_server)
        run_kcli("topics", "create", "dumped", *server, "--config", "segment.bytes=16384")
        for _ in range(4):
            lines = "".join(f"{number:040}\n" for number in range(200))
            assert run_kcli("console-producer", "--topic", "dumped", *server, stdin=lines).code == 0
        read = ("--topic", "dumped", "--group", "g", "--from-beginning", "--max-messages", "800")
        assert run_kcli("console-consumer", *server, *read).code == 0
        assert broker.stop() == 0
    partition = tmp_path / "data" / "dumped-0"
    files = sorted(path for path in partition.iterdir() if path.suffix in (".log", ".index", ".timeindex", ".snapshot"))
    assert {path.suffix for path in files} == {".log", ".index", ".timeindex", ".snapshot"}
    filled = ",".join(str(path) for path in files if path.stat().st_size)
    ours = offline("dump-log", "--files", filled, "--deep-iteration")
    assert (ours.code, ours.stderr) == (0, "")
    assert ours.stdout == kafkas_dump(checkout, "--files", filled, "--deep-iteration")
    offsets = tmp_path / "data" / "__consumer_offsets-0" / f"{FIRST}.log"
    ours = offline("dump-log", offsets, "--offsets-decoder")
    assert ours.stdout == kafkas_dump(checkout, "--files", offsets, "--offsets-decoder")
    assert '"group":"g"' in ours.stdout


@pytest.mark.needs("java", "mvn")
def test_kafkas_tool_agrees_on_groups_of_the_consumer_protocol(tmp_path: Path, checkout: Path, offline: Kcli) -> None:
    topic = bytes(range(16))
    member = ConsumerMember(
        "m",
        instance_id="i",
        subscribed_topic_names=frozenset(("b", "a")),
        classic=ClassicMember(30_000, (("range", b"\x00\x01"),)),
        assigned={topic: {0: 2, 3: 4}},
    )
    written = [
        group_records.member("g", member),
        group_records.member("g", member.replaced(classic=None, subscribed_topic_regex=None)),
        group_records.group_epoch("g", 2, 0),
        group_records.group_epoch("g", 3, -5),
        group_records.target("g", "m", {topic: frozenset((3, 0))}),
        group_records.target_epoch("g", 3, TIME),
        group_records.current("g", member),
        group_records.regex("g", "a.*", ResolvedRegex(frozenset(("b", "a")), 7, TIME)),
        *group_records.group_tombstones("g", ["m"], ["a.*"]),
    ]
    path = tmp_path / f"{FIRST}.log"
    path.write_bytes(encode_batch([(key, value, [], TIME) for key, value in written]))
    ours = offline("dump-log", path, "--offsets-decoder")
    assert ours.stdout == kafkas_dump(checkout, "--files", path, "--offsets-decoder", version="4")
    assert ours.stdout.count('"groupId":"g"') == len(written)


def test_json_lines(tmp_path: Path, offline: Kcli) -> None:
    log = write_log(tmp_path, batches=2)
    rows = [json.loads(line) for line in offline("dump-log", log, "-o", "jsonl").stdout.splitlines()]
    assert [row["kind"] for row in rows] == ["file", "batch", "batch"]
    assert (rows[2]["base_offset"], rows[2]["last_offset"], rows[2]["is_valid"]) == (4, 7, True)
    deep = offline("dump-log", log, "-o", "jsonl", "--deep-iteration").stdout
    assert "value 0" not in deep, "payloads are printed only when asked for"
    data = [
        json.loads(line) for line in offline("dump-log", log, "-o", "jsonl", "--print-data-log").stdout.splitlines()
    ]
    assert [row["value"] for row in data if row["kind"] == "record"][:4] == ["value 0", "plain", None, ""]


def test_a_torn_tail_and_a_flipped_bit_are_told(tmp_path: Path, offline: Kcli) -> None:
    log = write_log(tmp_path)
    whole = log.read_bytes()
    log.write_bytes(whole[:-10])
    torn = offline("dump-log", log)
    batch = len(whole) // 3
    assert torn.code == 1
    assert torn.stdout.splitlines()[-1] == f"Found {batch - 10} invalid bytes at the end of {log.name}"
    assert torn.stderr == f"kcli dump-log: {log}: no complete batch at position {2 * batch}\n"
    flipped = bytearray(whole)
    flipped[batch + 70] ^= 1
    log.write_bytes(flipped)
    result = offline("dump-log", log, "--deep-iteration")
    assert result.code == 1
    mismatch = f"the checksum of the batch at position {batch} does not match"
    assert result.stderr.splitlines()[0] == f"kcli dump-log: {log}: {mismatch}"
    assert [line.rpartition(" ")[2] for line in result.stdout.splitlines() if "isvalid" in line] == [
        "true",
        "false",
        "true",
    ]


def test_index_entries_that_point_elsewhere_are_told(tmp_path: Path, offline: Kcli) -> None:
    log = write_log(tmp_path)
    index, time_index = log.with_suffix(".index"), log.with_suffix(".timeindex")
    index.write_bytes(struct.pack(">ii", 5, log.stat().st_size // 3) + bytes(80))
    time_index.write_bytes(struct.pack(">qi", TIME, 3))
    result = offline("dump-log", index, time_index, "--verify-index-only")
    assert (result.code, result.stdout) == (1, f"Dumping {index}\nDumping {time_index}\n")
    assert result.stderr.splitlines() == [
        f"kcli dump-log: Mismatches in :{index}",
        "kcli dump-log: Index offset: 5, log offset: 7",
        f"kcli dump-log: Found timestamp mismatch in :{time_index}",
        f"kcli dump-log: Index timestamp: {TIME}, log timestamp: {TIME + 3}",
    ]
    index.write_bytes(bytes(9))
    insane = offline("dump-log", index, "--index-sanity-check")
    assert insane.stdout.splitlines()[-1] == f"{index} is empty."


@pytest.mark.parametrize("option", [(), ("--verify-index-only",)])
def test_a_damaged_index_entry_is_reported(tmp_path: Path, offline: Kcli, option: tuple[str, ...]) -> None:
    log = write_log(tmp_path)
    write_indexes(log)
    index, time_index = log.with_suffix(".index"), log.with_suffix(".timeindex")
    remedy = "A broker rebuilds the index: delete the file and restart the broker"
    index.write_bytes(struct.pack(">ii", 5, -7))
    damaged = offline("dump-log", index, *option)
    assert (damaged.code, damaged.stdout) == (1, f"Dumping {index}\n")
    assert damaged.stderr == f"kcli dump-log: {index}: entry 1 (offset 5, position -7) is not valid. {remedy}\n"
    assert offline("dump-log", time_index, *option).code == 0, "entries of a damaged offset index are not used"
    time_index.write_bytes(struct.pack(">qi", -TIME, 3))
    damaged = offline("dump-log", time_index, *option)
    assert damaged.code == 1
    assert (
        damaged.stderr == f"kcli dump-log: {time_index}: entry 1 (timestamp {-TIME}, offset 3) is not valid. {remedy}\n"
    )


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        (struct.pack(">hqqqq", 0, 7, 0, 3, 0) + b"abc", "3 bytes after the last entry are not a complete entry"),
        (struct.pack(">hqqqq", 9, 7, 0, 3, 0), "entry 1 has the unknown version 9"),
        (struct.pack(">hqqqq", 0, 7, -1, 3, 0), "entry 1 (producer id 7, offsets -1 to 3) is not valid"),
    ],
)
def test_a_damaged_transaction_index_is_reported(tmp_path: Path, offline: Kcli, content: bytes, finding: str) -> None:
    path = tmp_path / f"{FIRST}.txnindex"
    path.write_bytes(content)
    damaged = offline("dump-log", path)
    assert damaged.code == 1
    assert damaged.stderr.startswith(
        f"kcli dump-log: {path}: {finding}. A broker rebuilds it together with the offset index"
    )


def test_a_producer_snapshot(tmp_path: Path, offline: Kcli) -> None:
    entry = struct.pack(">qhiqiqiq", 4711, 3, 99, 500, 9, TIME, -1, -1)
    counted = struct.pack(">i", 1) + entry
    path = tmp_path / f"{501:020}.snapshot"
    path.write_bytes(struct.pack(">hI", 1, checksum(counted)) + counted)
    assert offline("dump-log", path) == (
        0,
        f"Dumping {path}\n"
        "producerId: 4711 producerEpoch: 3 coordinatorEpoch: -1 currentTxnFirstOffset: OptionalLong.empty "
        f"lastTimestamp: {TIME} firstSequence: 90 lastSequence: 99 lastOffset: 500 offsetDelta: 9 timestamp: {TIME}\n",
        "",
    )
    path.write_bytes(path.read_bytes()[:-1] + b"\x00")
    broken = offline("dump-log", path)
    assert (broken.code, broken.stderr) == (1, f"kcli dump-log: {path}: the checksum of the snapshot does not match\n")


def test_a_directory_stands_for_its_segments_in_order(tmp_path: Path, offline: Kcli) -> None:
    log = write_log(tmp_path)
    second = tmp_path / f"{12:020}.log"
    second.write_bytes(b"")
    lines = offline("dump-log", tmp_path).stdout.splitlines()
    assert [line for line in lines if line.startswith(("Dumping", "Log"))] == [
        f"Dumping {log}",
        "Log starting offset: 0",
        f"Dumping {second}",
        "Log starting offset: 12",
    ]


@pytest.mark.parametrize("suffix", [".corrupt", ".corrupt.1", ".128.corrupt", ".128.corrupt.2"])
def test_segments_that_recovery_set_aside(tmp_path: Path, offline: Kcli, suffix: str) -> None:
    log = write_log(tmp_path)
    whole = offline("dump-log", log, "--print-data-log")
    saved = log.rename(f"{log}{suffix}")
    dumped = offline("dump-log", saved, "--print-data-log")
    assert (dumped.code, dumped.stderr) == (0, "")
    assert dumped.stdout == whole.stdout.replace(str(log), str(saved))


def test_usage(tmp_path: Path, offline: Kcli) -> None:
    assert offline("dump-log") == (2, "", "kcli dump-log: no file given: pass FILE, or --files FILE,FILE\n")
    missing = tmp_path / f"{FIRST}.log"
    assert offline("dump-log", missing).stderr == f"kcli dump-log: {missing}: no such file or directory\n"
    nameless = missing.with_name("nope.log")
    assert offline("dump-log", nameless).stderr == f"kcli dump-log: {nameless}: no such file or directory\n"
    other = tmp_path / "notes.txt"
    other.write_text("x")
    assert offline("dump-log", other) == (
        1,
        "",
        f"kcli dump-log: {other}: not a .log, .index, .timeindex, .txnindex, .snapshot or .corrupt file\n",
    )
