"""`tests/fuzz/targets/fetched.py` in the sanitizer build."""

from __future__ import annotations

from tests.fuzz.session import session

PACKAGES = ("kcore/client/consumer", "kcore/record", "kcore/cursor.pxd", "kcore/protocol/fields.pxd")


def run(seed: int) -> int:
    return session("fetched").run(seed)


def build() -> str:
    return session("fetched").build
