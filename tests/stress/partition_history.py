"""What was promised of one partition, and the rules that whatever is read of it must keep. No I/O.

1. What a batch is, where it stands and its bytes never change, and no offset is used twice.
2. A batch stands in one place only, though an idempotent producer sends it again.
3. Batches of one writer stand in the order in which they were sent.
4. An acknowledged batch stands where the answer said.
5. What was refused, or never sent to its end, is never there.
6. Offsets have no gaps above the start of the log.
7. The high watermark and the start of the log never go back, as seen by requests that follow one another.
8. Every acknowledged batch above the start of the log is there at the end; of a partition that keeps everything the
   start is 0.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.stress.payload import BatchName


class Violation(AssertionError):
    """A rule was broken; the text says which, where, and by what."""


class Sighting(NamedTuple):
    name: BatchName
    next_offset: int
    fingerprint: int | None  # None: acknowledged, but not read yet


class Bounds(NamedTuple):
    """A partition's start and high watermark, as of one moment."""

    start: int
    end: int


class PartitionHistory:
    def __init__(self, label: str, *, keeps_everything: bool) -> None:
        self.label = label
        self.keeps_everything = keeps_everything
        self.sightings: dict[int, Sighting] = {}
        self.places: dict[BatchName, int] = {}
        self.acknowledged: dict[BatchName, int] = {}
        self.impossible: set[BatchName] = set()
        self.bounds = Bounds(0, 0)

    def broken(self, rule: int, text: str) -> Violation:
        return Violation(f"rule {rule} at {self.label}: {text}")

    # --- what writers were told -------------------------------------------------------------------------------------

    def was_acknowledged(self, name: BatchName, base_offset: int, count: int) -> None:
        self._place(name, base_offset, Sighting(name, base_offset + count, None))
        self.acknowledged[name] = base_offset
        self.bounds = Bounds(self.bounds.start, max(self.bounds.end, base_offset + count))

    def cannot_be(self, name: BatchName) -> None:
        """It was refused, or not all of it was sent."""
        self.impossible.add(name)
        if name in self.places:
            raise self.broken(5, f"{name} was refused or torn, and stands at {self.places[name]}")

    # --- what readers saw -------------------------------------------------------------------------------------------

    def has_read(self, base_offset: int, fingerprint: int) -> Sighting | None:
        """What is known of a batch that was read before; None when its content must be looked at."""
        known = self.sightings.get(base_offset)
        if known is None or known.fingerprint is None:
            return None
        if known.fingerprint != fingerprint:
            raise self.broken(1, f"the bytes of {known.name} at {base_offset} are not what they were")
        return known

    def was_read(self, name: BatchName, base_offset: int, next_offset: int, fingerprint: int) -> None:
        self._place(name, base_offset, Sighting(name, next_offset, fingerprint))

    def saw_bounds(self, before: Bounds, start: int, end: int) -> None:
        """`before` is what was known when the request was sent whose answer said `start` and `end`."""
        if self.keeps_everything and start != 0:
            raise self.broken(8, f"the log starts at {start}, though nothing of it may be deleted")
        if start < before.start or end < before.end or start > end:
            raise self.broken(7, f"from {start} to {end}, after it had been from {before.start} to {before.end}")
        self.bounds = Bounds(max(self.bounds.start, start), max(self.bounds.end, end))

    def must_follow(self, wanted: int, base_offset: int, *, is_first: bool) -> None:
        """`wanted` is the offset after the batch before, or the one asked for, which `is_first` may contain."""
        if base_offset > wanted or (base_offset < wanted and not is_first):
            raise self.broken(6, f"a batch at {base_offset} where {wanted} was next")

    def bases(self, start: int, end: int) -> list[int]:
        """The base offsets of batches that reach into the offsets from `start` to `end`."""
        return [base for base in range(start, end) if base in self.sightings]

    # --- the end ----------------------------------------------------------------------------------------------------

    def finish(self, start: int, end: int, read: set[BatchName]) -> None:
        """Everything from `start` to `end` was read, and was `read`."""
        lost = {name: offset for name, offset in self.acknowledged.items() if offset >= start and name not in read}
        if lost:
            raise self.broken(8, f"{len(lost)} acknowledged batches are gone, such as {sorted(lost.items())[:3]}")
        if self.bounds.end > end:
            raise self.broken(7, f"the end is {end}, and had been {self.bounds.end}")
        last: dict[int, tuple[int, int]] = {}
        for name, offset in sorted(self.places.items()):
            earlier = last.get(name.writer)
            if earlier is not None and earlier[1] > offset:
                raise self.broken(3, f"{name} at {offset}, and batch {earlier[0]} of that writer at {earlier[1]}")
            last[name.writer] = (name.number, offset)

    def _place(self, name: BatchName, base_offset: int, sighting: Sighting) -> None:
        known = self.sightings.get(base_offset)
        if known is not None and (known.name, known.next_offset) != (sighting.name, sighting.next_offset):
            raise self.broken(1, f"at {base_offset} stands {sighting}, where {known} stood")
        if self.places.setdefault(name, base_offset) != base_offset:
            rule = 4 if name in self.acknowledged else 2
            raise self.broken(rule, f"{name} stands at {base_offset} and at {self.places[name]}")
        if name in self.impossible:
            raise self.broken(5, f"{name} was refused or torn, and stands at {base_offset}")
        if known is None or known.fingerprint is None:
            self.sightings[base_offset] = sighting
