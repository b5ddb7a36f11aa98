"""What clients did to a broker and what they were told: the evidence that the invariants are held against.

    history = History()
    history.add_producer(Producer("p1", idempotent=True, ordered=True))
    history.sends.append(Send("p1", 0, orders_0, b"p1:0", Outcome.ACKED, offset=0, at=7))
    history.views.append(LogView(orders_0, start=0, end=1, records={0: b"p1:0"}, at=9))

A value is all that is compared of a record, and names its send: no two sends of a history have the same. `at` is any
number that grows with time, the same clock for a whole history (`time.monotonic_ns()` is one for all processes of a
machine; a simulation counts steps): of a send or commit when its outcome was heard, of a question when it was asked.

Everything here is plain data without I/O: it is pickled between processes and merged.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Outcome(enum.Enum):
    """What a client knows of a request of its own."""

    ACKED = "acked"
    # Refused before anything was written: it is not there.
    FAILED = "failed"
    # No answer, an answer that does not say, or acks=0: it may be there, and where nothing forbids it more than once.
    UNKNOWN = "unknown"


class Producer(NamedTuple):
    """One instance of a producing client; `ordered` where it is idempotent or has one request in flight at most."""

    name: str
    idempotent: bool
    ordered: bool


class Send(NamedTuple):
    """A record given to a producer; `number` grows with the order in which the producer was given them."""

    producer: str
    number: int
    partition: TopicPartition
    value: bytes
    outcome: Outcome
    offset: int | None = None
    at: int = 0


class Read(NamedTuple):
    """A record given out by a consumer."""

    reader: str
    partition: TopicPartition
    offset: int
    value: bytes
    at: int = 0


class LogView(NamedTuple):
    """A whole partition, read from its log start offset to its high watermark while nobody wrote to it."""

    partition: TopicPartition
    start: int
    end: int
    records: Mapping[int, bytes]
    at: int = 0


class RecordsDeleted(NamedTuple):
    """An answer to DeleteRecords: the log starts at this offset or later from now on."""

    partition: TopicPartition
    log_start: int
    at: int = 0


class Offsets(NamedTuple):
    """What a partition's offsets were at one moment."""

    partition: TopicPartition
    log_start: int
    last_stable: int
    high_watermark: int
    log_end: int


class Commit(NamedTuple):
    """A group's commit; `is_reset` where going back is what was asked for."""

    group: str
    partition: TopicPartition
    offset: int
    outcome: Outcome
    at: int = 0
    is_reset: bool = False


class Committed(NamedTuple):
    """What a broker says is committed; None: nothing."""

    group: str
    partition: TopicPartition
    offset: int | None
    at: int = 0


class Assignment(NamedTuple):
    """What one generation of a group gave a member, by the answer to its SyncGroup; a static one has an `instance`."""

    group: str
    generation: int
    member: str
    partitions: frozenset[TopicPartition]
    at: int = 0
    instance: str | None = None


class Claim(NamedTuple):
    """A partition in the hands of a member's application, from a generation on: since it was told that the partition is
    its own, until it gave it up, was told that it had lost it, or died. None: it has it still.

    `is_mistaken` where its client had told the group that it owned the partition already, which was not so.
    """

    group: str
    generation: int
    member: str
    partition: TopicPartition
    since: int
    until: int | None = None
    is_mistaken: bool = False


class Sighting(NamedTuple):
    """An offset's value, as somebody was told it; `source` says who and how."""

    partition: TopicPartition
    offset: int
    value: bytes
    at: int
    source: str


@dataclass
class History:
    producers: dict[str, Producer] = field(default_factory=dict)
    sends: list[Send] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    views: list[LogView] = field(default_factory=list)
    deletions: list[RecordsDeleted] = field(default_factory=list)
    offsets: list[Offsets] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    committed: list[Committed] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    def add_producer(self, producer: Producer) -> None:
        if producer.name in self.producers:
            raise ValueError(f"there is a producer {producer.name!r} already")
        self.producers[producer.name] = producer

    def merge(self, other: History) -> None:
        """Takes in what another client, or the same one at another time, has seen."""
        for producer in other.producers.values():
            if self.producers.get(producer.name, producer) != producer:
                raise ValueError(f"two different producers are called {producer.name!r}")
            self.producers[producer.name] = producer
        lists = ("sends", "reads", "views", "deletions", "offsets", "commits", "committed", "assignments", "claims")
        for name in lists:
            getattr(self, name).extend(getattr(other, name))

    def forget_from(self, partition: TopicPartition, offset: int) -> None:
        """A loss of power took what was not synced: what was said of offsets from this one on counts no more.

        Their records may be gone, and their offsets be given to others; so may those acknowledged without an offset.
        """

        def counts(one: Send | Read) -> bool:
            return one.partition != partition or (one.offset is not None and one.offset < offset)

        self.sends = [
            send if counts(send) or send.outcome is Outcome.FAILED else send._replace(outcome=Outcome.UNKNOWN)
            for send in self.sends
        ]
        self.reads = [read for read in self.reads if counts(read)]
        self.deletions = [one for one in self.deletions if one.partition != partition]
        self.offsets = [seen for seen in self.offsets if seen.partition != partition]
        self.views = [
            view if view.partition != partition or view.end <= offset else view_below(view, offset)
            for view in self.views
        ]

    def sends_by_value(self) -> dict[bytes, Send]:
        """ValueError when two sends have the same value: such a history proves nothing."""
        by_value: dict[bytes, Send] = {}
        for send in self.sends:
            if by_value.setdefault(send.value, send) is not send:
                raise ValueError(f"two sends have the value {send.value!r}")
        return by_value

    def told(self) -> Iterator[Sighting]:
        """What was told of an offset's value by an acknowledgement, or to a consumer."""
        for send in self.sends:
            if send.outcome is Outcome.ACKED and send.offset is not None:
                yield Sighting(send.partition, send.offset, send.value, send.at, f"acknowledged to {send.producer}")
        for read in self.reads:
            yield Sighting(read.partition, read.offset, read.value, read.at, f"read by {read.reader}")

    def sightings(self) -> Iterator[Sighting]:
        """Everything that anybody was told of an offset's value: `told`, and by reading everything."""
        yield from self.told()
        for view in self.views:
            source = f"in the whole of {view.partition} read at {view.at}"
            for offset, value in view.records.items():
                yield Sighting(view.partition, offset, value, view.at, source)


def view_below(view: LogView, offset: int) -> LogView:
    """What a view says of the offsets below one."""
    kept = {at: value for at, value in view.records.items() if at < offset}
    return view._replace(start=min(view.start, offset), end=offset, records=kept)
