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
