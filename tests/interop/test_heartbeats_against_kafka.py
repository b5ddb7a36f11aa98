"""ConsumerGroupHeartbeat, request by request, here and at Apache Kafka 4: the same code, the same words.

What differs by design is left out: Apache Kafka 4.3 makes a new target a second after a group changed (KIP-1263), we at
once, so that only answers are compared that do not depend on when that was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kcore.protocol import apis
from tests.apache_kafka import ApacheKafka
from tests.broker_process import BrokerProcess
from tests.integration.test_consumer_groups import eventually, join
from tests.raw_client import RawClient

pytestmark = pytest.mark.needs("java", "mvn", "setpriv")

JOIN: dict[str, Any] = {"rebalance_timeout_ms": 30_000, "topic_partitions": [], "subscribed_topic_names": ["orders"]}
TOPIC = "orders-of-heartbeats"


@pytest.fixture(scope="module")
def ports(apache_kafka_4: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    with BrokerProcess(tmp_path_factory.mktemp("heartbeats") / "data") as broker:
        for port in (apache_kafka_4.port, broker.port):
            with RawClient(port) as client:
                client.create_topic(TOPIC, 3)
                join(client, "hb", "a", TOPIC)
                join(client, "hb", "s1", TOPIC, instance_id="i1")
        yield apache_kafka_4.port, broker.port


# (member id, epoch, what differs from a plain join)
REQUESTS: list[tuple[str, int, dict[str, Any]]] = [
    ("a", 0, {"group_id": ""}),
    ("a", 0, {"group_id": " "}),
    ("", 0, {}),
    (" ", 0, {}),
    ("a", 0, {"instance_id": ""}),
    ("a", 0, {"rack_id": "\t"}),
    ("x", 0, {"rebalance_timeout_ms": -1}),
    ("x", 0, {"topic_partitions": None}),
    ("x", 0, {"topic_partitions": [{"topic_id": bytes(15) + b"1", "partitions": [0]}]}),
    ("x", 0, {"subscribed_topic_names": None}),
    ("x", 0, {"server_assignor": ""}),
    ("x", 0, {"server_assignor": "mine"}),
    ("a", -3, {}),
    ("a", -2, {}),
    ("a", 77, {}),
    ("x", 77, {}),
    ("x", 77, {"group_id": "no-such-group"}),
    ("x", -1, {}),
    ("x", -1, {"group_id": "no-such-group"}),
    ("x", -2, {"instance_id": "i9"}),
    ("x", -2, {"instance_id": "i1"}),
    ("x", -1, {"instance_id": "i1"}),
    ("x", 0, {"instance_id": "i1"}),
    ("x", 3, {"instance_id": "i1"}),
    ("x", 3, {"instance_id": "i9"}),
    *(
        ("a", 0, {"subscribed_topic_names": None, "subscribed_topic_regex": pattern})
        for pattern in ("(", "[a", "a**", "*a", r"(a)\1", "(?=a)", "a{1001}", "a\\", "[b-a]", r"\p{Klingon}", "(?P<>a)")
    ),
]


def ask(port: int, member: str, epoch: int, fields: dict[str, Any]) -> tuple[int, str | None]:
    with RawClient(port) as client:
        request = {"group_id": "hb", "member_id": member, "member_epoch": epoch, **JOIN, **fields}

        def answer() -> Any:
            found = client.request(apis.CONSUMER_GROUP_HEARTBEAT, 1, request)
            if found.error_code in (14, 15, 16):
                # The group's coordinator comes into being when it is first looked for.
                client.request(apis.FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": [request["group_id"]]})
                return None
            return found

        found = eventually(answer, "a coordinator")
        return found.error_code, found.error_message


@pytest.mark.parametrize(("member", "epoch", "fields"), REQUESTS)
def test_what_is_refused_is_refused_in_the_same_words(
    ports: tuple[int, int], member: str, epoch: int, fields: dict[str, Any]
) -> None:
    theirs, ours = (ask(port, member, epoch, fields) for port in ports)
    assert theirs[0] != 0
    assert ours == theirs


def test_describing_gives_the_same_errors(ports: tuple[int, int]) -> None:
    answers = []
    for port in ports:
        with RawClient(port) as client:
            groups = client.request(apis.CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": ["", "no-such-group"]}).groups
            answers.append(sorted((each.group_id, each.error_code, each.error_message) for each in groups))
    assert answers[0] == answers[1]


def test_a_member_may_join_again_at_any_time(ports: tuple[int, int]) -> None:
    """With epoch 0, whatever epoch the coordinator has it in: it keeps its place."""
    for port in ports:
        with RawClient(port) as client:
            first = join(client, "again", "a", TOPIC)
            second = join(client, "again", "a", TOPIC)
            assert second.member_epoch >= first.member_epoch
            described = client.request(apis.CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": ["again"]}).groups[0]
            assert [member.member_id for member in described.members] == ["a"]


def test_commits_in_earlier_epochs_are_taken_alike(ports: tuple[int, int]) -> None:
    """KIP-1251: for what the member has had since then, if there is nothing else in the commit."""
    answers = []
    for port in ports:
        with RawClient(port) as client:
            epochs = {"a": join(client, "commits", "a", TOPIC).member_epoch}
            before = epochs["a"]
            have: dict[str, list[dict[str, Any]]] = {}

            def beat(member: str, client: RawClient = client, have: Any = have, epochs: Any = epochs) -> Any:
                fields = {"group_id": "commits", "member_id": member, "member_epoch": epochs.get(member, 0)}
                fields["topic_partitions"] = have.get(member, [])
                if member not in epochs:
                    fields |= {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": [TOPIC]}
                answer = client.request(apis.CONSUMER_GROUP_HEARTBEAT, 1, fields)
                assert answer.error_code == 0, answer
                epochs[member] = answer.member_epoch
                if answer.assignment is not None:
                    rows = answer.assignment.topic_partitions
                    have[member] = [{"topic_id": row.topic_id, "partitions": row.partitions} for row in rows]
                return answer

            def is_shared(have: Any = have, beat: Any = beat) -> bool:
                for member in ("a", "b"):
                    beat(member)
                sizes = [sum(len(row["partitions"]) for row in have.get(member, [])) for member in ("a", "b")]
                return sizes == [2, 1]

            eventually(is_shared, "a share for each")
            beat("a")
            codes = []
            kept = (epochs["a"], before, before - 1, epochs["a"] + 1)
            for epoch, count in (*((epoch, 2) for epoch in kept), (before, 3), (epochs["a"], 3)):
                rows = [{"partition_index": number, "committed_offset": 1} for number in range(count)]
                fields = {"group_id": "commits", "member_id": "a", "generation_id_or_member_epoch": epoch}
                fields["topics"] = [{"name": TOPIC, "partitions": rows}]
                answer = client.request(apis.OFFSET_COMMIT, 9, fields)
                codes.append([row.error_code for row in answer.topics[0].partitions])
            answers.append(codes)
    assert answers[1] == answers[0]
    assert answers[0][1] == [0, 0]
