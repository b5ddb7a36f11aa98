"""Removing a partition's directory for good, once it has been renamed to `-delete`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.platform.disk import Disk


def remove_directory(disk: Disk, path: str) -> None:
    """Removes a directory and everything in it; one that is gone already is no error.

    A crash on the way leaves the rest, which the next start finds under the same name.
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
