"""The growth soak at the size of CI: a few thousand items of each kind; `bin/campaign growth` creates 100,000."""

from __future__ import annotations

import pytest

from tests.growth.churns import KINDS
from tests.growth.soak import soak

ITEMS = 2000
SMALL_KINDS = ("topics", "classic-groups", "connections")


@pytest.mark.release_build
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in SMALL_KINDS else [pytest.mark.full_size]) for kind in KINDS]
)
def test_forgotten_items_leave_no_memory_behind(kind: str) -> None:
    soak(kind, ITEMS).check()


@pytest.mark.release_build
@pytest.mark.parametrize(
    ("leak", "measure"),
    [pytest.param("objects", "python_blocks", marks=pytest.mark.full_size), ("native", "native_bytes")],
)
def test_a_planted_leak_is_found(leak: str, measure: str) -> None:
    growth = soak("topics", ITEMS, {"planted.leak": leak})
    assert measure in growth.excesses()
    with pytest.raises(AssertionError, match="2000 topics left memory behind"):
        growth.check()
