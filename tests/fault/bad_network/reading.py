"""A consumer of one round, on a thread of its own, until it has read what there is.

It keeps every value that it was given, by partition, and looks at offsets as they come: without a group each is the
next one; in a group the member may be thrown out, and begins again where was committed, but never further on.
"""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import numpy as np  # what poll_columns makes; its import starts threads of its own

from kcore.client.consumer import Consumer
from kcore.client.consumer.consumer_errors import CommitFailed, RebalanceInProgress
from kcore.client.errors import ClientError
from kcore.errors import KafkaError

# Beyond any timeout of a round, on a machine that does other things too.
HANG_S = 60.0
POLL_MS = 20.0


class Reading:
    """`finish` says where the logs end, and returns when all of that was read."""

    def __init__(self, servers: str, topic: str, partitions: int, chance: random.Random) -> None:
        self.values: list[list[bytes | None]] = [[] for _ in range(partitions)]
        self.rewinds = 0
        self._topic = topic
        self._chance = random.Random(chance.randrange(1 << 30))
        self.protocol = chance.choice((None, None, "classic", "consumer"))
        self._in_columns = chance.random() < 0.4
        self._ends: list[int] | None = None
        self._has_read_all = threading.Event()
        self._is_over = False
        self._failure: BaseException | None = None
        self._next = [0] * partitions
        self._consumer = Consumer({"bootstrap.servers": servers, **self._settings(chance)})
        self._thread = threading.Thread(target=self._run, name="reading")
        self._thread.start()

    def _settings(self, chance: random.Random) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "auto.offset.reset": "earliest",
            "request.timeout.ms": 150,
            "default.api.timeout.ms": 1_000,
            "fetch.max.wait.ms": chance.choice((5, 20, 60)),
            "fetch.min.bytes": chance.choice((1, 1, 500)),
            "max.poll.records": chance.choice((1, 7, 500)),
            "max.partition.fetch.bytes": chance.choice((300, 5_000, 1 << 20)),
            "retry.backoff.ms": chance.choice((1, 5, 10)),
            "retry.backoff.max.ms": 20,
            "reconnect.backoff.ms": chance.choice((1, 2, 5)),
            "reconnect.backoff.max.ms": 10,
            "socket.connection.setup.timeout.ms": 100,
            "metadata.max.age.ms": chance.choice((20, 300_000)),
        }
        if self.protocol is not None:
            settings |= {"group.id": self._topic, "group.protocol": self.protocol, "auto.commit.interval.ms": 20}
            settings["enable.auto.commit"] = chance.random() < 0.5
        if self.protocol == "classic":
            settings |= {"session.timeout.ms": 1_000, "heartbeat.interval.ms": 50}
        return settings

    def _run(self) -> None:
        try:
            if self.protocol is None:
                self._consumer.assign([(self._topic, number) for number in range(len(self._next))])
            else:
                self._consumer.subscribe([self._topic])
            while not self._is_over:
                self._poll()
        except BaseException as failure:
            self._failure = failure
            self._has_read_all.set()

    def _poll(self) -> None:
        if self._in_columns:
            columns = self._consumer.poll_columns(POLL_MS)
            places: np.ndarray = np.stack((columns.partition, columns.offset), axis=1)
            for (partition, offset), value in zip(
                places.tolist(), map(columns.value.__getitem__, range(len(columns))), strict=True
            ):
                self._take(partition, offset, value)
        else:
            for record in self._consumer.poll(POLL_MS):
                self._take(record.partition, record.offset, record.value)
        if self.protocol is not None and self._chance.random() < 0.1:
            self._commit()
        if self._ends is not None and all(at >= end for at, end in zip(self._next, self._ends, strict=True)):
            self._has_read_all.set()

    def _take(self, partition: int, offset: int, value: bytes | None) -> None:
        due = self._next[partition]
        if offset < due and self.protocol is not None:
            self.rewinds += 1
            assert self.values[partition][offset] == value, f"{self._topic}-{partition}: {offset} has changed"
        else:
            assert offset == due, f"{self._topic}-{partition}: offset {offset} where {due} was due"
            self.values[partition].append(value)
        self._next[partition] = max(due, offset + 1)

    def _commit(self) -> None:
        """The network may keep it from that; a commit that cannot be is no end."""
        try:
            self._consumer.commit(timeout_ms=100)
        except (CommitFailed, RebalanceInProgress):
            pass
        except (ClientError, KafkaError) as error:
            if not error.retriable:
                raise

    def stop(self) -> None:
        """Has the thread end, whatever was read."""
        self._is_over = True

    def finish(self, ends: list[int]) -> None:
        self._ends = ends
        in_time = self._has_read_all.wait(HANG_S)
        self.stop()
        self._thread.join(HANG_S)
        assert not self._thread.is_alive(), f"{self._topic}: poll() hangs"
        if self._failure is not None:
            raise self._failure
        assert in_time, f"{self._topic}: stands at {self._next}, the ends are {ends}"
        began = time.monotonic()
        self._consumer.close(timeout_ms=500)
        assert time.monotonic() - began < HANG_S, f"{self._topic}: close() of the consumer hangs"
