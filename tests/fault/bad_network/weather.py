"""What a network does to the clients of one round, by a generator: faults from the beginning, and blows meanwhile.

Every fault strikes a bounded number of times, so that a round comes to an end without anybody mending the network.
"""

from __future__ import annotations

import random

from kcore.testing import FaultProxy

APIS = (
    "ApiVersions",
    "Metadata",
    "InitProducerId",
    "Produce",
    "Produce",
    "Produce",
    "Fetch",
    "Fetch",
    "ListOffsets",
    "FindCoordinator",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "ConsumerGroupHeartbeat",
    "OffsetFetch",
    "OffsetCommit",
    "LeaveGroup",
    None,
    None,
)
MAX_FAULTS = 6
# Frames of these rounds are of a few hundred bytes, some of Produce and Fetch of thousands.
CUT_WITHIN = (8, 60, 400, 4_000)


class Weather:
    """`begin` makes the faults; `blow` is called now and then, by the thread that runs the round."""

    def __init__(self, proxy: FaultProxy, chance: random.Random) -> None:
        self._proxy = proxy
        self._chance = chance
        self._is_paused = False
        self._is_refusing = False
        # How often it may rain: some networks only have their faults, others break all the time.
        self._violence = chance.choice((0.0, 0.02, 0.1))

    def begin(self) -> None:
        for _ in range(self._chance.randrange(MAX_FAULTS + 1)):
            self._proxy.faults.add(
                api=self._chance.choice(APIS),
                direction=self._chance.choice(("request", "response")),
                times=self._chance.randrange(1, 5),
                skip=self._chance.randrange(6),
                probability=self._chance.choice((1.0, 0.5, 0.2)),
                seed=self._chance.randrange(1 << 30),
                **self._harm(),
            )

    def _harm(self) -> dict[str, object]:
        chance = self._chance
        kind = chance.choice(("cut", "cut", "cut", "cut", "delay", "delay", "trickle", "drop"))
        if kind == "cut":
            within = chance.choice(CUT_WITHIN)
            return {"after_bytes": chance.randrange(within), "jitter_bytes": within, "reset": chance.random() < 0.3}
        if kind == "delay":
            return {"delay_ms": chance.choice((1, 5, 20)), "jitter_ms": chance.choice((0, 5, 30))}
        if kind == "trickle":
            return {"piece_bytes": chance.choice((1, 3, 17)), "piece_ms": chance.choice((0, 0, 0.02, 0.1))}
        return {"drop": True}

    def blow(self) -> None:
        """What lasts does so until the next blow, in which the application does one thing, or waits for it in vain."""
        if self._is_paused or self._is_refusing:
            self.calm()
        if self._chance.random() >= self._violence:
            return
        what = self._chance.choice(("disconnect", "reset", "pause", "refuse"))
        if what in ("disconnect", "reset"):
            self._proxy.disconnect(reset=what == "reset")
        elif what == "pause":
            self._proxy.pause()
            self._is_paused = True
        else:
            self._proxy.refuse()
            self._is_refusing = True

    def calm(self) -> None:
        """What lasts until somebody ends it is over; the faults that were made stay."""
        self._proxy.resume()
        self._proxy.accept()
        self._is_paused = self._is_refusing = False

    def clear(self) -> None:
        """Everything is over, and lines that were dead have ended."""
        self.calm()
        self._proxy.faults.clear()
