"""Our assignors against those of Apache Kafka 3.9, on generated groups that live on: members come, go and change.

Range and round robin give the same. So do the sticky ones where no order of Java's hash tables matters: to members who
owned nothing. Where something was owned, we keep at least as much of it, in an assignment at least as balanced.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcore.client.consumer.assignors import JAVA_NAMES, by_name
from kcore.client.consumer.assignors.assignor import Member
from kcore.client.consumer.consumer_protocol import decode_subscription, encode_subscription
from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.consumer.assignors.assignor import Assignment, Topics

pytestmark = pytest.mark.needs("java", "mvn")

QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
STICKY = ("sticky", "cooperative-sticky")
RACKS = ("", "east", "north", "west")


class Oracle:
    """One JVM for all questions; see AssignorOracle.java."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def ask(self, name: str, members: dict[str, Member], topics: Topics) -> dict[str, Any]:
        question = {
            "assignor": JAVA_NAMES[name],
            "topics": {topic: [sorted(racks) for racks in partitions] for topic, partitions in topics.items()},
            "members": {
                member_id: {
                    "topics": sorted(member.topics),
                    "owned": member.owned,
                    "generation": member.generation,
                    "rack": member.rack,
                    "instance": member.instance_id,
                    "data": None if member.user_data is None else member.user_data.hex(),
                }
                for member_id, member in members.items()
            },
        }
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer


@pytest.fixture(scope="module")
def oracle(checkout: Path) -> Iterator[Oracle]:
    jars = subprocess.run([checkout / "bin/kafka-jars", "3.9"], stdout=subprocess.PIPE, text=True, check=True)
    source = Path(__file__).with_name("AssignorOracle.java")
    command = ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", QUIET, "-cp", jars.stdout.strip(), str(source)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Oracle(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=30) == 0


class Group:
    """A group as it goes through its generations."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.racks = chance.choice((RACKS[:1], RACKS, RACKS[1:]))
        self.alike = chance.random() < 0.5
        self.topics: dict[str, list[frozenset[str]]] = {}
        for number in range(chance.randint(1, 5)):
            self.topics[f"t{number}"] = self._partitions(chance.choice((0, 1, 2, 3, 6, 6, 11)))
        self.names = [*self.topics, "not-there"]
        self.shared = self._some_topics()
        self.members: dict[str, Member] = {}
        self.numbered = 0
        for _ in range(chance.randint(1, 8)):
            self._join()

    def _partitions(self, count: int) -> list[frozenset[str]]:
        racks = [rack for rack in self.racks if rack]
        replicas = min(len(racks), self.chance.choice((1, 2, 2, 3)))
        return [frozenset(self.chance.sample(racks, replicas)) for _ in range(count)]

    def _some_topics(self) -> frozenset[str]:
        return frozenset(self.chance.sample(self.names, self.chance.randint(1, len(self.names))))

    def _join(self) -> None:
        self.numbered += 1
        topics = self.shared if self.alike else self._some_topics()
        instance_id = f"i{self.chance.randint(0, 999):03}-{self.numbered}" if self.chance.random() < 0.2 else None
        member_id = f"m{self.chance.randint(0, 999):03}-{self.numbered}"
        self.members[member_id] = Member(topics, rack=self.chance.choice(self.racks), instance_id=instance_id)

    def live_on(self, name: str, assignment: Assignment, generation: int) -> None:
        """Everybody gets what was assigned, and then something changes."""
        assignor = by_name(name)
        for member_id, partitions in assignment.items():
            owned = tuple(sorted(partitions))
            self.members[member_id] = self.members[member_id]._replace(
                owned=owned if assignor.is_cooperative else (),
                generation=generation,
                user_data=assignor.user_data(owned, generation),
            )
        change = self.chance.choice(("join", "join", "leave", "grow", "topics", "delete", "nothing"))
        if change == "leave" and len(self.members) > 1:
            for member_id in self.chance.sample(sorted(self.members), self.chance.randint(1, len(self.members) - 1)):
                del self.members[member_id]
        elif change == "grow":
            topic = self.chance.choice(sorted(self.topics))
            self.topics[topic] = [*self.topics[topic], *self._partitions(self.chance.randint(1, 4))]
        elif change == "delete":
            self.topics[self.chance.choice(sorted(self.topics))] = []
        elif change == "topics":
            self.shared = self._some_topics()
            for member_id, member in self.members.items():
                if self.alike or self.chance.random() < 0.4:
                    topics = self.shared if self.alike else self._some_topics()
                    self.members[member_id] = member._replace(topics=topics)
        elif change == "join":
            for _ in range(self.chance.randint(1, 3)):
                self._join()


def theirs_of(answer: dict[str, Any]) -> Assignment:
    return {
        member: [TopicPartition(topic, number) for topic, number in partitions]
        for member, partitions in answer["assignment"].items()
    }


def in_order(assignment: Assignment) -> Assignment:
    return {member: sorted(partitions) for member, partitions in assignment.items()}


def imbalance(assignment: Assignment) -> int:
    """Kafka's balance score: the differences of all pairs."""
    counts = sorted(len(partitions) for partitions in assignment.values())
    return sum(counts[j] - counts[i] for j in range(len(counts)) for i in range(j))


