"""Record batches of all magics and codecs: the readers, the codecs, and LogValidator's rules.

    what uint8 (0 batches, 1 a payload of codec `option & 7`, 2 LogValidator's rules) | option uint8 | the bytes

Bounds: what comes out of a codec stays below the limit that was given, and so does the memory that it takes.
"""

from __future__ import annotations

import random
import struct
import zlib

import crc32c

from kcore import errors
from kcore.record.compression import compress_bytes, decompress_bytes
from kcore.record.decoder import decode_batches
from kcore.record.decompressed_bound import bound_of
from kcore.record.encoder import encode_batch
from kcore.record.validator import validate
from tests.fuzz.mutation import BOUNDARIES, Mutator
from tests.fuzz.targets import Target
from tests.fuzz.targets.apis import exact as exact_behind
from tests.native import build
from tests.unit.record import batches

HEAD = 2
BATCHES, PAYLOAD, RULES = range(3)
REPLICATED = 2
LIMIT_BYTES = 1 << 20
HEADER_BYTES = 61
CODECS = (1, 2, 3, 4)
INVALID = (errors.CorruptMessageError, errors.MessageTooLargeError, errors.UnsupportedCompressionTypeError)
OLD_HEAD = struct.Struct(">qiIbb")
BOMB = bytes(4 * LIMIT_BYTES)


def exact(data: bytes) -> object:
    """Memory that ends with the bytes."""
    return memoryview(exact_behind(data)).cast("B")[16:]


