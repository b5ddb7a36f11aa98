"""`tests/fuzz/targets/broker_answers.py` in the sanitizer build."""

from __future__ import annotations

from tests.fuzz.session import session

PACKAGES = ("kcore/client/network", "kcore/cursor.pxd", "kcore/protocol")


def run(seed: int) -> int:
    return session("broker_answers").run(seed)


def build() -> str:
    return session("broker_answers").build
