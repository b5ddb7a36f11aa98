"""`tests/fuzz/targets/apis.py` in the sanitizer build: a seed is one API, in turn, in all its versions."""

from __future__ import annotations

from tests.fuzz.session import session

PACKAGES = (
    "kcore/protocol",
    "kcore/cursor.pxd",
    "kcore/protocol/fields.pxd",
    "kcore/server/fast_path/fetch_request.pyx",
    "kcore/server/fast_path/produce_request.pyx",
)


def run(seed: int) -> int:
    return session("apis").run(seed)


def build() -> str:
    return session("apis").build
