"""The default data directory of a broker, and how another process finds the broker that serves a directory.

    <data dir>/kcli.pid    process id and start time of that process (clock ticks since boot), on one line

The broker writes the file when it serves and removes it when it has stopped. After kill -9 the file remains. The start
time then distinguishes the broker from a later process with the same id.
"""

from __future__ import annotations

import os

PID_FILE = "kcli.pid"
# Field 22 of /proc/PID/stat, counted after the bracket that closes the command name, which may contain blanks.
_START_TIME_FIELD = 19


def default_data_directory() -> str:
    """$KCLI_DATA_DIR, or kcli in the user's data directory (XDG Base Directory Specification)."""
    stated = os.environ.get("KCLI_DATA_DIR")
    if stated:
        return os.path.abspath(stated)
    base = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(base, "kcli")


def write_pid_file(directory: str) -> None:
    """Registers this process as the one that serves the directory."""
    path = os.path.join(directory, PID_FILE)
    with open(path + ".tmp", "w", encoding="ascii", opener=_open_for_owner) as file:
        file.write(f"{os.getpid()} {_start_time(os.getpid())}\n")
    os.rename(path + ".tmp", path)


def _open_for_owner(path: str, flags: int) -> int:
    """Files in a data directory are accessible to the broker's user only."""
    return os.open(path, flags, 0o600)


def remove_pid_file(directory: str) -> None:
    """Removes the file only if this process wrote it."""
    if read_serving_pid(directory) == os.getpid():
        os.unlink(os.path.join(directory, PID_FILE))


def read_serving_pid(directory: str) -> int | None:
    """The process that serves the directory; None if there is none, or it was killed."""
    try:
        with open(os.path.join(directory, PID_FILE), encoding="ascii") as file:
            pid, _, started = file.read().strip().partition(" ")
        if _start_time(int(pid)) != started:
            return None
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return None
    return int(pid)


def _start_time(pid: int) -> str:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[_START_TIME_FIELD].decode()
