"""A consumer group as a coordinator runs it: what is decided is written, then applied; timers ring on a virtual clock.

What was written can be read back into a new group at any time, which must then be the same group.
"""

from __future__ import annotations

from typing import Any

from kcore import errors
from kcore.coordinator.group.consumer import heartbeat, records, regular_expressions, removal
from kcore.coordinator.group.consumer.decision import Decision, Moment
from kcore.coordinator.group.consumer.group import ConsumerGroup
from kcore.coordinator.group.consumer.settings import Settings
from kcore.coordinator.group.effects import StartTimer
from kcore.metadata.image import MetadataImage, PartitionState, TopicImage
from kcore.protocol import apis

REBALANCE_MS = 30_000
WALL_MS = 1_700_000_000_000


def topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b".")


def topic(name: str, partitions: int) -> TopicImage:
    states = [PartitionState(name, number, (1,), (1,), 1) for number in range(partitions)]
    return TopicImage(name, topic_id(name), states)


class World:
    """One group, its log and its clock. Members are called by their ids; `have` is what each was told it may use."""

    def __init__(self, topics: dict[str, int], settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.now_ms = 1_000
        self.group = ConsumerGroup("flights")
        self.log: list[records.Record] = []
        self.timers: dict[tuple[str, ...], int] = {}
        self.unresolved: frozenset[str] = frozenset()
        self.have: dict[str, dict[str, list[int]]] = {}
        self.epochs: dict[str, int] = {}
        self.set_topics(topics)

    def set_topics(self, topics: dict[str, int]) -> None:
        self.image = MetadataImage(topics={name: topic(name, count) for name, count in topics.items()})

    @property
    def moment(self) -> Moment:
        return Moment(self.image, self.settings, self.now_ms, WALL_MS + self.now_ms)

    # --- events -----------------------------------------------------------------------------------------------------

    def carry_out(self, decision: Decision) -> dict[str, Any]:
        for key, value in decision.records:
            self.group.apply(*records.decode(key, value))
        self.log += decision.records
        for effect in decision.timers:
            if isinstance(effect, StartTimer):
                self.timers[effect.name] = self.now_ms + effect.delay_ms
            else:
                self.timers.pop(effect.name, None)
        self.unresolved = decision.regexes or self.unresolved
        self.check()
        return decision.response

    def beat(self, member_id: str, epoch: int | None = None, *, version: int = 1, **fields: Any) -> dict[str, Any]:
        """A heartbeat; without an epoch the member's last one, and nothing changed."""
        epoch = self.epochs[member_id] if epoch is None else epoch
        fields = {"group_id": "flights", "member_id": member_id, "member_epoch": epoch, **fields}
        if isinstance(fields.get("topic_partitions"), dict):
            fields["topic_partitions"] = [
                {"topic_id": topic_id(name), "partitions": held} for name, held in fields["topic_partitions"].items()
            ]
        api = apis.CONSUMER_GROUP_HEARTBEAT.request
        request = api.decode(version, api.encode(version, fields))
        try:
            heartbeat.check(request, version, self.settings.assignors)
            decision = heartbeat.heartbeat(
                self.group, request, member_id or "made-here", "client", "/127.0.0.1", self.moment
            )
        except errors.KafkaError as error:
            return heartbeat.failure(error)
        response = self.carry_out(decision)
        self.epochs[member_id] = response["member_epoch"]
        if "assignment" in response:
            rows = response["assignment"]["topic_partitions"]
            self.have[member_id] = {row["topic_id"].rstrip(b".").decode(): row["partitions"] for row in rows}
        return response

    def join(self, member_id: str, *names: str, **fields: Any) -> dict[str, Any]:
        fields = {"rebalance_timeout_ms": REBALANCE_MS, "topic_partitions": [], **fields}
        if "subscribed_topic_regex" not in fields:
            fields["subscribed_topic_names"] = list(names)
        return self.beat(member_id, 0, **fields)

    def say(self, member_id: str) -> dict[str, Any]:
        """A heartbeat that names what the member has: what it was told, the rest given up."""
        return self.beat(member_id, topic_partitions=self.have[member_id])

    def settle(self, *member_ids: str) -> None:
        """Heartbeats until nothing is written any more."""
        for _ in range(10):
            written = len(self.log)
            for member_id in member_ids:
                self.say(member_id)
            if len(self.log) == written:
                return
        raise AssertionError("the group does not settle")

    def resolve(self) -> None:
        """What was to be resolved is, and comes back."""
        self.group.is_resolving = False
        found = regular_expressions.resolve(
            self.unresolved, self.image, self.moment.wall_ms, self.settings.pattern_limits
        )
        self.group.topics_resolved = self.image.topics
        self.unresolved = frozenset()
        self.carry_out(regular_expressions.on_resolved(self.group, found, self.moment))

    def pass_ms(self, span_ms: int) -> None:
        """Timers ring in order."""
        end = self.now_ms + span_ms
        while self.timers and min(self.timers.values()) <= end:
            name = min(self.timers, key=lambda timer: self.timers[timer])
            self.now_ms = max(self.now_ms, self.timers.pop(name))
            self.carry_out(removal.on_timer(self.group, name, self.moment))
        self.now_ms = end

    # --- what must hold ---------------------------------------------------------------------------------------------

    def reloaded(self) -> ConsumerGroup:
        """The group that the log tells of."""
        group = ConsumerGroup("flights")
        for key, value in self.log:
            group.apply(*records.decode(key, value))
        return group

    def check(self) -> None:
        """No partition is two members'; and the log alone tells the same."""
        owners: dict[tuple[bytes, int], str] = {}
        for member in self.group.members.values():
            for owned in (member.assigned, member.pending_revocation):
                for topic, held in owned.items():
                    for partition in held:
                        assert owners.setdefault((topic, partition), member.member_id) == member.member_id
        for (topic, partition), member_id in owners.items():
            assert self.group.owner(topic, partition) == member_id
        again = self.reloaded()
        assert again.members == self.group.members
        assert (again.epoch, again.assignment_epoch, again.targets) == (
            self.group.epoch,
            self.group.assignment_epoch,
            self.group.targets,
        )
        assert (again.static_members, again.subscribed_names) == (
            self.group.static_members,
            self.group.subscribed_names,
        )
