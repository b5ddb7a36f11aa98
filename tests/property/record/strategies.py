"""Batches as writers make them, and now and then as none would, with the rules of some topic."""

from __future__ import annotations

from hypothesis import strategies as st

from kcore.record.compression import compress_bytes
from tests.unit.record.batches import batch, patched, record
from tests.unit.record.reference_validator import Rules

NOW = 1_700_000_000_000
CONTENT = st.none() | st.binary(max_size=20)
# Names in UTF-8: what else Java makes of them when it writes a batch anew is its own affair.
HEADERS = st.lists(st.tuples(st.text(max_size=3).map(str.encode), CONTENT), max_size=2)
# Mostly what writers write; now and then what none would.
SELDOM = st.integers(0, 40).map(lambda roll: roll == 0)
EVER = st.integers(-5000, 5000) | st.sampled_from([-(1 << 63), (1 << 63) - 1, -(1 << 40), -1 - NOW])
RULES = st.builds(
    Rules,
    base_offset=st.integers(0, 1 << 50),
    leader_epoch=st.integers(0, 1 << 30),
    now_ms=st.just(NOW),
    origin=st.integers(0, 1),
    compacted=SELDOM,
    reject_zstd=st.booleans(),
    timestamp_type=st.integers(0, 1),
    target_codec=st.integers(-1, 4),
    max_message_bytes=st.sampled_from([1048588, 1048588, 300]),
    timestamp_before_max_ms=st.sampled_from([(1 << 63) - 1, 4000, 0]),
    timestamp_after_max_ms=st.sampled_from([(1 << 63) - 1, 4000]),
)


@st.composite
def batches(draw: st.DrawFn) -> bytes:
    codec = draw(st.integers(0, 4))
    count = draw(st.integers(1, 6))
    payload = b""
    timestamps = []
    for index in range(count):
        timestamps.append(draw(st.integers(-100, 100)) if not draw(SELDOM) else draw(EVER))
        payload += record(
            None if draw(SELDOM) else draw(CONTENT),
            draw(CONTENT),
            draw(HEADERS),
            offset_delta=index if not draw(SELDOM) else draw(st.integers(-2, 9)),
            timestamp_delta=timestamps[-1] if index else 0,
            attributes=1 if draw(SELDOM) else 0,
        )
    if draw(SELDOM):
        payload = payload[: draw(st.integers(0, len(payload)))] + draw(st.binary(max_size=3))
    fields = {"attributes": codec, "base_timestamp": NOW, "max_timestamp": NOW + max(0, *timestamps[1:], 0) % (1 << 40)}
    if draw(SELDOM):
        fields |= {"producer_id": 5, "producer_epoch": 0, "base_sequence": draw(st.integers(-1, 5))}
    data = batch(compress_bytes(codec, payload) if codec and payload else payload, count, **fields)
    return mangled(data, draw) if draw(SELDOM) else data


def mangled(data: bytes, draw: st.DrawFn) -> bytes:
    """A header as no writer makes it, or bytes too many, too few or changed."""
    name = draw(
        st.sampled_from(["attributes", "record_count", "last_offset_delta", "base_offset", "magic", "length", "crc"])
    )
    value = draw(st.integers(0, 127))
    if name != "attributes":
        return patched(data, **{name: value if name == "crc" else value - 1})
    # Not the codec's bits: what compressed bytes become by another codec is the codec's business.
    return patched(data, attributes=value & 0x78 | data[22] & 7)