def kept(assignment: Assignment, before: Assignment) -> int:
    return sum(len(set(partitions) & set(before.get(member, ()))) for member, partitions in assignment.items())


def far(assignment: Assignment, group: Group) -> int:
    """How many partitions are read out of another rack than the member's."""
    return sum(
        group.members[member].rack not in group.topics[partition.topic][partition.partition]
        for member, partitions in assignment.items()
        if group.members[member].rack
        for partition in partitions
    )


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["range", "roundrobin"])
def test_range_and_round_robin_are_javas(oracle: Oracle, name: str, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(50):
        group = Group(chance)
        for generation in range(3):
            ours = by_name(name).assign(group.members, group.topics)
            answer = oracle.ask(name, group.members, group.topics)
            assert in_order(ours) == in_order(theirs_of(answer)), (group.members, group.topics)
            for member_id, member in group.members.items():
                assert_bytes_are_javas(member, answer["subscriptions"][member_id])
            group.live_on(name, ours, generation)


def assert_bytes_are_javas(member: Member, versions: list[str]) -> None:
    for version, theirs in enumerate(versions):
        assert encode_subscription(member, version).hex() == theirs
    assert decode_subscription(bytes.fromhex(versions[3]), member.instance_id) == member


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", STICKY)
def test_sticky_to_new_members_is_javas(oracle: Oracle, name: str, seed: int) -> None:
    """Which of two partitions of a topic changes places is a matter of Java's hash tables: then the numbers agree."""
    chance = random.Random(1000 + seed)
    different = 0
    for _ in range(100):
        group = Group(chance)
        ours = by_name(name).assign(group.members, group.topics)
        theirs = theirs_of(oracle.ask(name, group.members, group.topics))
        if group.alike:
            assert in_order(ours) == in_order(theirs), (group.members, group.topics)
        assert {member: len(ours[member]) for member in ours} == {member: len(theirs[member]) for member in theirs}
        different += in_order(ours) != in_order(theirs)
    assert different <= 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", STICKY)
def test_sticky_is_as_balanced_and_as_sticky_as_javas(oracle: Oracle, name: str, seed: int) -> None:
    """With racks Java may by luck give a member back what was taken from it for being far: sums are compared."""
    chance = random.Random(2000 + seed)
    ours_kept = theirs_kept = ours_far = theirs_far = 0
    for _ in range(30):
        group = Group(chance)
        before: Assignment = {}
        for generation in range(6):
            ours = by_name(name).assign(group.members, group.topics)
            answer = oracle.ask(name, group.members, group.topics)
            theirs = theirs_of(answer)
            for member_id, member in group.members.items():
                assert_bytes_are_javas(member, answer["subscriptions"][member_id])
            about = (group.members, group.topics, ours, theirs)
            assert sum(map(len, ours.values())) == sum(map(len, theirs.values())), about
            assert imbalance(ours) <= imbalance(theirs), about
            if len(group.racks) == 1:
                assert kept(ours, before) >= kept(theirs, before), about
            ours_kept += kept(ours, before)
            theirs_kept += kept(theirs, before)
            ours_far += far(ours, group)
            theirs_far += far(theirs, group)
            before = ours
            group.live_on(name, ours, generation)
    assert ours_kept >= theirs_kept * 0.99
    assert ours_far <= theirs_far * 1.01
