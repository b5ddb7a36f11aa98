"""One broker of Apache Kafka for all workers of a run. The first worker that needs it starts it.

    with shared_kafka(directory, "3.9") as kafka:
        ... kafka.bootstrap_server ...

`directory` is common to the workers of a run. The broker is a child of a keeper, a process of its own. Every user holds
a shared lock on the file `users`, and the keeper waits for the exclusive lock. The kernel grants it when the last user
has closed the file or died. The keeper then kills the broker and ends, so that nobody has to stop it.

The directory's own lock is held while a user looks for a broker or starts one. When the keeper has its lock, its broker
is ending, and a new one is started in a directory with the next number.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.apache_kafka import ApacheKafka, ZooKeeperKafka

CHECKOUT = Path(__file__).resolve().parents[1]
KINDS = {"kraft": ApacheKafka, "zookeeper": ZooKeeperKafka}
USERS = "users"
PORT = "port"
DATA = "data"


@contextmanager
def shared_kafka(directory: Path, version: str, kind: str = "kraft") -> Iterator[ApacheKafka]:
    """A running broker that others use too: it cannot be stopped, paused or restarted here."""
    home = directory / f"shared-{kind}-{version}"
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = join(home) or start(home, version, kind)
    place, users = found
    kafka = KINDS[kind](version, place / DATA)
    kafka.port = json.loads((place / PORT).read_text())
    with users:
        yield kafka


def join(home: Path) -> tuple[Path, IO[str]] | None:
    """The last broker that was started, and its file of users, locked; None when there is none or it is ending."""
    places = numbered(home)
    if not places or not (places[-1] / PORT).exists():
        return None
    users = (places[-1] / USERS).open("w")
    try:
        fcntl.flock(users, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        users.close()
        return None
    return places[-1], users


def start(home: Path, version: str, kind: str) -> tuple[Path, IO[str]]:
    place = home / str(len(numbered(home)))
    place.mkdir()
    users = (place / USERS).open("w")
    # Before the keeper waits for it.
    fcntl.flock(users, fcntl.LOCK_SH)
    keeper = subprocess.Popen(
        [sys.executable, "-m", "tests.shared_kafka", str(place), version, kind],
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Neither Ctrl-C nor the end of one worker ends it.
        start_new_session=True,
    )
    assert keeper.stdout is not None
    # It ends its output when the broker serves or could not be started.
    said = keeper.stdout.read()
    keeper.stdout.close()
    # It is ended by its lock, and it is nobody's business when: no warning about a child that still runs.
    keeper.returncode = 0
    if not (place / PORT).exists():
        users.close()
        raise AssertionError(f"the shared Apache Kafka {version} did not start:\n{said}")
    return place, users


def numbered(home: Path) -> list[Path]:
    return sorted((path for path in home.iterdir() if path.is_dir()), key=lambda path: int(path.name))


def keep(place: Path, version: str, kind: str) -> None:
    """In the keeper: runs the broker until it has no users."""
    with (place / USERS).open("w") as users, KINDS[kind](version, place / DATA) as kafka:
        written = place / f"{PORT}.new"
        written.write_text(json.dumps(kafka.port))
        written.rename(place / PORT)
        # The starter reads until here.
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        with open("/dev/null", "w") as nowhere:
            for number in (1, 2):
                os.dup2(nowhere.fileno(), number)
        fcntl.flock(users, fcntl.LOCK_EX)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
