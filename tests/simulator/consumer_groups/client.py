"""A consumer of KIP-848 as a state machine: heartbeats, what it may use, what it has to give up, and its commits.

It gives a partition up after it has committed, and says so in its next heartbeat; it says what it has whenever that
changed or an answer did not come. An error that ends its membership makes it abandon everything and join again.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from kcore import errors

if TYPE_CHECKING:
    from tests.simulator.consumer_groups.group_life import ConsumerGroupLife

HEARTBEAT_MS = 5_000
ANSWER_MS = 8_000
REBALANCE_MS = 30_000
UNRELEASED = errors.UnreleasedInstanceIdError.code
# After these a member is none any more.
ENDINGS = (errors.UnknownMemberIdError.code, errors.FencedMemberEpochError.code, errors.FencedInstanceIdError.code)

Place = tuple[bytes, int]


class Client:
    """One process after another under one name. `positions` is what it uses, by place the next offset to commit."""

    def __init__(self, name: str, instance_id: str | None, chance: Random, life: ConsumerGroupLife) -> None:
        self.name = name
        self.instance_id = instance_id
        self.topics: list[str] = []
        self.pattern = ""
        self.positions: dict[Place, int] = {}
        self.epoch = 0
        self.is_alive = False
        self.is_paused = False
        self._chance = chance
        self._life = life
        self._starts = 0
        self._says_all = True
        self._asked = 0

    @property
    def member_id(self) -> str:
        return f"{self.name}-{self._starts}"

    @property
    def is_member(self) -> bool:
        return self.is_alive and self.epoch > 0

    def start(self) -> None:
        """A new process."""
        if not self.is_alive:
            self.is_alive = True
            self._starts += 1
            self._begin_again()
            self.resubscribe()
            self._life.clockwork.schedule(self._chance.randrange(1_000), lambda start=self._starts: self._beat(start))

    def die(self) -> None:
        self.is_alive = False
        self.positions.clear()

    def leave(self) -> None:
        """A static member leaves for a while as often as for good, in the calm for good."""
        if self.is_member:
            is_for_good = self.instance_id is None or self._life.is_calm or self._chance.random() < 0.5
            epoch = -1 if is_for_good else -2
            self.commit()
            self._send({"member_epoch": epoch}, self.member_id)
        self.die()

    def resubscribe(self) -> None:
        """To some of the topics that there may be, in the calm to all; by name, or by a pattern."""
        self.topics = self._life.some_topics()
        self.pattern = ""
        if self._life.has_patterns and self._chance.random() < 0.5:
            self.topics, self.pattern = [], "|".join(self.topics)
        self._says_all = True

    def _begin_again(self) -> None:
        self.positions.clear()
        self.epoch = 0
        self._says_all = True

    # --- heartbeats -------------------------------------------------------------------------------------------------

    def _beat(self, start: int) -> None:
        if start != self._starts or not self.is_alive:
            return
        self._life.clockwork.schedule(HEARTBEAT_MS, lambda: self._beat(start))
        if not self.is_paused:
            self.commit()
            self._heartbeat()

    def _heartbeat(self) -> None:
        fields: dict[str, Any] = {"member_epoch": self.epoch}
        if self._says_all or self.epoch == 0:
            rows: dict[bytes, list[int]] = {}
            for topic, partition in self.positions:
                rows.setdefault(topic, []).append(partition)
            fields |= {
                "rebalance_timeout_ms": REBALANCE_MS,
                "subscribed_topic_names": self.topics,
                "topic_partitions": [{"topic_id": topic, "partitions": held} for topic, held in rows.items()],
            }
            if self._life.has_patterns:
                fields["subscribed_topic_regex"] = self.pattern
        self._asked += 1
        asked, said = self._asked, self.topics

        def answered(answer: Mapping[str, Any]) -> None:
            if asked == self._asked:
                self._take(answer, said)

        # Until an answer says otherwise the next heartbeat says everything.
        self._says_all = True
        self._send(fields, self.member_id, answered)

    def _send(self, fields: dict[str, Any], member_id: str, answered: Any = None) -> None:
        request = {"member_id": member_id, "instance_id": self.instance_id, **fields}
        start = self._starts

        def arrive() -> None:
            answer = self._life.service.consumer_heartbeat(request)
            if answer is not None and answered is not None:
                self._life.deliver(self, lambda: self._hear(start, answered, answer), ordered=True)

        self._life.deliver(self, arrive, ordered=True)

    def _hear(self, start: int, answered: Any, answer: Mapping[str, Any]) -> None:
        if start == self._starts and self.is_alive and not self.is_paused:
            answered(answer)

    def _take(self, answer: Mapping[str, Any], said: list[str]) -> None:
        code = answer.get("error_code", 0)
        if code in ENDINGS:
            self._begin_again()
        elif not code:
            self.epoch = answer["member_epoch"]
            # What it turned to since it asked is still to be said.
            self._says_all = self.topics is not said
            if answer.get("assignment") is not None:
                self._reconcile(answer["assignment"]["topic_partitions"])

    def _reconcile(self, rows: Any) -> None:
        target = {(bytes(row["topic_id"]), partition) for row in rows for partition in row["partitions"]}
        given_up = [place for place in self.positions if place not in target]
        if given_up:
            self.commit()
        for place in given_up:
            del self.positions[place]
            self._says_all = True
        # In order, or a seed's offsets would depend on how this process hashes.
        for place in sorted(target - self.positions.keys()):
            self.positions[place] = self._life.committed(place)
            self._says_all = True
        self._life.told += 1

    # --- commits ----------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Reads on everywhere, and commits how far it came."""
        if not self.is_member:
            return
        for place in self.positions:
            self.positions[place] += self._chance.randrange(3)
        offsets, member_id, epoch = dict(self.positions), self.member_id, self.epoch
        self._life.deliver(self, lambda: self._life.commit(member_id, epoch, offsets), ordered=True)
