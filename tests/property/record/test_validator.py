"""The fast validator and the slow one of the tests come to the same error, and to the same bytes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kcore.record.validator import validate
from tests.property.record.strategies import RULES, batches
from tests.unit.record import reference_validator
from tests.unit.record.batches import batch
from tests.unit.record.reference_validator import Rules, agree


@given(batches(), RULES)
@settings(max_examples=1500, deadline=None)
def test_fast_and_slow_agree(data: bytes, rules: Rules) -> None:
    agree(validate(data, **rules._asdict()), reference_validator.validate(data, rules), rules)


@given(st.binary(max_size=120), RULES)
@settings(max_examples=500, deadline=None)
def test_any_bytes_are_refused(data: bytes, rules: Rules) -> None:
    assert validate(data, **rules._asdict()).error != 0


@given(st.binary(max_size=120), RULES, st.integers(0, 4), st.integers(0, 6))
@settings(max_examples=500, deadline=None)
def test_any_payload_is_taken_or_refused(payload: bytes, rules: Rules, codec: int, count: int) -> None:
    done = validate(batch(payload, count, attributes=codec), **rules._asdict())
    assert (done.records is None) == (done.error != 0)
