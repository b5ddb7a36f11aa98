"""One partition of `__consumer_offsets` in memory, with as much of a Partition as the coordinator uses.

Batches are kept as they are on a disk, with their offsets, so that what is read back is what was encoded. `latest` has
the newest value of each key, as a cleaned log would have it.
"""

from __future__ import annotations

from random import Random

from kcore import errors
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch

REFUSALS = (
    errors.NotEnoughReplicasError.code,
    errors.KafkaStorageError.code,
    errors.RequestTimedOutError.code,
    errors.MessageTooLargeError.code,
)


class CoordinatorDiesError(BaseException):
    """The process ends here: after its records are in the log, before anybody is told."""


class Outcome:
    """What an append or a read comes to."""

    __slots__ = ("base_offset", "error", "records")

    def __init__(self, error: int, data: bytes = b"", base_offset: int = -1) -> None:
        self.error = error
        self.base_offset = base_offset
        self.records = data


class KeptLog:
    """`refusals` and `deaths` are the chances of an append's to be refused, and to be a process's last act."""

    topic = "__consumer_offsets"
    index = 0
    start_offset = 0
    decompressed_limit_bytes = 1 << 20

    def __init__(self, chance: Random) -> None:
        self.latest: dict[bytes, bytes | None] = {}
        self.end_offset = 0
        self.refusals = 0.0
        self.deaths = 0.0
        self._chance = chance
        self._batches: list[bytes] = []

    @property
    def log(self) -> KeptLog:
        return self

    def append_records(self, batch: bytes, acks: int, *, internal: bool) -> Outcome:
        if self._chance.random() < self.refusals:
            return Outcome(self._chance.choice(REFUSALS))
        base_offset = self.end_offset
        self._keep(batch)
        if self._chance.random() < self.deaths:
            raise CoordinatorDiesError
        return Outcome(0, base_offset=base_offset)

    def _keep(self, batch: bytes) -> None:
        placed = self.end_offset.to_bytes(8, "big") + bytes(batch)[8:]
        for decoded in decode_batches(placed):
            for record in decoded:
                assert record.key is not None
                self.latest[record.key] = record.value
            self.end_offset = decoded.next_offset
        self._batches.append(placed)

    def fetch(self, offset: int, max_bytes: int, isolation: int) -> Outcome:
        """Everything: a coordinator begins at the start."""
        assert offset == 0
        return Outcome(0, b"".join(self._batches))

    def clean(self) -> None:
        """The newest record of each key remains (the log cleaner, at its best)."""
        pairs = [(key, value) for key, value in self.latest.items() if value is not None]
        self._batches.clear()
        self.latest.clear()
        self.end_offset = 0
        for pair in pairs:
            self._keep(encode_batch([pair], timestamp=0))
