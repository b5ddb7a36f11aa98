"""kafka-server-start and kafka-server-stop.

    kafka-server-start.sh [-daemon] [-name NAME] [-loggc] server.properties [--override property=value]*

Unlike Kafka's, kafka-server-stop does not stop every broker of the machine. It stops the broker of the default data
directory, of the given properties file, or of --data-dir.
"""

from __future__ import annotations

import os
import sys

from kcli.kafka_tools.plain import fail
from kcli.kafka_tools.tool import FAILED, carry_out

DAEMON = "-daemon"
# Options of Java or of Kafka's scripts, with their number of words.
WITHOUT_MEANING = {"-loggc": 1, "-name": 2}
LOG_FILE = "kafkaServer.out"
USAGE = "USAGE: kafka-server-start [-daemon] server.properties [--override property=value]*"


def run(name: str, words: list[str]) -> int:
    """Starts or stops a broker, and returns the exit code of Kafka's script."""
    if name == "kafka-server-stop":
        return _stop(words)
    is_daemon = False
    rest = list(words)
    while rest and (rest[0] == DAEMON or rest[0] in WITHOUT_MEANING):
        is_daemon = is_daemon or rest[0] == DAEMON
        del rest[: WITHOUT_MEANING.get(rest[0], 1)]
    if not rest:
        print(USAGE, file=sys.stderr)
        return FAILED
    if is_daemon:
        return _start_in_background(rest)
    return carry_out(fail, words, ["server-start", *rest])


def _start_in_background(words: list[str]) -> int:
    """Starts a broker in its own session, with its output in $LOG_DIR/kafkaServer.out. Does not wait for it."""
    import subprocess

    from kcli.data_directory import default_data_directory

    directory = os.environ.get("LOG_DIR") or os.path.join(os.path.dirname(default_data_directory()), "logs")
    os.makedirs(directory, 0o700, exist_ok=True)
    path = os.path.join(directory, LOG_FILE)
    with open(path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600)) as log:
        subprocess.Popen(
            [sys.executable, "-m", "kcli", "server-start", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    return 0


def _stop(words: list[str]) -> int:
    from kcli.commands.server_stop import directory_of, stop_broker

    if any(word.startswith("-") and word != "--data-dir" for word in words):
        return carry_out(fail, words, ["server-stop", *words])
    data_dir = words[words.index("--data-dir") + 1] if "--data-dir" in words[:-1] else None
    file = words[0] if words and data_dir is None else None
    if stop_broker(directory_of(file, data_dir), STOP_TIMEOUT_S) is None:
        print("No kafka server to stop")
        return FAILED
    return 0


STOP_TIMEOUT_S = 60.0
