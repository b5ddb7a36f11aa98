"""Index files: by themselves, and as a part of a log's directory that is opened and read.

    what uint8 (0 an offset index, 1 a time index, 2 a log) | option uint8 | the file's bytes, or of a log
    a piece each: file uint8 | size uint32 | bytes

By itself a file of any bytes can be loaded, searched, cut and written back. In a log it may say what it likes: the log
is the truth, so every record is found by its offset and its time as if the index were right.
"""

from __future__ import annotations

import random
import struct
from bisect import bisect_right

from kcore.logger import FATAL, LOGGERS
from kcore.platform.memory_disk import MemoryDisk
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch
from kcore.storage.log import Log
from kcore.storage.log_config import LogConfig
from kcore.storage.log_loader import load_log
from tests.fuzz.mutation import BOUNDARIES, Mutator, mutated_text
from tests.fuzz.targets import Target
from tests.native import build

OFFSET_INDEX, TIME_INDEX, LOG = range(3)
BASE_OFFSETS = (0, 1, 2**31, 2**40, 2**62)
PROBED = (0, 1, 5, 2**31, 2**40 + 3, 2**62, 2**63 - 1, -1, -(2**63))
PATH = "/data/index"
DIRECTORY = "/data/orders-0"
FIRST_TIME_MS = 1_700_000_000_000
BATCHES, SEGMENT_BYTES = 40, 1300
# Of the directory that is spoilt: what is derived from the log, which must be found again whatever it says.
SPOILT_SUFFIXES = (".index", ".timeindex", ".snapshot", "leader-epoch-checkpoint")
CONFIG = {"segment.bytes": SEGMENT_BYTES, "index.interval.bytes": 100}


