"""Java's consumer as a process: Kafka's VerifiableConsumer, which says in JSON lines what it has and reads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

KAFKA_RUN = Path(__file__).resolve().parents[2] / "bin" / "kafka-run"
END_TIMEOUT_S = 60
QUICK_START = "-Xmx128M -XX:TieredStopAtLevel=1 -Xshare:auto"


class VerifiableConsumer:
    """`owned` are the partitions that it has now, `records` how many records it has read, by partition.

    An ended one has left its group; one that was killed has not.
    """

    def __init__(self, server: str, topic: str, group: str, *arguments: str, version: str = "4") -> None:
        command = [KAFKA_RUN, version, "VerifiableConsumer", "--bootstrap-server", server]
        command += ["--topic", topic, "--group-id", group, "--reset-policy", "earliest", *arguments]
        environment = {**os.environ, "KAFKA_HEAP_OPTS": QUICK_START}
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
        )
        self.owned: set[int] = set()
        self.records: dict[int, int] = {}
        self.errors: list[str] = []
        self._readers = [threading.Thread(target=self._read), threading.Thread(target=self._read_errors)]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            name = event["name"]
            places = {row["partition"] for row in event.get("partitions", []) if "partition" in row}
            if name == "partitions_assigned":
                self.owned |= places
            elif name == "partitions_revoked":
                self.owned -= places
            elif name == "records_consumed":
                for row in event["partitions"]:
                    self.records[row["partition"]] = self.records.get(row["partition"], 0) + row["count"]

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        self.errors += self._process.stderr

    def leave(self) -> int:
        """Ends it in order; answers its exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it without a word to the broker."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> int:
        if self._process.poll() is None:
            os.killpg(self._process.pid, number)
        code = self._process.wait(END_TIMEOUT_S)
        for reader in self._readers:
            reader.join(END_TIMEOUT_S)
        self.owned = set()
        return code
