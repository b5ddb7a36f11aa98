"""`tests/fuzz/targets/batches.py` in the sanitizer build."""

from __future__ import annotations

from tests.fuzz.session import session

PACKAGES = ("kcore/record", "kcore/cursor.pxd")


def run(seed: int) -> int:
    return session("batches").run(seed)


def build() -> str:
    return session("batches").build
