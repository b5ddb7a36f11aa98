"""Members of a group that live in threads: they poll, note what they own and read, leave or are cut off.

Together they show what a group owes: nobody owns what another one owns, everything is owned in the end, nothing is
lost, and where partitions are given up before others take them, nothing is read twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kcore.client.consumer import RebalanceListener
from kcore.client.metadata.cluster import TopicPartition
from kcore.testing import FaultProxy
from tests.scenarios.scene import GONE_CLOSE_MS, Scene

SHORT_POLL_MS = 50


class Notes(RebalanceListener):
    """What the listener of a member was told; a thing told that cannot be is an AssertionError of its poll."""

    def __init__(self) -> None:
        self.owned: set[TopicPartition] = set()
        self.calls: list[tuple[str, frozenset[TopicPartition]]] = []

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        assert not self.owned & set(partitions), f"{partitions} owned already"
        self.owned = self.owned | set(partitions)
        self.calls.append(("assigned", frozenset(partitions)))

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        assert set(partitions) <= self.owned, f"{partitions} were not owned"
        self.owned = self.owned - set(partitions)
        self.calls.append(("revoked", frozenset(partitions)))

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        assert set(partitions) <= self.owned, f"{partitions} were not owned"
        self.owned = self.owned - set(partitions)
        self.calls.append(("lost", frozenset(partitions)))

    def named(self, call: str) -> list[frozenset[TopicPartition]]:
        return [partitions for name, partitions in self.calls if name == call and partitions]


class Member:
    """A consumer and its thread. `can_die`: behind a proxy of its own, so that it can vanish."""

    def __init__(
        self, scene: Scene, topics: Any, flavour: str, *, can_die: bool = False, prepare: Any = None, **keywords: Any
    ) -> None:
        self.notes = Notes()
        self.numbers: list[int] = []
        self.failure: BaseException | None = None
        self.proxy: FaultProxy | None = scene.proxy() if can_die else None
        if self.proxy is not None:
            keywords["bootstrap_servers"] = self.proxy.bootstrap_servers
        self.consumer = scene.consumer(flavour=flavour, **keywords)
        self._topics = topics
        self._commands: list[tuple[Callable[[Any], None], threading.Event]] = []
        self._is_over = threading.Event()
        self._has_died = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __str__(self) -> str:
        """What it was told, and every partition as its consumer sees it."""
        consumer = self.consumer
        calls = [(name, sorted(map(str, partitions))) for name, partitions in self.notes.calls]
        with consumer._network.lock:
            states = {
                str(place): (state.state.name, state.position, state.is_pending_assignment, state.is_pending_revocation)
                for place, state in consumer._subscriptions._partitions.items()
            }
            epoch = consumer._membership.group_metadata.generation_id
            fetched = consumer._fetcher.positions()
        return f"failure {self.failure!r}, epoch {epoch}, calls {calls}, partitions {states}, fetched {fetched}"

    @property
    def owned(self) -> set[TopicPartition]:
        if self.failure is not None:
            raise self.failure
        return self.notes.owned

    def _run(self) -> None:
        try:
            self.consumer.subscribe(self._topics, self.notes)
            while not self._is_over.is_set():
                while self._commands:
                    act, done = self._commands.pop(0)
                    act(self.consumer)
                    done.set()
                if self._is_over.is_set():
                    break
                self.numbers += [int(record.value) for record in self.consumer.poll(SHORT_POLL_MS)]
            self.consumer.close(GONE_CLOSE_MS if self._has_died else 30_000.0)
        except BaseException as error:
            self.failure = error

    def do(self, act: Callable[[Any], None], *, ends: bool = False) -> None:
        """Has the member's thread do something with its consumer between two polls, or as its last deed."""
        done = threading.Event()
        if ends:
            self._commands.append((lambda consumer: self._is_over.set(), threading.Event()))
        self._commands.append((act, done))
        while not done.wait(0.05):
            if self.failure is not None:
                raise self.failure

    def leave(self) -> None:
        """Closes it in good order."""
        self._is_over.set()
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def die(self) -> None:
        """Nothing of it reaches the broker any more."""
        assert self.proxy is not None
        self.proxy.pause()
        self._has_died = True
        self._is_over.set()
        self._thread.join()


class Group:
    """The members of a scene's group, and what they share."""

    def __init__(self, scene: Scene, flavour: str, topics: Any, **keywords: Any) -> None:
        self.scene = scene
        self.flavour = flavour
        self.topics = topics
        self.keywords = keywords
        self.members: list[Member] = []
        self.gone: list[Member] = []

    def join(self, **keywords: Any) -> Member:
        member = Member(self.scene, self.topics, self.flavour, **{**self.keywords, **keywords})
        self.members.append(member)
        return member

    def leave(self, member: Member) -> None:
        self.members.remove(member)
        self.gone.append(member)
        member.leave()

    def die(self, member: Member) -> None:
        self.members.remove(member)
        self.gone.append(member)
        member.die()

    def close(self) -> None:
        for member in self.members[:]:
            self.leave(member)

    def owned(self) -> list[int]:
        return [len(member.owned) for member in self.members]

    def await_shares(self, shares: Sequence[int]) -> None:
        """Returns when the members own so many partitions each, whoever how many, and none twice."""
        Scene.until(
            lambda: sorted(self.owned()) == sorted(shares),
            f"shares of {sorted(shares)}",
            lambda: f"but {self.owned()}: {self.state()}",
        )
        every = [place for member in self.members for place in member.owned]
        assert len(every) == len(set(every)), "a partition has two owners"

    def await_even(self, partitions: int) -> None:
        count = len(self.members)
        self.await_shares([partitions // count + (index < partitions % count) for index in range(count)])

    def state(self) -> str:
        """For the message of a failure: who owns what, and where each partition stands."""
        return "\n".join(map(str, self.members))

    def numbers(self) -> list[int]:
        return sorted(number for member in [*self.members, *self.gone] for number in member.numbers)

    def await_numbers(self, count: int) -> None:
        """Returns when each number up to `count` was read."""
        self.await_each(range(count))

    def await_each(self, numbers: Iterable[int]) -> None:
        """Returns when each of these numbers was read; raises what a member failed of, which reads no more."""
        wanted = set(numbers)

        def are_read() -> bool:
            self.owned()
            return wanted <= set(self.numbers())

        Scene.until(
            are_read,
            f"{len(wanted)} records",
            lambda: f"but all but {sorted(wanted - set(self.numbers()))}: {self.state()}",
        )
