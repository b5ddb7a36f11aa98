"""`tests/fuzz/targets/snapshots.py` in the sanitizer build."""

from __future__ import annotations

from tests.fuzz.session import session

PACKAGES = ("kcore/storage/producer_state.pyx", "kcore/storage/producer_state.pxd", "kcore/cursor.pxd")


def run(seed: int) -> int:
    return session("snapshots").run(seed)


def build() -> str:
    return session("snapshots").build