class Indexes(Target):
    name = "indexes"
    cases_per_seed = 200

    def __init__(self) -> None:
        # What is rebuilt is said in a line each; here that is wanted.
        LOGGERS.get("kcore.storage")
        LOGGERS.set_level("kcore.storage", FATAL)
        self.probe = build.load("decoder_probe")
        self.disk = MemoryDisk()
        self.disk.mkdirs("/data")
        self.files = written_log()
        self.derived = [name for name in sorted(self.files) if name.endswith(SPOILT_SUFFIXES)]
        self.records = everything(self.opened(self.files, clean=True))

    def close(self) -> None:
        LOGGERS.set_level("kcore.storage", None)

    # Making

    def generate(self, source: random.Random, seed: int) -> bytes:
        what = source.choice((OFFSET_INDEX, TIME_INDEX, LOG))
        head = bytes((what, source.randrange(256)))
        if what != LOG:
            return head + self.index(source, 8 if what == OFFSET_INDEX else 12)
        pieces = b""
        for position in source.sample(range(len(self.derived)), source.choice((1, 1, 2, len(self.derived)))):
            content = self.spoilt(source, self.derived[position])
            pieces += bytes((position,)) + struct.pack(">I", len(content)) + content
        return head + pieces

    def index(self, source: random.Random, entry_bytes: int) -> bytes:
        entries = sorted(source.getrandbits(31) for _ in range(source.choice((0, 1, 2, 7, 100))))
        if entry_bytes == 8:
            content = b"".join(struct.pack(">ii", entry, entry // 2) for entry in entries)
        else:
            content = b"".join(struct.pack(">qi", FIRST_TIME_MS + entry, entry) for entry in entries)
        if source.random() < 0.8:
            content = Mutator(source).mutated(content)
        return content + bytes(source.choice((0, 0, 1, 12, 96)))

    def spoilt(self, source: random.Random, name: str) -> bytes:
        content = self.files[name]
        if name.startswith("leader"):
            return mutated_text(source, content)
        size = 12 if name.endswith(".timeindex") else 8
        if len(content) >= size and source.random() < 0.5:
            # One field of one entry.
            at = source.randrange(len(content) // size) * size + source.choice((0, 4))
            value = source.choice((*BOUNDARIES, source.randrange(SEGMENT_BYTES)))
            return content[:at] + struct.pack(">I", value & 0xFFFFFFFF) + content[at + 4 :]
        return Mutator(source).mutated(content)

    # Judging

    def check(self, data: bytes) -> None:
        if len(data) < 2:
            return
        what, option, content = data[0] % 3, data[1], data[2:]
        if what == LOG:
            self.check_log(option, content)
            return
        self.disk.write_file_atomically(PATH, content)
        base_offset = BASE_OFFSETS[option % len(BASE_OFFSETS)]
        if what == OFFSET_INDEX:
            self.check_offset_index(content, base_offset, bool(option & 128))
        else:
            self.check_time_index(content, base_offset, bool(option & 128))

    def check_offset_index(self, content: bytes, base_offset: int, writable: bool) -> None:
        probed = [offset for offset in PROBED if offset >= base_offset]
        entries, sane, found = self.probe.offset_index(self.disk, PATH, base_offset, 2**31 - 1, writable, probed)
        assert entries == [
            (base_offset + relative, position)
            for relative, position in struct.iter_unpack(">ii", content[: len(entries) * 8])
        ]
        assert all(answer in [*entries, (base_offset, 0)] for answer in found)
        if sane and entries == sorted(entries):
            offsets = [offset for offset, _ in entries]
            for offset, answer in zip(probed, found, strict=True):
                count = bisect_right(offsets, offset)
                assert answer == (entries[count - 1] if count else (base_offset, 0))

    def check_time_index(self, content: bytes, base_offset: int, writable: bool) -> None:
        count, sane, last, found = self.probe.time_index(self.disk, PATH, base_offset, writable, list(PROBED))
        rows = struct.iter_unpack(">qi", content[: count * 12])
        entries = [(timestamp, base_offset + relative) for timestamp, relative in rows]
        assert last == (entries[-1] if entries else (-1, base_offset))
        assert all(answer in [*entries, (-1, base_offset)] for answer in found)
        if sane and entries == sorted(entries):
            times = [timestamp for timestamp, _ in entries]
            for timestamp, answer in zip(PROBED, found, strict=True):
                count = bisect_right(times, timestamp)
                assert answer == (entries[count - 1] if count else (-1, base_offset))

    def check_log(self, option: int, pieces: bytes) -> None:
        files = dict(self.files)
        at = 0
        while at + 5 <= len(pieces):
            size = int.from_bytes(pieces[at + 1 : at + 5], "big")
            files[self.derived[pieces[at] % len(self.derived)]] = pieces[at + 5 : at + 5 + size]
            at += 5 + size
        log = self.opened(files, clean=bool(option & 1))
        offsets = [offset for offset, _, _ in self.records]
        for wanted in (0, option % (len(offsets) + 1), offsets[-1]):
            assert everything(log, wanted) == self.records[wanted:]
        asked = self.records[option % len(self.records)]
        assert log.offset_for_timestamp(asked[1]) == asked[:2]
        assert log.failure is None

    def opened(self, files: dict[str, bytes], clean: bool) -> Log:
        disk = MemoryDisk(now_ms=FIRST_TIME_MS)
        disk.mkdirs(DIRECTORY)
        for name, content in files.items():
            disk.write_file_atomically(f"{DIRECTORY}/{name}", content)
        config = LogConfig.from_properties(CONFIG)
        return load_log(disk, DIRECTORY, "orders", 0, config, clean_shutdown=clean, recovery_point=10)


def written_log() -> dict[str, bytes]:
    """The files of a log of several segments, epochs and producers, as a clean shutdown leaves them."""
    disk = MemoryDisk(now_ms=FIRST_TIME_MS)
    disk.mkdirs(DIRECTORY)
    log = load_log(disk, DIRECTORY, "orders", 0, LogConfig.from_properties(CONFIG))
    for number in range(BATCHES):
        if number % 15 == 0:
            log.assign_epoch_start(number // 15, log.end_offset)
        producer = {"producer_id": number % 3, "producer_epoch": 0, "base_sequence": number // 3}
        rows = [(b"k", b"%d" % number, [], FIRST_TIME_MS + number)]
        log.append(encode_batch(rows, **producer), number // 15)
    log.flush()
    log.close()
    return {
        name: disk.read_file(f"{DIRECTORY}/{name}") for name in disk.listdir(DIRECTORY) if name != "partition.metadata"
    }


def everything(log: Log, offset: int = 0) -> list[tuple[int, int, bytes | None]]:
    """Offset, time and value of every record from an offset on, as a consumer reads them."""
    found: list[tuple[int, int, bytes | None]] = []
    while data := log.read(offset, 2**31 - 1, 0):
        reached = offset
        for batch in decode_batches(data):
            found.extend((record.offset, record.timestamp, record.value) for record in batch if record.offset >= offset)
            assert batch.next_offset > offset, "the log gives what stands before the offset that was asked for"
            offset = batch.next_offset
        assert offset > reached, "the log gives bytes that hold no batch"
    return found


def make() -> Indexes:
    return Indexes()
