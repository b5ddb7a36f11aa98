"""Removing a partition's directory after it was renamed to `-delete`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.platform.disk import Disk


def remove_directory(disk: Disk, path: str) -> None:
    """Removes a directory and everything in it. Does nothing if it does not exist.

    After a crash the rest is still there, and the next start finds it under the same name.
    """
    try:
        entries = disk.entries(path)
    except FileNotFoundError:
        return
    for name, is_directory in entries:
        child = f"{path}/{name}"
        if is_directory:
            remove_directory(disk, child)
        else:
            disk.unlink(child, missing_ok=True)
    disk.rmdir(path)
