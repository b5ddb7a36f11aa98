"""`tests/fuzz/targets/indexes.py` in the sanitizer build."""

from __future__ import annotations

from tests.fuzz.session import session

PACKAGES = (
    "kcore/storage/index_file.pyx",
    "kcore/storage/offset_index.pyx",
    "kcore/storage/time_index.pyx",
    "kcore/storage/segment.pyx",
    "kcore/storage/segment_search.pyx",
)


def run(seed: int) -> int:
    return session("indexes").run(seed)


def build() -> str:
    return session("indexes").build
