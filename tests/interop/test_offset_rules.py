"""Who may commit, read and delete a group's offsets, and what he is told otherwise: here and by Apache Kafka.

One script of raw requests runs over both brokers; the answers are compared step by step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kcore.protocol import apis
from kcore.protocol.records import CONSUMER_PROTOCOL_SUBSCRIPTION
from tests.apache_kafka import ApacheKafka
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient

pytestmark = pytest.mark.needs("java", "mvn", "setpriv")

READ, SEEN, NOWHERE = "offset-rules-read", "offset-rules-seen", "offset-rules-nowhere"
GROUP, SIMPLE, WORKERS = "offset-rules", "offset-rules-simple", "offset-rules-workers"
SESSION_MS = 60_000
NOT_COORDINATOR, LOAD_IN_PROGRESS = 16, 14
GROUP_ID_NOT_FOUND, ILLEGAL_GENERATION = 69, 22
# From OffsetCommit 9 on, Kafka 4 says of an unknown group that it is unknown, whoever asks; so do we.
DIFFERENT_BEFORE_4 = {"a generation of an unknown group, v9": (ILLEGAL_GENERATION, GROUP_ID_NOT_FOUND)}

Answers = dict[str, Any]


class Script:
    """The steps, by name, with what was answered."""

    def __init__(self, client: RawClient) -> None:
        self.client = client
        self.answers: Answers = {}

    def run(self) -> Answers:
        for topic in (READ, SEEN):
            self.client.create_topic(topic, 2)
        for group in (GROUP, SIMPLE, WORKERS, ""):
            self.find_coordinator(group)
        self.strangers()
        self.members()
        self.deletions()
        self.fetches()
        self.ends()
        return self.answers

    def note(self, step: str, answer: Any) -> None:
        assert step not in self.answers
        self.answers[step] = answer

    def find_coordinator(self, group: str) -> None:
        """Until it answers for the group; the first who asks makes the topic."""
        while True:
            found = self.client.request(apis.FIND_COORDINATOR, 2, {"key": group, "key_type": 0}).error_code
            answer = self.client.request(apis.OFFSET_FETCH, 5, {"group_id": group, "topics": None})
            if not found and answer.error_code not in (NOT_COORDINATOR, LOAD_IN_PROGRESS):
                return

    def commit(
        self,
        step: str,
        group: str,
        member: str = "",
        generation: int = -1,
        instance: str | None = None,
        *,
        version: int = 7,
        places: tuple[tuple[str, int], ...] = ((READ, 0),),
        metadata: str | None = "",
    ) -> None:
        topics = [
            {
                "name": topic,
                "partitions": [{"partition_index": index, "committed_offset": 5, "committed_metadata": metadata}],
            }
            for topic, index in places
        ]
        who = {"member_id": member, "generation_id_or_member_epoch": generation, "group_instance_id": instance}
        answer = self.client.request(apis.OFFSET_COMMIT, version, {"group_id": group, **who, "topics": topics})
        self.note(step, {(t.name, p.partition_index): p.error_code for t in answer.topics for p in t.partitions})

    def strangers(self) -> None:
        for version in (2, 8, 9):
            self.commit(
                f"a generation of an unknown group, v{version}", "offset-rules-unknown", "x", 3, version=version
            )
            self.commit(f"nobody, to a new group, v{version}", SIMPLE, version=version)
        self.commit("a member of a group without members", SIMPLE, "x", 0)
        self.commit("a member without generation of a group without members", SIMPLE, "x")
        self.commit("null metadata", SIMPLE, metadata=None)
        self.commit("the longest metadata", SIMPLE, metadata="é" * 4096)
        self.commit("metadata that is too long", SIMPLE, metadata="x" * 4097, places=((READ, 0), (NOWHERE, 0)))
        self.commit("partitions that there are not", SIMPLE, places=((READ, 1), (READ, 2), (NOWHERE, 0)))
        self.commit("only partitions that there are not, of nobody's", "offset-rules-x", "x", 1, places=((READ, 7),))
        self.commit("a group without a name", "")

    def join(self, group: str, kind: str, instance: str | None) -> tuple[str, int]:
        metadata = CONSUMER_PROTOCOL_SUBSCRIPTION.encode(0, {"topics": [READ]})
        fields = {
            "group_id": group,
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": SESSION_MS,
            "member_id": "",
            "group_instance_id": instance,
            "protocol_type": kind,
            "protocols": [{"name": "range", "metadata": metadata}],
        }
        answer = self.client.request(apis.JOIN_GROUP, 5, fields)
        assert answer.error_code == 0, answer
        return answer.member_id, answer.generation_id

    def sync(self, group: str, member: str, generation: int, instance: str | None) -> None:
        fields = {"group_id": group, "member_id": member, "generation_id": generation, "group_instance_id": instance}
        fields["assignments"] = [{"member_id": member, "assignment": b"all"}]
        assert self.client.request(apis.SYNC_GROUP, 3, fields).error_code == 0

    def members(self) -> None:
        member, generation = self.join(GROUP, "consumer", "i-1")
        self.commit("a member, before it is assigned", GROUP, member, generation)
        self.commit("nobody, before anyone is assigned", GROUP)
        self.commit("a generation to come, before anyone is assigned", GROUP, member, generation + 1)
        self.sync(GROUP, member, generation, "i-1")
        self.commit("a member", GROUP, member, generation, places=((READ, 0), (SEEN, 0), (SEEN, 1)))
        self.commit("a member by its instance", GROUP, member, generation, "i-1")
        self.commit("a generation to come", GROUP, member, generation + 1)
        self.commit("a generation that was", GROUP, member, generation - 1)
        self.commit("a member without generation", GROUP, member)
        self.commit("an unknown member", GROUP, "x", generation)
        self.commit("an instance of another member", GROUP, "x", generation, "i-1")
        self.commit("an unknown instance", GROUP, member, generation, "i-2")
        self.commit("an instance without member", GROUP, "", -1, "i-1")
        self.commit("nobody, to a group with members", GROUP)
        self.member, self.generation = member, generation

    def delete(self, step: str, group: str, *places: tuple[str, int]) -> None:
        topics = [{"name": topic, "partitions": [{"partition_index": index}]} for topic, index in places]
        answer = self.client.request(apis.OFFSET_DELETE, 0, {"group_id": group, "topics": topics})
        found = {(t.name, p.partition_index): p.error_code for t in answer.topics for p in t.partitions}
        self.note(step, (answer.error_code, found))

    def deletions(self) -> None:
        self.delete("offsets of an unknown group", "offset-rules-unknown", (READ, 0))
        self.delete("offsets of a group without a name", "", (READ, 0))
        self.delete("offsets of what members read and do not read", GROUP, (READ, 0), (SEEN, 0), (NOWHERE, 0))
        self.delete("offsets that there are not", GROUP, (SEEN, 0))
        self.delete("offsets of partitions that there are not", SIMPLE, (READ, 0), (SEEN, 5))
        member, generation = self.join(WORKERS, "workers", "w-1")
        self.delete("offsets of workers that are not assigned", WORKERS, (READ, 0))
        self.sync(WORKERS, member, generation, "w-1")
        self.delete("offsets of workers", WORKERS, (READ, 0))

    def fetch(self, step: str, group: str, version: int, topics: list[tuple[str, list[int]]] | None) -> None:
        wanted = None if topics is None else [{"name": name, "partition_indexes": each} for name, each in topics]
        if version < 8:
            fields = {"group_id": group, "topics": wanted}
            answer = self.client.request(apis.OFFSET_FETCH, version, fields)
        else:
            who = {"group_id": group, "member_id": "x", "member_epoch": 7, "topics": wanted}
            (answer,) = self.client.request(apis.OFFSET_FETCH, version, {"groups": [who]}).groups
        found = {
            (t.name, p.partition_index): (p.error_code, p.committed_offset, p.metadata)
            for t in answer.topics
            for p in t.partitions
        }
        self.note(f"{step}, v{version}", (answer.error_code if version >= 2 else 0, found))

    def fetches(self) -> None:
        for version in (1, 2, 5, 7, 8, 9):
            some = [(READ, [0, 1, 9]), (NOWHERE, [0])]
            self.fetch("offsets of a group", GROUP, version, some)
            self.fetch("offsets of nobody", "offset-rules-unknown", version, some)
            self.fetch("no offsets", GROUP, version, [])
            if version >= 2:
                self.fetch("all offsets", GROUP, version, None)
                self.fetch("all offsets of nobody", "offset-rules-unknown", version, None)

    def ends(self) -> None:
        self.note("a group with members is deleted", self.delete_group(GROUP))
        members = [{"member_id": self.member, "group_instance_id": "i-1"}]
        self.client.request(apis.LEAVE_GROUP, 3, {"group_id": GROUP, "members": members})
        self.commit("one who was a member", GROUP, self.member, self.generation)
        self.commit("nobody, to a group that was left", GROUP, places=((READ, 1),))
        self.delete("offsets of a group that was left", GROUP, (READ, 0))
        self.fetch("what is left", GROUP, 5, None)
        self.note("a group without members is deleted", self.delete_group(GROUP))
        self.note("a deleted group is deleted", self.delete_group(GROUP))
        self.fetch("what is left of a deleted group", GROUP, 5, None)
        self.commit("one who was a member of a deleted group", GROUP, self.member, self.generation)

    def delete_group(self, group: str) -> int:
        (result,) = self.client.request(apis.DELETE_GROUPS, 2, {"groups_names": [group]}).results
        return int(result.error_code)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    properties = {"offsets.topic.num.partitions": "3"}
    directory = tmp_path_factory.mktemp("ours") / "data"
    with BrokerProcess(directory, properties) as broker, RawClient(broker.port) as client:
        yield Script(client).run()


@pytest.mark.parametrize("version", [pytest.param("39", marks=pytest.mark.full_size), "4"])
def test_apache_kafka_answers_the_same(version: str, ours: Answers, request: pytest.FixtureRequest) -> None:
    kafka: ApacheKafka = request.getfixturevalue(f"apache_kafka_{version}")
    with RawClient(kafka.port) as client:
        theirs = Script(client).run()
    expected = dict(ours)
    if version == "39":
        for step, (kafkas, own) in DIFFERENT_BEFORE_4.items():
            assert set(ours[step].values()) == {own}
            expected[step] = dict.fromkeys(ours[step], kafkas)
    assert theirs == expected
