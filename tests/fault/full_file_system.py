"""A real file system that can be filled: a small tmpfs, which only root can mount.

with FullableFileSystem(tmp_path / "small", size_mib=24) as small:
    ... broker on small.path ...
    small.fill()          # no byte is left
    small.make_room()     # what `fill` took is given back
"""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import EVERYTHING_MUST_RUN

BALLAST = "ballast"
MIB = 1 << 20


class FullableFileSystem:
    """Leaves the test out, or fails it under KCLI_TEST_ALL=1, where nothing can be mounted."""

    def __init__(self, path: Path, size_mib: int) -> None:
        self.path = path
        self._size_mib = size_mib

    def __enter__(self) -> FullableFileSystem:
        self.path.mkdir(parents=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={self._size_mib}m", "kcli-test", str(self.path)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            reason = f"needs a tmpfs, which root may mount: {done.stderr.strip()}"
            (pytest.fail if EVERYTHING_MUST_RUN else pytest.skip)(reason)
        return self

    def __exit__(self, *exception: object) -> None:
        subprocess.run(["umount", str(self.path)], check=True)

    def fill(self) -> None:
        """Takes what room there is."""
        with (self.path / BALLAST).open("ab", buffering=0) as ballast:
            size = MIB
            while size:
                try:
                    ballast.write(bytes(size))
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    size //= 2

    def make_room(self) -> None:
        (self.path / BALLAST).unlink()

    def free_bytes(self) -> int:
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize
