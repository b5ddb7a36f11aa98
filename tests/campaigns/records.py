"""Record batches, their codecs and LogValidator's rules: against other codecs, a slow validator, and any bytes."""

from __future__ import annotations

from tests.campaigns.properties import run_property
from tests.property.record import test_batches as batches
from tests.property.record import test_validator as validator

PACKAGES = ("kcore/record", "kcore/cursor.pxd")


def run(seed: int) -> int:
    return run_property(
        [
            batches.test_round_trip,
            batches.test_any_bytes,
            batches.test_a_header_with_any_field_changed,
            batches.test_changed_bytes_and_truncations,
            batches.test_codecs_give_back_what_they_took,
            batches.test_codecs_take_any_bytes,
            batches.test_xerial_framing_takes_any_bytes,
            validator.test_fast_and_slow_agree,
            validator.test_any_bytes_are_refused,
            validator.test_any_payload_is_taken_or_refused,
        ],
        seed,
    )
