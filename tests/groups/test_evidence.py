"""What the witness makes of a member's words: whose fault it is when a partition has two owners for a moment."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kcore.client.consumer.assignors.assignor import Member
from kcore.client.consumer.consumer_protocol import encode_assignment, encode_subscription
from kcore.client.metadata.cluster import TopicPartition as OfClient
from kcore.protocol import apis
from tests.groups.evidence import Evidence
from tests.groups.tap import Exchange

PLACE = OfClient("t", 0)


def exchange(api: Any, at: int, request: dict[str, Any], response: dict[str, Any]) -> Exchange:
    answer: Any = SimpleNamespace(error_code=0, **response)
    question: Any = SimpleNamespace(group_instance_id=None, **request)
    return Exchange("a.1", api, 0, question, answer, at, at)


@pytest.mark.parametrize(
    ("protocol", "owned", "is_mistaken"),
    [
        ("cooperative-sticky", [PLACE], True),
        ("cooperative-sticky", [OfClient("t", 1)], False),
        ("cooperative-sticky", [], False),
        # Eager clients give everything up before they join.
        ("sticky", [PLACE], False),
    ],
)
def test_a_claim_of_what_its_client_called_its_own(protocol: str, owned: list[OfClient], is_mistaken: bool) -> None:
    evidence = Evidence("g", session_ms=3_000)
    metadata = encode_subscription(Member(frozenset(["t"]), owned=tuple(owned)))
    offers = [SimpleNamespace(name=protocol, metadata=metadata)]
    joined = {"generation_id": 2, "protocol_name": protocol}
    evidence.on_exchange(exchange(apis.JOIN_GROUP, 10, {"protocols": offers}, joined))
    given = {"assignment": encode_assignment([PLACE])}
    evidence.on_exchange(exchange(apis.SYNC_GROUP, 11, {"generation_id": 2}, given))
    evidence.on_event("a.1", {"event": "assigned", "partitions": [["t", 0]], "at": 12})
    [claim] = evidence.so_far().claims
    assert claim.is_mistaken == is_mistaken
