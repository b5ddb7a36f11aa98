"""One round: a producer and a consumer at a topic of their own, through a network that fails, and what must hold.

of each record, idempotent      acknowledged: there exactly once, where the producer was told; else at most once
of each partition, idempotent   in the order in which its records were sent
otherwise                       acks=1: acknowledged is there; what is there was sent, and was not refused
of the producer                 every future ends, every callback is called once, close() returns
of the consumer                 every record of the log in order, none left out; close() returns
afterwards                      no live buffer, no thread
"""

from __future__ import annotations

import gc
import os
import random
import time
from collections import Counter
from pathlib import Path

from kcore.client.consumer.record_columns import live_columns
from kcore.client.network.client_request import live_frames
from tests.fault.bad_network.reading import Reading
from tests.fault.bad_network.sending import Sending
from tests.fault.bad_network.site import Site
from tests.fault.bad_network.weather import Weather

# A thread that was joined is in /proc for a moment longer.
THREAD_END_S = 60.0


class ClientRound:
    """Decided by its seed, as far as threads let it."""

    def __init__(self, site: Site, seed: int) -> None:
        self._site = site
        self._chance = random.Random(seed)
        self._topic = f"round-{seed}"
        self._partitions = self._chance.choice((1, 1, 2, 3))

    def run(self) -> Sending:
        site, chance = self._site, self._chance
        site.create(self._topic, self._partitions)
        threads, frames = threads_now(), live_frames()
        weather = Weather(site.proxy, chance)
        weather.begin()
        reading = Reading(site.servers, self._topic, self._partitions, chance)
        try:
            sending = Sending(site.servers, self._topic, self._partitions, chance)
            sending.run(weather)
            # JoinGroup may take as long as a rebalance may: where its line is dead, max.poll.interval.ms, as with Java.
            if chance.random() < 0.5 or reading.protocol == "classic":
                weather.clear()
            # What a producer that was closed in haste left on its way may still arrive: it stands behind these ends.
            ends = [len(log) for log in self._logs()]
            reading.finish(ends)
        finally:
            reading.stop()
        weather.clear()
        logs = self._logs()
        self._check_what_was_sent(sending, logs)
        self._check_what_was_read(reading, logs, ends)
        self._check_what_is_left(threads, frames)
        site.delete(self._topic)
        return sending

    def _logs(self) -> list[list[bytes | None]]:
        return [self._site.log(self._topic, number) for number in range(self._partitions)]

    def _check_what_was_sent(self, sending: Sending, logs: list[list[bytes | None]]) -> None:
        places: dict[int, list[tuple[int, int]]] = {}
        for partition, log in enumerate(logs):
            found = [self._number(sending, value) for value in log]
            for offset, number in enumerate(found):
                places.setdefault(number, []).append((partition, offset))
            if sending.is_idempotent:
                assert found == sorted(found), f"{self._topic}-{partition}: not in the order of sending: {found}"
        twice = {number: where for number, where in places.items() if len(where) > 1}
        assert not (twice and sending.is_idempotent), f"{self._topic}: there more than once: {twice}"
        assert not places.keys() & sending.refused, (
            f"{self._topic}: refused and there: {places.keys() & sending.refused}"
        )
        for partition, first_offset, numbers in sending.acknowledged:
            for at, number in enumerate(numbers):
                where = places.get(number, [])
                if sending.acks != "0":
                    assert where, f"{self._topic}: {number} was acknowledged and is not there"
                assert all(place[0] == partition for place in where), f"{self._topic}: {number} is in {where}"
                if first_offset >= 0 and sending.acks != "0":
                    assert (partition, first_offset + at) in where, f"{self._topic}: {number} is in {where}"

    def _number(self, sending: Sending, value: bytes | None) -> int:
        assert value is not None
        number = int(value.partition(b" ")[0])
        assert number < sending.sent, f"{self._topic}: {number} was not sent"
        assert value == sending.value(number), f"{self._topic}: {value!r} was not sent"
        return number

    def _check_what_was_read(self, reading: Reading, logs: list[list[bytes | None]], ends: list[int]) -> None:
        for partition, (values, log) in enumerate(zip(reading.values, logs, strict=True)):
            assert len(values) >= ends[partition]
            assert values == log[: len(values)], f"{self._topic}-{partition}: what was read is not what is there"

    def _check_what_is_left(self, threads: Counter[str], frames: int) -> None:
        if live_frames() != frames or live_columns():
            gc.collect()  # what an exception holds that went through the functions that had them
        assert live_frames() == frames, f"{self._topic}: {live_frames() - frames} responses are held"
        assert live_columns() == 0, f"{self._topic}: {live_columns()} sets of columns are held"
        deadline = time.monotonic() + THREAD_END_S
        while left := threads_now() - threads:
            assert time.monotonic() < deadline, f"{self._topic}: threads are left: {left}"
            os.sched_yield()


def threads_now() -> Counter[str]:
    """The threads of this process by name, native ones too."""
    found: Counter[str] = Counter()
    for entry in Path("/proc/self/task").glob("*/comm"):
        try:
            found[entry.read_text().strip()] += 1
        except OSError:
            continue
    return found
