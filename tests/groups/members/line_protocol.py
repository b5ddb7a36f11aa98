"""What the player and the programs of members say to each other: lines of JSON, commands on stdin, events on stdout.

    {"do": "join"}                          subscribes, and polls from then on
    {"do": "commit", "on": false}           from now on nothing is committed, or again everything that was read
    {"do": "leave"}                         closes the consumer, and ends

    {"event": "ready"}                      started, not yet in the group
    {"event": "heard"}                      the answer to "commit": what is read from now on follows it
    {"event": "assigned", "partitions": [["t", 0]]}     also "revoked" and "lost", from inside the client's callbacks
    {"event": "records", "records": [["t", 0, 17, "value"]]}
    {"event": "committed", "error": null}   what the client's synchronous commit answered, or the name of its error
    {"event": "failed", "error": "..."}     polling failed; the program goes on
    {"event": "fenced"}                     another has this instance id: the program only waits to be told to leave
    {"event": "left"}                       the consumer is closed

Every event has "at", nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share. "assigned" is stamped
before anything can be read, "revoked" when everything that the member wanted to commit before letting go is committed.
The end of stdin ends the program at once, as if it had been killed.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

# How long a poll may wait for records, which bounds how late a command is heard.
POLL_S = 0.05


class Settings(NamedTuple):
    """What a member program is started with, as one word of JSON; names as in Kafka's consumer configuration."""

    server: str
    group: str
    topics: list[str]
    client_id: str
    group_instance_id: str | None
    assignor: str
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int


def settings_of_process() -> Settings:
    return Settings(**json.loads(sys.argv[1]))


class Line:
    """This program's end of the line."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._commands: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.commits = True
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in sys.stdin:
            command = json.loads(line)
            if command["do"] == "commit":
                self.commits = command["on"]
                self.tell("heard")
            else:
                self._commands.put(command)
        os._exit(0)

    def command(self) -> str | None:
        """What is to be done next, if anything."""
        try:
            return str(self._commands.get_nowait()["do"])
        except queue.Empty:
            return None

    def wait_for_command(self) -> str:
        return str(self._commands.get()["do"])

    def tell(self, event: str, **fields: Any) -> None:
        with self._lock:
            text = json.dumps({"event": event, "at": time.monotonic_ns(), **fields})
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def tell_partitions(self, event: str, partitions: Iterable[Any]) -> None:
        """`partitions` have a topic and a partition, as in all three libraries."""
        self.tell(event, partitions=sorted([one.topic, one.partition] for one in partitions))