class Batches(Target):
    name = "batches"
    cases_per_seed = 1500

    def __init__(self) -> None:
        self.probe = build.load("decoder_probe")
        self.bombs = {codec: compress_bytes(codec, BOMB) for codec in CODECS}

    # Making

    def generate(self, source: random.Random, seed: int) -> bytes:
        what = source.choice((BATCHES, BATCHES, PAYLOAD, RULES, RULES))
        option = source.randrange(256)
        if what == PAYLOAD:
            option = source.choice(CODECS)
            return bytes((what, option)) + self.payload(source, option)
        data = b"".join(self.batch(source) for _ in range(source.choice((1, 1, 1, 2, 3)) if what == BATCHES else 1))
        if source.random() < 0.25:
            data = Mutator(source).mutated(data, (self.batch(source),))
        return bytes((what, option)) + data

    def payload(self, source: random.Random, codec: int) -> bytes:
        if source.random() < 0.02:
            data = self.bombs[codec]
        else:
            piece = source.randbytes(source.randrange(1, 40))
            data = compress_bytes(codec, (piece * source.choice((1, 3, 50, 500))) or b"x")
        return Mutator(source).mutated(data) if source.random() < 0.9 else data

    def batch(self, source: random.Random) -> bytes:
        """Valid, or wrong in one of its layers, with checksums that are right: a wrong one hides what is below."""
        if source.random() < 0.3:
            return self.old_message(source, source.randrange(2), source.random() < 0.4)
        codec = source.choice((0, 0, *CODECS))
        records = self.records(source)
        count = source.choice((0, 1, 1, 2, 5, 50, 2**31 - 1, -1)) if source.random() < 0.2 else len(records)
        raw = b"".join(records)
        if source.random() < 0.5:
            raw = Mutator(source).mutated(raw)
        payload = raw if codec == 0 else compress_bytes(codec, raw or b"\0")
        if codec and source.random() < 0.4:
            payload = self.payload(source, codec) if source.random() < 0.3 else Mutator(source).mutated(payload)
        fields = {"attributes": codec | source.choice((0, 0, 0, 0x08, 0x10, 0x20, 0x30, 0x40))}
        for name in source.sample(sorted(batches.FIELDS), source.choice((0, 0, 0, 1, 2))):
            fields[name] = self.field(source, name)
        values = {"last_offset_delta": max(0, len(records) - 1), "record_count": count} | fields
        return batches.patched(batches.batch(payload, 0), **values)

    def field(self, source: random.Random, name: str) -> int:
        kind = batches.FIELDS[name][1]
        bits = {"b": 8, "h": 16, "i": 32, "I": 32, "q": 64}[kind]
        value = source.choice((*BOUNDARIES, source.getrandbits(bits))) & ((1 << bits) - 1)
        return value if kind == "I" or value < 1 << bits - 1 else value - (1 << bits)

    def records(self, source: random.Random) -> list[bytes]:
        out = []
        for index in range(source.choice((0, 1, 1, 2, 3, 10))):
            headers = [(source.randbytes(3), source.choice((None, b"", b"h" * 130)))] * source.choice((0, 0, 1, 3))
            delta = index if source.random() < 0.95 else source.choice((-1, 0, 2**31 - 1, -(2**31)))
            time = source.choice((0, 1, -1, 2**63 - 1, -(2**63)))
            key = source.choice((None, b"", b"k" * 70))
            out.append(batches.record(key, source.randbytes(5), headers, offset_delta=delta, timestamp_delta=time))
        return out

    def old_message(self, source: random.Random, magic: int, compressed: bool) -> bytes:
        """One message of magic 0 or 1, or a message set compressed inside one."""
        codec, key = 0, source.choice((None, b"", b"key"))
        value: bytes | None = source.choice((None, b"", source.randbytes(30)))
        if compressed:
            codec = source.choice((1, 2, 3, 3, 4, 7))
            inner = b"".join(
                self.old_message(source, source.choice((magic, magic, magic, 1 - magic)), source.random() < 0.05)
                for _ in range(source.choice((0, 1, 2, 3)))
            )
            if source.random() < 0.5:
                inner = Mutator(source).mutated(inner)
            value = compress_bytes(codec if codec in CODECS else 1, inner or b"\0")
            if source.random() < 0.4:
                value = Mutator(source).mutated(value)
        attributes = codec | source.choice((0, 0, 0x08))
        time = struct.pack(">q", source.choice((0, -1, *BOUNDARIES[-6:-1]))) if magic == 1 else b""
        body = bytes((magic, attributes)) + time + old_sized(key) + old_sized(value)
        offset = source.choice((0, 1, 5, 2**63 - 1, -(2**63), -1))
        return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body

    # Judging

    def check(self, data: bytes) -> None:
        if len(data) < HEAD:
            return
        what, option, rest = data[0] % 3, data[1], data[HEAD:]
        if what == BATCHES:
            self.check_reader(rest, check_crc=bool(option & 1))
        elif what == PAYLOAD:
            self.check_payload(option & 7, rest)
        else:
            self.check_rules(option, rest)

    def check_reader(self, data: bytes, check_crc: bool) -> None:
        buffer = exact(data)
        reader = decode_batches(buffer, check_crc=check_crc, decompressed_limit_bytes=LIMIT_BYTES)
        try:
            for batch in reader:
                assert 0 < reader.position <= len(data)
                assert repr(batch)
                self.check_batch(batch)
        except errors.CorruptMessageError as error:
            assert_named(error)
        assert reader.position <= len(data)

    def check_batch(self, batch) -> None:  # type: ignore[no-untyped-def]
        assert batch.has_valid_checksum() in (True, False)
        assert batch.last_sequence >= -1
        size = 0
        try:
            records = iter(batch)
            assert records.__length_hint__() <= LIMIT_BYTES if hasattr(records, "__length_hint__") else True
            read = []
            for record in records:
                size += len(record.key or b"") + len(record.value or b"") + len(record.headers)
                read.append(record)
                assert repr(record)
        except INVALID as error:
            assert_named(error)
            return
        assert size <= max(LIMIT_BYTES, len(batch.raw))
        if batch.magic == 2 and [record.offset - batch.base_offset for record in read] == list(range(len(read))):
            check_round_trip(batch, read)

    def check_payload(self, codec: int, data: bytes) -> None:
        bound = bound_of(codec, bytes(data))
        try:
            out = decompress_bytes(codec, exact(data), LIMIT_BYTES)
        except INVALID as error:
            assert_named(error)
            return
        assert len(out) <= min(LIMIT_BYTES, bound)
        assert decompress_bytes(codec, compress_bytes(codec, out or b"x"), LIMIT_BYTES) == (out or b"x")

    def check_rules(self, option: int, data: bytes) -> None:
        """What the rules let through is read back in full, with the offsets that were assigned."""
        origin, compacted, header_only = option % 3, bool(option & 8), bool(option & 16)
        target = (-1, 0, 1, 2, 3, 4)[(option >> 5) % 6]
        found = self.probe.validate_in_place(data, origin, target, compacted, header_only, LIMIT_BYTES)
        outcome = validate(
            data,
            base_offset=1000,
            leader_epoch=3,
            now_ms=1,
            origin=origin,
            compacted=compacted,
            header_only=header_only,
            target_codec=target,
            max_message_bytes=1 << 20,
            decompressed_limit_bytes=LIMIT_BYTES,
        )
        assert found[:3] == (outcome.error, outcome.first_offset, outcome.last_offset)
        assert outcome.error in range(-1, len(errors.TABLE) - 1)
        if outcome.error:
            assert outcome.message
            return
        assert outcome.decompressed_bytes <= LIMIT_BYTES
        assert outcome.records is not None
        # Header-only validation takes the records on trust.
        if origin != REPLICATED and not header_only:
            read = [record for batch in decode_batches(outcome.records) for record in batch]
            assert [record.offset for record in read] == list(range(1000, 1000 + outcome.record_count))


def assert_named(error: errors.KafkaError) -> None:
    assert str(error)


def old_sized(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def check_round_trip(batch, read) -> None:  # type: ignore[no-untyped-def]
    """What was read is written and read again."""
    rows = [(record.key, record.value, record.headers, record.timestamp) for record in read]
    if any(not name.isprintable() for row in rows for name, _ in row[2]):
        return
    encoded = encode_batch(rows, codec=batch.codec if batch.codec in (0, *CODECS) else 0, base_offset=0)
    (again,) = decode_batches(encoded)
    assert [(record.key, record.value, record.headers, record.timestamp) for record in again] == rows
    assert crc32c.crc32c(encoded[21:]) == again.crc


def make() -> Batches:
    return Batches()
