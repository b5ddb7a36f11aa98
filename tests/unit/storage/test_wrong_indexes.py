"""Indexes that lie: the log is asked, whatever they say, and who relies on them is not misled."""

from __future__ import annotations

import random
import struct
from pathlib import Path

from kcore.platform.memory_disk import MemoryDisk
from kcore.record.decoder import decode_batches
from kcore.storage.log import Log
from tests.unit.storage.log_place import LOG_END, OLD_MS, LogPlace, append_each, batch, file_name, read_all

PROPERTIES: dict[str, object] = {
    "segment.bytes": 1_500,
    "index.interval.bytes": 100,
    "producer.id.expiration.ms": 2**62,
}
COUNT = 120
SECOND_MS = 1_000
OFFSET_ENTRY, TIME_ENTRY = struct.Struct(">ii"), struct.Struct(">qi")


def closed(place: LogPlace) -> list[int]:
    """A log of several finished segments, a second between records; their base offsets."""
    log = place.open(PROPERTIES)
    for number in range(COUNT):
        append_each(log, 1, timestamp=OLD_MS + number * (SECOND_MS - 1))
    log.flush()
    log.close()
    bases = [segment.base_offset for segment in log.segments]
    assert len(bases) > 3
    del log
    place.let_go()
    return bases


def time_of(offset: int) -> int:
    return OLD_MS + offset * SECOND_MS


def check_reads(log: Log) -> None:
    """Every offset is found, by itself and by its time."""
    for offset in range(COUNT):
        first = next(iter(decode_batches(log.read(offset, 1, LOG_END))))
        assert first.base_offset <= offset < first.next_offset
        assert log.offset_for_timestamp(time_of(offset) - 1) == (offset, time_of(offset))


def test_an_entry_of_a_later_place_hides_no_record(place: LogPlace) -> None:
    closed(place)
    content = place.read_file(file_name(0, ".index"))
    entries = list(OFFSET_ENTRY.iter_unpack(content))
    later = [(offset, entries[min(i + 3, len(entries) - 1)][1]) for i, (offset, _) in enumerate(entries)]
    place.write_file(file_name(0, ".index"), b"".join(OFFSET_ENTRY.pack(*entry) for entry in later))
    log = place.open(PROPERTIES, clean_shutdown=True)
    check_reads(log)
    assert log.segments[0].indexes_are_wrong
    log.close()
    assert file_name(0, ".index") not in place.names(), "so that the next start builds it anew"
    del log
    log = place.open(PROPERTIES, clean_shutdown=True)
    assert place.read_file(file_name(0, ".index")) == content
    check_reads(log)
    assert not any(segment.indexes_are_wrong for segment in log.segments)


def test_a_batch_within_a_record_is_none_of_the_log(place: LogPlace) -> None:
    """As a mirror's or a dump's records hold them; here it even claims the offset that is looked for."""
    log = place.open(PROPERTIES)
    inner = batch(base_offset=6, value=b"inner")
    append_each(log, 4)
    log.append(batch(value=inner))
    append_each(log, 4)
    log.close()
    del log
    position = place.read_file(file_name(0)).index(inner)
    entries = list(OFFSET_ENTRY.iter_unpack(place.read_file(file_name(0, ".index"))))
    assert entries
    for number, (offset, _) in enumerate(entries):
        assert offset != 6
        spoilt = [*entries[:number], (offset, position), *entries[number + 1 :]]
        place.write_file(file_name(0, ".index"), b"".join(OFFSET_ENTRY.pack(*entry) for entry in spoilt))
        log = place.open(PROPERTIES, clean_shutdown=True)
        assert [value for _, value in read_all(log)] == [b"value"] * 4 + [inner] + [b"value"] * 4
        assert next(iter(next(iter(decode_batches(log.read(6, 1, LOG_END)))))).value == b"value"
        del log


def test_retention_believes_no_time_index_that_lost_its_end(memory_place: LogPlace) -> None:
    """Its last entry is much older than the newest record: the segment would be deleted hours too early."""
    bases = closed(memory_place)
    content = memory_place.read_file(file_name(0, ".timeindex"))
    memory_place.write_file(file_name(0, ".timeindex"), content[: TIME_ENTRY.size])
    ((oldest, _),) = TIME_ENTRY.iter_unpack(content[: TIME_ENTRY.size])
    newest = time_of(bases[1] - 1)
    log = memory_place.open({**PROPERTIES, "retention.ms": 1_000}, clean_shutdown=True)
    log.advance_high_watermark(COUNT)
    assert log.delete_old_segments((oldest + newest) // 2 + 1_000) == 0
    assert log.delete_old_segments(newest + 1_001) == 1
    log.close()


def test_retention_believes_no_flipped_timestamp(memory_place: LogPlace) -> None:
    closed(memory_place)
    name = file_name(0, ".timeindex")
    content = bytearray(memory_place.read_file(name))
    before = log_times(memory_place)
    content[-TIME_ENTRY.size + 4] ^= 0x40
    content[-TIME_ENTRY.size + 3] ^= 0x01
    memory_place.write_file(name, content)
    assert log_times(memory_place) == before


def log_times(place: LogPlace) -> list[int]:
    log = place.open(PROPERTIES, clean_shutdown=True)
    log.read(0, 1, LOG_END)
    for offset in (0, COUNT // 2, COUNT - 1):
        log.offset_for_timestamp(time_of(offset))
    times = [segment.max_timestamp for segment in log.segments]
    log.close()
    del log
    place.let_go()
    return times[:1]


def test_random_damage_to_any_index_misleads_nobody(tmp_path: Path) -> None:
    chance = random.Random(23)
    for _ in range(25):
        place = LogPlace(MemoryDisk(), "/data/orders-0")
        for base in closed(place):
            for suffix in (".index", ".timeindex"):
                content = bytearray(place.read_file(file_name(base, suffix)))
                for _ in range(chance.randrange(4) if content else 0):
                    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
                place.write_file(file_name(base, suffix), content[: chance.choice((len(content), len(content) // 2))])
        for clean in (True, False):
            check_reads(place.open(PROPERTIES, clean_shutdown=clean, recovery_point=COUNT))
            place.let_go()
