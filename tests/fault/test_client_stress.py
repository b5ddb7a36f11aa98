"""Many threads at one producer, and consumers beside it, while the broker dies: tests.client_stress for a moment."""

from __future__ import annotations

from tests.client_stress.__main__ import stress
from tests.stress.broker import Build


def test_clients_under_many_threads() -> None:
    assert "acknowledged" in stress(seed=0, seconds=5.0, build=Build())
