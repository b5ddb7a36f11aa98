"""Java's consumers with patterns that the broker matches, in one JVM: PatternConsumers.java has what it says and hears.

with PatternConsumers(broker.bootstrap_server, "g") as java:
    java.subscribe("a", "orders-.*")
    ... java.owned["a"] ...
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

SOURCE = Path(__file__).with_name("PatternConsumers.java")
KAFKA_JARS = Path(__file__).resolve().parents[2] / "bin" / "kafka-jars"
QUICK_START = ("-Xmx128M", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")
END_TIMEOUT_S = 60
Place = tuple[str, int]


class PatternConsumers:
    """By name: `owned`, what a consumer has now, `values` of the records that it got, and `failures`, which end it."""

    def __init__(self, servers: str, group: str, version: str = "4") -> None:
        jars = subprocess.run([KAFKA_JARS, version], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        self._process = subprocess.Popen(
            ["java", *QUICK_START, "-cp", jars, SOURCE, servers, group],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sys.stderr,
            text=True,
        )
        self.owned: dict[str, set[Place]] = {}
        self.values: dict[str, list[str]] = {}
        self.failures: dict[str, tuple[str, str]] = {}
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def subscribe(self, name: str, pattern: str) -> None:
        """A consumer of that name from now on wants the topics whose whole name matches."""
        self._say(f"{name} {pattern}")

    def close(self, name: str) -> None:
        """It leaves the group; its name is out of `owned` once it has."""
        self._say(name)

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            what, name, *rest = line.rstrip("\n").split("\t")
            if what == "owns":
                places = (place.rpartition(":") for place in rest)
                self.owned[name] = {(topic, int(partition)) for topic, _, partition in places}
            elif what == "read":
                self.values.setdefault(name, []).extend(rest)
            elif what == "fails":
                self.failures[name] = (rest[0], "\t".join(rest[1:]))
            elif what == "closed":
                self.owned.pop(name, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """All leave; who does not end is killed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(END_TIMEOUT_S)
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join()
