"""A consumer of the classic protocol in a group that may be of either: it joins, syncs, leads where it is told to.

Eager ones give everything up before they join, cooperative ones say what they have, and join again once they have given
up what they were not given (KIP-429). A leader assigns evenly, leaves out what another still has, and joins again when
topics grow. A ticket stands for the request that it waits for; answers to earlier ones are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from kcore.coordinator.group import codes
from kcore.protocol.records import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION
from tests.simulator.groups.client import Assigned, Protocols
from tests.simulator.groups.storm import GROUP

if TYPE_CHECKING:
    from tests.simulator.consumer_groups.client import Place
    from tests.simulator.consumer_groups.mixed_life import MixedGroupLife

RETRY_MS = 100
SYNC_TIMEOUT_MS = 30_000
CONSUME_MS = 1_500
REBALANCE_MS = 30_000
VERSION = 9
DOWN, JOINING, SYNCING, STABLE = "down", "joining", "syncing", "stable"


class ClassicClient:
    """One process after another under one name. `positions` is what it uses, by place the next offset to commit."""

    def __init__(self, name: str, instance_id: str | None, chance: Random, life: MixedGroupLife) -> None:
        self.name = name
        self.instance_id = instance_id
        self.topics: list[str] = []
        self.positions: dict[Place, int] = {}
        # It was expelled, and goes on with what it had until it hears of it.
        self.is_outside = False
        self.state = DOWN
        self.member_id = ""
        self.generation = -1
        self.is_paused = False
        self._chance = chance
        self._life = life
        self._session_ms = chance.choice((10_000, 30_000))
        self._ticket = 0
        self._process = 0
        self._said_topics = self.topics
        # What a leader has assigned: it joins again when there is more.
        self._assigned_sizes: dict[str, int] | None = None

    @property
    def is_alive(self) -> bool:
        return self.state != DOWN

    @property
    def epoch(self) -> int:
        """What consumers of the other protocol would call its generation."""
        return self.generation

    # --- life -------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """A new process."""
        if self.state == DOWN:
            self._process += 1
            if self.instance_id is None or not self.topics:
                # A static member that comes back with another subscription is not heard, with Kafka too.
                self.topics = self._life.some_topics()
            self.join()
            self._every(self._session_ms // 3, self._heartbeat)
            self._every(CONSUME_MS, self._consume)

    def die(self) -> None:
        self.state = DOWN
        self._process += 1
        self._ticket += 1
        self._forget()

    def leave(self) -> None:
        """Static members go without a word, but in the calm, when an administrator removes them."""
        member_id = self.member_id
        self._commit()
        self.die()
        if member_id and (self.instance_id is None or self._life.is_calm):
            self._send(lambda: self._life.service.leave(GROUP, [(member_id, self.instance_id)]))

    def resubscribe(self) -> None:
        """Joins again, to be given what it wants now."""
        self.topics = self._life.some_topics()
        if self.state in (SYNCING, STABLE):
            self._join_again()

    def _forget(self) -> None:
        self.member_id, self.generation = "", -1
        self.positions = {}

    def _every(self, interval_ms: int, act: Callable[[], None]) -> None:
        process = self._process

        def ring() -> None:
            if self._process == process:
                if not self.is_paused:
                    act()
                self._life.clockwork.schedule(interval_ms, ring)

        self._life.clockwork.schedule(self._chance.randrange(interval_ms) + 1, ring)

    def _later(self, delay_ms: int, act: Callable[[], None]) -> None:
        """Unless something else comes of it before."""
        self._ticket += 1
        ticket = self._ticket
        self._life.clockwork.schedule(delay_ms, lambda: act() if self._ticket == ticket else None)

    def _send(self, act: Callable[[], object]) -> None:
        self._life.deliver(self, act, ordered=True)

    def _answer_to(self, act: Callable[[Any], None]) -> Callable[[Any], None]:
        """Takes an answer if this client still waits for it when it arrives."""
        ticket = self._ticket

        def give(fields: Any) -> None:
            self._send(lambda: act(fields) if self._ticket == ticket and not self.is_paused else None)

        return give

    # --- joining ----------------------------------------------------------------------------------------------------

    def _join_again(self) -> None:
        self._commit()
        self.join()

    def join(self) -> None:
        if not self._life.is_cooperative:
            self.positions = {}
        self.state = JOINING
        self._said_topics = self.topics
        self._assigned_sizes = None
        fields = {
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
            "protocol_type": "consumer",
            "protocols": [Protocols(self._life.protocol, self._subscription())],
            "session_timeout_ms": self._session_ms,
            "rebalance_timeout_ms": REBALANCE_MS,
            "reason": None,
        }
        self._later(REBALANCE_MS + 5_000, self.join)
        give = self._answer_to(self._joined)
        self._send(lambda: self._life.service.join(GROUP, fields, VERSION, give))

    def _subscription(self) -> bytes:
        rows: dict[str, list[int]] = {}
        for topic, partition in sorted(self.positions):
            rows.setdefault(self._life.name_of(topic), []).append(partition)
        owned = [{"topic": topic, "partitions": held} for topic, held in rows.items()]
        return CONSUMER_PROTOCOL_SUBSCRIPTION.encode(1, {"topics": self.topics, "owned_partitions": owned})

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
        self._assigned_sizes = dict(self._life.sizes)
        wanted, owners = {}, {}
        for member in members:
            _, subscription = CONSUMER_PROTOCOL_SUBSCRIPTION.decode(member["metadata"])
            wanted[member["member_id"]] = set(subscription.topics)
            for row in subscription.owned_partitions:
                owners.update({(row.topic, partition): member["member_id"] for partition in row.partitions})
        shares: dict[str, dict[str, list[int]]] = {member_id: {} for member_id in wanted}
        counts = dict.fromkeys(wanted, 0)
        for topic, size in self._life.sizes.items():
            takers = [member_id for member_id in wanted if topic in wanted[member_id]]
            for partition in range(size) if takers else ():
                taker = min(takers, key=lambda member_id: counts[member_id])
                counts[taker] += 1
                if owners.get((topic, partition), taker) == taker:
                    shares[taker].setdefault(topic, []).append(partition)
        return [Assigned(member_id, encoded_share(share)) for member_id, share in shares.items()]

    # --- syncing ----------------------------------------------------------------------------------------------------

    def _sync(self, assignments: list[Assigned]) -> None:
        self.state = SYNCING
        fields = {
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
            "generation_id": self.generation,
            "protocol_type": None,
            "protocol_name": None,
            "assignments": assignments,
        }
        self._later(SYNC_TIMEOUT_MS, self._join_again)
        give = self._answer_to(self._synced)
        self._send(lambda: self._life.service.sync(GROUP, fields, give))

    def _synced(self, fields: Mapping[str, Any]) -> None:
        if fields["error_code"]:
            self._refused(fields["error_code"])
            return
        self._ticket += 1
        self._life.told += 1
        target = {
            (self._life.id_of(row.topic), partition)
            for row in CONSUMER_PROTOCOL_ASSIGNMENT.decode(fields["assignment"])[1].assigned_partitions
            for partition in row.partitions
        }
        if self.is_outside:
            # A consumer group takes an expelled member in under its old id, with Kafka too, and so leaves it to a
            # cooperative client to find out that others have read on since. These do.
            self.positions = {}
        given_up = self.positions.keys() - target
        # What it gives up it has committed before it joined, and has not read on since.
        for place in given_up:
            del self.positions[place]
        for place in sorted(target - self.positions.keys()):
            self.positions[place] = self._life.committed(place)
        self.state = STABLE
        self.is_outside = False
        if given_up or self._said_topics is not self.topics:
            self._join_again()

    def _refused(self, error: int) -> None:
        """A generation that is over takes what was had in it, as an unknown member id does."""
        if error in (codes.UNKNOWN_MEMBER_ID, codes.ILLEGAL_GENERATION, codes.FENCED_INSTANCE_ID):
            if error == codes.ILLEGAL_GENERATION:
                self.generation, self.positions = -1, {}
            else:
                self._forget()
        self._later(RETRY_MS, self.join)
        self.state = JOINING

    # --- being a member ---------------------------------------------------------------------------------------------

    def _heartbeat(self) -> None:
        if self.state not in (SYNCING, STABLE):
            return
        member_id, generation, process = self.member_id, self.generation, self._process

        def answered(error: int | None) -> None:
            is_mine = (self._process, self.member_id, self.generation) == (process, member_id, generation)
            if error and is_mine and self.state in (SYNCING, STABLE) and not self.is_paused:
                if error == codes.REBALANCE_IN_PROGRESS:
                    self._join_again()
                else:
                    self._refused(error)

        def ask() -> None:
            error = self._life.service.heartbeat(GROUP, member_id, generation, self.instance_id)
            self._send(lambda: answered(error))

        self._send(ask)

    def _consume(self) -> None:
        if self.state == STABLE and self._assigned_sizes not in (None, self._life.sizes):
            self._join_again()
        elif self.state == STABLE:
            self._commit()

    def _commit(self) -> None:
        """Reads on everywhere, and commits how far it came."""
        if self.state != STABLE:
            return
        for place in self.positions:
            self.positions[place] += self._chance.randrange(3)
        offsets, member_id, generation = dict(self.positions), self.member_id, self.generation
        if offsets:
            self._send(lambda: self._life.commit(member_id, generation, offsets, self.instance_id))


def encoded_share(share: Mapping[str, list[int]]) -> bytes:
    rows = [{"topic": topic, "partitions": partitions} for topic, partitions in share.items()]
    return CONSUMER_PROTOCOL_ASSIGNMENT.encode(1, {"assigned_partitions": rows})
