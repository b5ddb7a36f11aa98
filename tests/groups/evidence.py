"""What is known of one group while a scenario is played: what was on the wire, and what its members' applications say.

A member is called by its name ("a"); each of its processes by a client id of its own ("a.1", then "a.2"), which is what
the wire knows it by. A claim's generation is that of the last SyncGroup answered to the process before it was told.

Concurrency: the tap's thread and a thread of each member bring news; the player waits for what follows from them.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kcore import errors
from kcore.client.consumer.consumer_protocol import decode_assignment, decode_subscription
from kcore.protocol import apis
from tests.groups.tap import Exchange
from tests.invariants.history import Assignment, Claim, Commit, History, Outcome, Read, TopicPartition

# What answers a member that it is one.
CONFIRMING = (apis.JOIN_GROUP, apis.SYNC_GROUP, apis.HEARTBEAT)
STARVED_SHARE = 0.7


class ErrorSeen(NamedTuple):
    """A group API was answered with an error."""

    member: str
    api: str
    error: str
    at: int


class Callback(NamedTuple):
    """An application was told of partitions; `kind` is "assigned", "revoked" or "lost"."""

    member: str
    kind: str
    partitions: frozenset[TopicPartition]
    at: int


class CommitHeard(NamedTuple):
    """What a client's commit answered its application."""

    member: str
    error: str | None
    at: int


class Starved(Exception):
    """A member that nobody paused said nothing for most of its session: the machine was too slow for such sessions."""


