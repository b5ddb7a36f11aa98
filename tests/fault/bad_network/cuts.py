"""A small exchange, and the connection cut after each byte of each of its frames, in either direction.

An idempotent producer sends three records, a member of a group reads them, commits and leaves. `Cuts` goes through that
once to see which frames there are, and how long; each cut is then one byte of one of them, and makes no difference to
what the application sees.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from kcore.client.consumer import Consumer
from kcore.client.producer import Producer
from kcore.protocol import apis
from tests.fault.bad_network.site import Site

VALUES = [b"one", b"two", b"three"]
HANG_S = 60.0
PROTOCOLS = ("classic", "consumer")
QUICK = {
    "request.timeout.ms": 1_000,
    "retry.backoff.ms": 1,
    "retry.backoff.max.ms": 10,
    "reconnect.backoff.ms": 1,
    "reconnect.backoff.max.ms": 5,
}


class Cut(NamedTuple):
    """After so many bytes of the first frame of an API, in an exchange with a consumer of that protocol."""

    protocol: str
    direction: str
    api: str
    after_bytes: int


class Cuts:
    """`all` has every cut there is."""

    def __init__(self) -> None:
        # (direction, API) -> size of its first frame; of the exchange that is being recorded.
        self._sizes: dict[tuple[str, int], int] = {}
        self._site = Site(on_frame=self._note_frame)
        self._exchanges = 0
        self.all: list[Cut] = []

    def __enter__(self) -> Cuts:
        self._site.__enter__()
        for protocol in PROTOCOLS:
            self._exchange(protocol)
            self._sizes.clear()
            # The second one finds the group coordinator ready, as those with a cut will.
            self._exchange(protocol)
            for (direction, key), size in sorted(self._sizes.items()):
                self.all += [Cut(protocol, direction, apis.BY_KEY[key].name, at) for at in range(size)]
        return self

    def __exit__(self, *exception: object) -> None:
        self._site.__exit__(None, None, None)

    def _note_frame(self, direction: str, api_key: int, version: int, size: int) -> None:
        self._sizes.setdefault((direction, api_key), size)

    def run(self, cut: Cut) -> None:
        """Raises unless the application gets what it gets without a cut."""
        with self._site.proxy.faults.disconnect(
            cut.after_bytes, direction=cut.direction, api=cut.api, times=1
        ) as fault:
            self._exchange(cut.protocol)
            assert fault.hits == 1, f"{cut}: there was no such frame"

    def _exchange(self, protocol: str) -> None:
        self._exchanges += 1
        topic = f"cut-{self._exchanges}"
        self._site.create(topic, 1)
        servers = {"bootstrap.servers": self._site.servers, **QUICK}
        with Producer(servers, delivery_timeout_ms=60_000) as producer:
            offsets = [future.result(HANG_S).offset for future in [producer.send(topic, value) for value in VALUES]]
            # A batch that was written already is acknowledged without its offset.
            assert offsets == [0, 1, 2] or offsets == [-1, -1, -1], offsets
        settings = {"group_id": topic, "group_protocol": protocol, "auto_offset_reset": "earliest"}
        read: list[bytes | None] = []
        deadline = time.monotonic() + HANG_S
        with Consumer(servers, **settings, enable_auto_commit=False) as consumer:
            consumer.subscribe([topic])
            while len(read) < len(VALUES):
                read += [record.value for record in consumer.poll(1_000)]
                assert time.monotonic() < deadline, f"{read} was read in {HANG_S} s"
            consumer.commit()
            [committed] = consumer.committed([(topic, 0)]).values()
        assert read == VALUES
        assert self._site.log(topic, 0) == VALUES
        assert committed is not None
        assert committed.offset == len(VALUES)
        self._site.delete(topic)
