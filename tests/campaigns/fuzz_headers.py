"""`tests/fuzz/targets/headers.py` in the sanitizer build."""

from __future__ import annotations

from tests.fuzz.session import session

PACKAGES = ("kcore/network/request_header.pxd", "kcore/network/dispatch.pyx", "kcore/cursor.pxd", "kcore/protocol")


def run(seed: int) -> int:
    return session("headers").run(seed)


def build() -> str:
    return session("headers").build
