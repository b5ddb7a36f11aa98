"""Checks of paths that the user passed."""

from __future__ import annotations

import os
import stat


def is_directory(path: str) -> bool:
    """Like `os.path.isdir`, but raises PermissionError if the path cannot be examined."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
