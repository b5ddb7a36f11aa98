"""Some seeded lives; `bin/campaign group_members` leads more."""

from __future__ import annotations

import pytest

from tests.simulator.members.member_life import MemberLife


@pytest.mark.parametrize("seed", range(12))
def test_a_life(seed: int) -> None:
    MemberLife(seed).run()
