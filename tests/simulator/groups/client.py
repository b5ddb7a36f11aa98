"""A consumer as the group protocol sees it: joins, syncs, heartbeats, commits, and starts over when it is told to.

It behaves as Java's ConsumerCoordinator does: commits and gives its partitions up before it joins again, forgets its
member id on UNKNOWN_MEMBER_ID, ends on FENCED_INSTANCE_ID, asks again where it gets no answer. A ticket stands for the
request that it waits for; answers to earlier ones are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Protocol

from kcore.coordinator.group import codes
from tests.simulator.groups.clockwork import Clockwork
from tests.simulator.groups.service import Service
from tests.simulator.groups.witness import Witness

RETRY_MS = 100
FULL_GROUP_RETRY_MS = 5_000
SYNC_TIMEOUT_MS = 30_000
CONSUME_MS = 1_500
DOWN, JOINING, SYNCING, STABLE, FENCED = "down", "joining", "syncing", "stable", "fenced"


class Network(Protocol):
    """Delivers what it is given, late, twice or never."""

    def deliver(self, client: Client, act: Any, *, ordered: bool = False) -> None: ...


class Client:
    """One consumer; `identity` is its instance id or, for the time being, its member id."""

    def __init__(
        self,
        name: str,
        instance_id: str | None,
        chance: Random,
        clockwork: Clockwork,
        network: Network,
        service: Service,
        witness: Witness,
        partitions: int,
        rebalance_ms: int,
    ) -> None:
        self.name = name
        self.instance_id = instance_id
        self.chance = chance
        self.clockwork = clockwork
        self.network = network
        self.service = service
        self.witness = witness
        self.partitions = partitions
        self.version = chance.choice((3, 4, 9, 9))
        self.session_ms = chance.choice((6_000, 10_000, 30_000))
        self.rebalance_ms = rebalance_ms
        self.protocols = ["range", "sticky"] if chance.random() < 0.7 else ["sticky", "range"]
        self.state = DOWN
        self.member_id = ""
        self.generation = -1
        self.subscription = 0
        self.positions: dict[int, int] = {}
        self.is_paused = False
        self._ticket = 0
        self._life = 0

    @property
    def identity(self) -> str:
        return self.instance_id or self.member_id

    # --- life -------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        if self.state == DOWN:
            self._life += 1
            self.is_paused = False
            self.join()
            # Whoever hears of a rebalance later than it may last is always late, with Kafka too.
            self._every(min(self.session_ms, self.rebalance_ms) // 3, self._heartbeat)
            self._every(CONSUME_MS, self._consume)

    def die(self) -> None:
        """Without a word."""
        self._end(DOWN)

    def leave(self) -> None:
        """Goes, and says so, unless it is static: then its place is kept for it."""
        member_id = self.member_id
        self._end(DOWN)
        if member_id and self.instance_id is None:
            self.network.deliver(self, lambda: self.service.leave(self.witness.group_id, [(member_id, None)]))

    def resubscribe(self) -> None:
        """Wants something else from now on, which makes it join again."""
        self.subscription += 1
        if self.chance.random() < 0.3:
            self.protocols.reverse()
        if self.state in (SYNCING, STABLE):
            self.join()

    def _end(self, state: str) -> None:
        self.state = state
        self._life += 1
        self._ticket += 1
        self.member_id, self.generation = "", -1
        self.positions = {}

    def _every(self, interval_ms: int, act: Any) -> None:
        life = self._life

        def ring() -> None:
            if self._life == life:
                if not self.is_paused:
                    act()
                self.clockwork.schedule(interval_ms, ring)

        self.clockwork.schedule(self.chance.randrange(interval_ms) + 1, ring)

    def _later(self, delay_ms: int, act: Any) -> None:
        """Unless something else comes of it before."""
        self._ticket += 1
        ticket = self._ticket
        self.clockwork.schedule(delay_ms, lambda: act() if self._ticket == ticket else None)

    # --- joining ----------------------------------------------------------------------------------------------------

    def join(self) -> None:
        self.positions = {}
        self.state = JOINING
        fields = {
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
            "protocol_type": "consumer",
            "protocols": [Protocols(name, b"%d" % self.subscription) for name in self.protocols],
            "session_timeout_ms": self.session_ms,
            "rebalance_timeout_ms": self.rebalance_ms,
            "reason": None,
        }
        self._later(self.rebalance_ms + 5_000, self.join)
        give = self._answer_to(self._joined, self._led)
        self.network.deliver(self, lambda: self.service.join(self.witness.group_id, fields, self.version, give))

    def _led(self, fields: Mapping[str, Any]) -> None:
        """As the coordinator answers, whether or not it arrives."""
        if not fields["error_code"] and fields["members"] and not fields["skip_assignment"]:
            self.witness.leads(self.instance_id or fields["member_id"], fields["generation_id"])

    def _joined(self, fields: Mapping[str, Any]) -> None:
        error = fields["error_code"]
        if error == codes.NONE:
            self.member_id, self.generation = fields["member_id"], fields["generation_id"]
            is_leader = fields["leader"] == self.member_id and not fields["skip_assignment"]
            self._sync(self._assignment(fields["members"]) if is_leader else [])
        elif error == codes.MEMBER_ID_REQUIRED:
            self.member_id = fields["member_id"]
            self.join()
        else:
            self._refused(error)

    def _assignment(self, members: list[dict[str, Any]]) -> list[Assigned]:
        shares: dict[str, list[int]] = {member["member_id"]: [] for member in members}
        names = list(shares)
        self.chance.shuffle(names)
        for partition in range(self.partitions):
            shares[names[partition % len(names)]].append(partition)
        return [Assigned(name, ",".join(map(str, share)).encode()) for name, share in shares.items()]

    # --- syncing ----------------------------------------------------------------------------------------------------

    def _sync(self, assignments: list[Assigned]) -> None:
        self.state = SYNCING
        member_id, generation = self.member_id, self.generation
        fields = {
            "member_id": member_id,
            "group_instance_id": self.instance_id,
            "generation_id": generation,
            "protocol_type": None,
            "protocol_name": None,
            "assignments": assignments,
        }
        self._later(SYNC_TIMEOUT_MS, self.join)

        def told(answer: Mapping[str, Any]) -> None:
            if not answer["error_code"]:
                raw = answer["assignment"]
                self.witness.assigns(self.instance_id or member_id, member_id, generation, shares_of(raw), raw)

        give = self._answer_to(self._synced, told)
        self.network.deliver(self, lambda: self.service.sync(self.witness.group_id, fields, give))

    def _synced(self, fields: Mapping[str, Any]) -> None:
        if fields["error_code"]:
            self._refused(fields["error_code"])
            return
        committed = self.service.committed(self.witness.group_id)
        if committed is None:
            self._later(RETRY_MS, lambda: self._synced(fields))
            return
        self._ticket += 1
        self.state = STABLE
        self.positions = {partition: committed.get(partition, 0) for partition in shares_of(fields["assignment"])}

    def _refused(self, error: int) -> None:
        """What a client does about each error."""
        if error == codes.FENCED_INSTANCE_ID:
            self._end(FENCED)
            return
        if error in (codes.UNKNOWN_MEMBER_ID, codes.GROUP_MAX_SIZE_REACHED, codes.UNKNOWN_SERVER_ERROR):
            self.member_id, self.generation = "", -1
        self.positions = {}
        self._later(FULL_GROUP_RETRY_MS if error == codes.GROUP_MAX_SIZE_REACHED else RETRY_MS, self.join)

    def _answer_to(self, act: Any, as_answered: Any) -> Any:
        """Takes the coordinator's answer to this client, if that still waits for it when it arrives."""
        ticket, life = self._ticket, self._life

        def arrive(fields: Mapping[str, Any]) -> None:
            if self._ticket == ticket and self._life == life:
                act(fields)

        def give(fields: Mapping[str, Any]) -> None:
            as_answered(fields)
            self.network.deliver(self, lambda: arrive(fields))

        return give

    # --- being a member ---------------------------------------------------------------------------------------------

    def _heartbeat(self) -> None:
        if self.state not in (SYNCING, STABLE):
            return
        member_id, generation, life = self.member_id, self.generation, self._life

        def answered(error: int | None) -> None:
            is_mine = self._life == life and (self.member_id, self.generation) == (member_id, generation)
            if error and is_mine and self.state in (SYNCING, STABLE):
                if error == codes.REBALANCE_IN_PROGRESS:
                    self._commit()
                    self.join()
                else:
                    self._refused(error)

        def ask() -> None:
            error = self.service.heartbeat(self.witness.group_id, member_id, generation, self.instance_id)
            self.network.deliver(self, lambda: answered(error))

        self.network.deliver(self, ask)

    def _consume(self) -> None:
        if self.state == STABLE:
            for partition in self.positions:
                self.positions[partition] += self.chance.randrange(100)
            if self.chance.random() < 0.5:
                self._commit()

    def _commit(self) -> None:
        """One connection: commits of a client arrive in their order, or not at all."""
        if not self.positions:
            return
        offsets, member_id, generation = dict(self.positions), self.member_id, self.generation
        identity = self.identity

        def ask() -> None:
            answer = self.service.commit(self.witness.group_id, member_id, generation, self.instance_id, offsets)
            if answer is not None:
                taken = {partition: offsets[partition] for partition, error in answer.items() if not error}
                self.witness.commits(identity, generation, taken)

        self.network.deliver(self, ask, ordered=True)


class Protocols:
    """A protocol of a JoinGroup request."""

    __slots__ = ("metadata", "name")

    def __init__(self, name: str, metadata: bytes) -> None:
        self.name = name
        self.metadata = metadata


class Assigned:
    """A leader's word on one member."""

    __slots__ = ("assignment", "member_id")

    def __init__(self, member_id: str, assignment: bytes) -> None:
        self.member_id = member_id
        self.assignment = assignment


def shares_of(assignment: bytes) -> list[int]:
    """The partitions of an assignment."""
    return [int(text) for text in assignment.split(b",") if text]
