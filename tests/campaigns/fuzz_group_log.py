"""`tests/fuzz/targets/group_log.py` in the sanitizer build."""

from __future__ import annotations

from tests.fuzz.session import session

PACKAGES = ("kcore/coordinator/group", "kcore/protocol/records", "kcore/protocol/decoder.pyx")


def run(seed: int) -> int:
    return session("group_log").run(seed)


def build() -> str:
    return session("group_log").build
