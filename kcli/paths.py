"""Looking at paths that a user named."""

from __future__ import annotations

import os
import stat


def is_directory(path: str) -> bool:
    """PermissionError where the path cannot be looked at, which `os.path.isdir` takes for no directory."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
