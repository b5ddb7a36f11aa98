"""`tests/fuzz/targets/checkpoints.py` in the sanitizer build."""

from __future__ import annotations

from tests.fuzz.session import session

PACKAGES = (
    "kcore/storage/checkpoints.py",
    "kcore/storage/meta_properties.py",
    "kcore/storage/partition_metadata.py",
    "kcore/storage/clean_shutdown_state.py",
    "kcore/storage/leader_epoch_cache.pyx",
)


def run(seed: int) -> int:
    return session("checkpoints").run(seed)


def build() -> str:
    return session("checkpoints").build