class Evidence:
    """What the invariants are checked on is `history`; `so_far` has the claims that go on in it too."""

    def __init__(self, group: str, session_ms: int) -> None:
        self.group = group
        self.session_ms = session_ms
        # Client ids of those that were paused: they may well be silent.
        self.excused: set[str] = set()
        self.history = History()
        self.errors: list[ErrorSeen] = []
        self.callbacks: list[Callback] = []
        self.commits_heard: list[CommitHeard] = []
        self.protocols: dict[int, str] = {}
        self.read_count: Counter[tuple[TopicPartition, int]] = Counter()
        self.committed: dict[TopicPartition, int] = {}
        self._news = threading.Condition()
        # By client id: the assignments in order, and what its application holds.
        self._synced: dict[str, list[Assignment]] = defaultdict(list)
        self._held: dict[str, dict[TopicPartition, Claim]] = defaultdict(dict)
        self._failures: list[str] = []
        # By client id: what it called its own when it last joined, where that lets others wait for it (cooperative).
        self._called_own: dict[str, frozenset[TopicPartition]] = {}
        # Names of members that have heard that others took their places.
        self.fenced: set[str] = set()
        # By client id: when it was last told that it is a member.
        self._confirmed_at: dict[str, int] = {}
        self._starved: list[str] = []

    # What happens

    def on_exchange(self, exchange: Exchange) -> None:
        """From the tap; connections of other groups' clients do not pass it."""
        with self._news:
            codes = error_codes(exchange)
            self._watch_silence(exchange, codes)
            for error in codes:
                if error:
                    name = errors.by_code(error).name
                    self.errors.append(
                        ErrorSeen(name_of(exchange.client_id), exchange.api.name, name, exchange.answered_at)
                    )
            if exchange.api is apis.JOIN_GROUP:
                self._on_join(exchange)
            elif exchange.api is apis.SYNC_GROUP:
                self._on_sync(exchange)
            elif exchange.api is apis.OFFSET_COMMIT:
                self._on_commit(exchange)
            self._news.notify_all()

    def _watch_silence(self, exchange: Exchange, codes: set[int]) -> None:
        before = self._confirmed_at.get(exchange.client_id)
        if before is not None and errors.UnknownMemberIdError.code in codes:
            silence_ms = (exchange.answered_at - before) / 1e6
            if silence_ms > STARVED_SHARE * self.session_ms and exchange.client_id not in self.excused:
                self._starved.append(f"{exchange.client_id} was not heard of for {silence_ms:.0f} ms")
        if exchange.api in CONFIRMING and exchange.response is not None and not codes:
            self._confirmed_at[exchange.client_id] = exchange.answered_at

    def _on_join(self, exchange: Exchange) -> None:
        response = exchange.response
        if response is None or response.error_code:
            return
        self.protocols[response.generation_id] = response.protocol_name
        own: frozenset[TopicPartition] = frozenset()
        if "cooperative" in response.protocol_name:
            offered = {one.name: bytes(one.metadata) for one in exchange.request.protocols}
            own = frozenset(TopicPartition(*one) for one in decode_subscription(offered[response.protocol_name]).owned)
        self._called_own[exchange.client_id] = own

    def _on_sync(self, exchange: Exchange) -> None:
        response = exchange.response
        if response is None or response.error_code:
            return
        partitions = frozenset(TopicPartition(*one) for one in decode_assignment(bytes(response.assignment)))
        generation = exchange.request.generation_id
        given = Assignment(
            self.group,
            generation,
            name_of(exchange.client_id),
            partitions,
            exchange.answered_at,
            exchange.request.group_instance_id,
        )
        self._synced[exchange.client_id].append(given)
        self.history.assignments.append(given)

    def _on_commit(self, exchange: Exchange) -> None:
        outcomes = {}
        if exchange.response is not None:
            for topic in exchange.response.topics:
                for one in topic.partitions:
                    outcomes[topic.name, one.partition_index] = Outcome.FAILED if one.error_code else Outcome.ACKED
        for topic in exchange.request.topics:
            for one in topic.partitions:
                place = TopicPartition(topic.name, one.partition_index)
                outcome = outcomes.get(place, Outcome.UNKNOWN)
                self.history.commits.append(
                    Commit(self.group, place, one.committed_offset, outcome, exchange.answered_at)
                )
                if outcome is Outcome.ACKED:
                    self.committed[place] = one.committed_offset

    def on_event(self, client_id: str, event: dict[str, Any]) -> None:
        """From a member's program."""
        with self._news:
            kind, at = event["event"], event["at"]
            if kind == "records":
                self._on_records(client_id, event["records"], at)
            elif kind == "committed":
                self.commits_heard.append(CommitHeard(name_of(client_id), event["error"], at))
            elif kind in ("assigned", "revoked", "lost"):
                partitions = frozenset(TopicPartition(*one) for one in event["partitions"])
                self.callbacks.append(Callback(name_of(client_id), kind, partitions, at))
                if kind == "assigned":
                    self._take(client_id, partitions, at)
                else:
                    self._let_go(client_id, partitions, at)
            elif kind == "left":
                self._let_go(client_id, list(self._held[client_id]), at)
            elif kind == "fenced":
                self.fenced.add(name_of(client_id))
            elif kind == "failed":
                self._failures.append(f"{client_id}: {event['error']}")
            else:
                raise ValueError(f"{client_id} tells {event}")
            self._news.notify_all()

    def on_death(self, client_id: str) -> None:
        """Its process has ended, and everything that it told was heard."""
        with self._news:
            self._let_go(client_id, list(self._held[client_id]), time.monotonic_ns())

    def _on_records(self, client_id: str, records: Iterable[tuple[str, int, int, str]], at: int) -> None:
        for topic, partition, offset, value in records:
            place = TopicPartition(topic, partition)
            self.history.reads.append(Read(name_of(client_id), place, offset, value.encode(), at))
            self.read_count[place, offset] += 1

    def _take(self, client_id: str, partitions: Iterable[TopicPartition], at: int) -> None:
        """Eager clients are told again what they have given up before; some tell of all that they own once more.

        An application that is told of a partition anew did not have it: when its client joined with that partition as
        its own, then the client was wrong. kafka-python 3.0.12 does so after it has lost its membership, before Apache
        Kafka as before us; whoever leads the group leaves the partition to it then, and nobody is waited for.
        """
        synced = [given for given in self._synced[client_id] if given.at <= at]
        generation = synced[-1].generation if synced else -1
        for partition in partitions:
            if partition not in self._held[client_id]:
                mistaken = partition in self._called_own.get(client_id, ())
                claim = Claim(self.group, generation, name_of(client_id), partition, at, is_mistaken=mistaken)
                self._held[client_id][partition] = claim

    def _let_go(self, client_id: str, partitions: Iterable[TopicPartition], at: int) -> None:
        for partition in partitions:
            claim = self._held[client_id].pop(partition, None)
            if claim is not None:
                self.history.claims.append(claim._replace(until=at))

    # What is known

    def wait_for(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Until it holds; it is asked, under the lock, at each piece of news."""
        with self._news:
            found = self._news.wait_for(lambda: bool(self._starved) or condition(), timeout_s)
            if self._starved:
                raise Starved(", ".join(self._starved))
            return found

    def newest_generation(self) -> int:
        return max((given.generation for given in self.history.assignments), default=0)

    def is_settled(
        self, living: Iterable[str], partitions: frozenset[TopicPartition], replaced: frozenset[str]
    ) -> bool:
        """Whether the newest generation has exactly these processes, and each holds its share of all partitions.

        `replaced` are members whose place others have taken, within a generation.
        """
        newest = self.newest_generation()
        members = {given.member for given in self.history.assignments if given.generation == newest} - replaced
        client_ids = list(living)
        if members != {name_of(client_id) for client_id in client_ids}:
            return False
        shared: set[TopicPartition] = set()
        for client_id in client_ids:
            synced = self._synced[client_id]
            if not synced or synced[-1].generation != newest or synced[-1].partitions != set(self._held[client_id]):
                return False
            shared |= synced[-1].partitions
        return shared == partitions

    def settled_at(self) -> int:
        """When the last member was told its share, of the newest generation."""
        newest = self.newest_generation()
        told = [claim.since for held in self._held.values() for claim in held.values() if claim.generation == newest]
        return max([*told, *(given.at for given in self.history.assignments if given.generation == newest)])

    def owners(self) -> dict[TopicPartition, str]:
        """Whose process holds each partition."""
        return {partition: client_id for client_id, held in self._held.items() for partition in held}

    def shares(self, living: Iterable[str]) -> dict[str, int]:
        """How many partitions each process's application holds."""
        return {client_id: len(self._held[client_id]) for client_id in living}

    def so_far(self) -> History:
        """The history with the claims that go on."""
        with self._news:
            history = History()
            history.merge(self.history)
            history.claims += [claim for held in self._held.values() for claim in held.values()]
            return history

    def state(self) -> str:
        """For whoever reads why a wait was in vain."""
        newest = self.newest_generation()
        lines = [f"generation {newest}"]
        for client_id, synced in self._synced.items():
            held = sorted(map(str, self._held[client_id]))
            lines.append(f"{client_id}: last synced {synced[-1] if synced else None}, holds {held}")
        lines += [f"error: {one}" for one in self.errors[-10:]]
        lines += [f"callback: {one.member} {one.kind} {len(one.partitions)}" for one in self.callbacks[-10:]]
        lines += [f"failure: {one}" for one in self._failures[-10:]]
        lines.append(f"committed {self.committed}, read {len(self.read_count)}")
        return "\n".join(lines)


def name_of(client_id: str) -> str:
    """A member's name, of the client id of one of its processes."""
    return client_id.partition(".")[0]


def error_codes(exchange: Exchange) -> set[int]:
    """Every code in an answer but 0."""
    response = exchange.response
    if response is None:
        return set()
    found = {getattr(response, "error_code", 0)}
    if exchange.api is apis.OFFSET_COMMIT:
        found |= {one.error_code for topic in response.topics for one in topic.partitions}
    elif exchange.api is apis.LEAVE_GROUP:
        found |= {one.error_code for one in response.members}
    elif exchange.api is apis.FIND_COORDINATOR:
        found |= {one.error_code for one in response.coordinators}
    elif exchange.api is apis.OFFSET_FETCH:
        found |= {group.error_code for group in response.groups}
    return found - {0}
