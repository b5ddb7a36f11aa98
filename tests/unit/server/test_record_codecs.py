"""A produced batch in a codec that the system has no library for is taken apart by a wheel, under the same rules."""

from __future__ import annotations

import pytest

from kcore import errors
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch
from kcore.server import record_codecs
from kcore.server.record_codecs import readable_batch
from tests.unit.record.batches import patched

RECORDS = [(b"key", b"value" * 100), (None, b""), (b"", None)]
LIMIT_BYTES = 1_000


@pytest.fixture
def no_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_codecs, "is_available", lambda codec: codec in (0, 2))


@pytest.mark.parametrize("codec", [1, 3, 4])
def test_batch_loses_its_compression_and_nothing_else(codec: int, no_libraries: None) -> None:
    batch = encode_batch(RECORDS, timestamp=1_000, codec=codec, producer_id=7, producer_epoch=1, base_sequence=5)
    (decoded,) = decode_batches(readable_batch(batch, LIMIT_BYTES))
    assert (decoded.codec, decoded.producer_id, decoded.base_sequence) == (0, 7, 5)
    assert [(record.key, record.value) for record in decoded] == RECORDS


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_batch_that_the_system_reads_stays_as_it_came(codec: int) -> None:
    batch = encode_batch(RECORDS, timestamp=1_000, codec=codec)
    assert readable_batch(batch, LIMIT_BYTES) is batch


def test_damaged_batch_is_refused_before_it_is_taken_apart(no_libraries: None) -> None:
    batch = bytearray(encode_batch(RECORDS, timestamp=1_000, codec=4))
    batch[-1] ^= 1
    with pytest.raises(errors.CorruptMessageError, match="checksum"):
        readable_batch(bytes(batch), LIMIT_BYTES)


CUT_BATCH_OF_AN_UNKNOWN_CODEC = patched(encode_batch(RECORDS, timestamp=1_000), attributes=7)[:-5]


@pytest.mark.parametrize("rubbish", [b"", b"x" * 60, CUT_BATCH_OF_AN_UNKNOWN_CODEC])
def test_what_is_no_batch_is_left_to_the_log(rubbish: bytes, no_libraries: None) -> None:
    assert readable_batch(rubbish, LIMIT_BYTES) is rubbish


@pytest.mark.parametrize("codec", [1, 3, 4])
def test_batch_that_grows_beyond_the_limit_is_refused(codec: int, no_libraries: None) -> None:
    batch = encode_batch([(None, bytes(LIMIT_BYTES))], timestamp=1_000, codec=codec)
    assert len(batch) < LIMIT_BYTES
    with pytest.raises(errors.KafkaError) as refused:
        readable_batch(batch, LIMIT_BYTES)
    assert refused.value.name == "MESSAGE_TOO_LARGE"
