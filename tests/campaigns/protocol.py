"""The codec on messages of every API and version, on changed ones, and on any bytes."""

from __future__ import annotations

from tests.campaigns.properties import run_property
from tests.property.protocol import test_codec_properties as codec

PACKAGES = ("kcore/protocol", "kcore/cursor.pxd")


def run(seed: int) -> int:
    return run_property(
        [
            codec.test_what_is_written_is_read,
            codec.test_any_bytes_are_a_message_or_a_clean_error,
            codec.test_one_changed_byte_does_no_harm,
        ],
        seed,
    )
