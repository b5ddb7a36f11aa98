"""`tests/fuzz/targets/frames.py` in the sanitizer build."""

from __future__ import annotations

from tests.fuzz.session import session

PACKAGES = (
    "kcore/network",
    "kcore/transport",
)


def run(seed: int) -> int:
    return session("frames").run(seed)


def build() -> str:
    return session("frames").build
