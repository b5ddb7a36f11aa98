"""The fuzzer of a running broker at the size of CI: fixed seeds. bin/test-sanitized runs it on the sanitizer build.

`bin/campaign fuzz_requests` and `bin/campaign both_paths` go on with other seeds.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from kcore.protocol import apis
from kcore.protocol.apis import Api
from kcore.protocol.headers import decode_request_header, encode_request
from kcore.server.apis import TABLE
from tests.fuzz.requests.arena import arena
from tests.fuzz.requests.both_paths import comparable, without_append_times
from tests.fuzz.requests.broker import Build, complaint
from tests.fuzz.requests.judgement import is_well_formed
from tests.fuzz.requests.restricted import decoded, is_restricted
from tests.fuzz.requests.source import Request, RequestSource
from tests.fuzz.requests.template import Template
from tests.fuzz.requests.world import TOPICS, FetchSession, Member, Topic, World
from tests.unit.record import batches

REQUESTS = 3000
REQUESTS_OF_BOTH = 1500


def broker_config(name: str, value: str) -> dict[str, Any]:
    return {"resource_type": 4, "resource_name": "1", "configs": [{"name": name, "value": value}]}


def quota(entity_type: str, name: str | None) -> dict[str, Any]:
    operation = {"key": "producer_byte_rate", "value": 1.0, "remove": False}
    return {"entity": [{"entity_type": entity_type, "entity_name": name}], "ops": [operation]}


@pytest.fixture(scope="module")
def world() -> World:
    """What a broker might have given out."""
    source = random.Random(1)
    topics = [Topic(name, source.randbytes(16), partitions) for name, (partitions, _) in TOPICS.items()]
    members = [Member("fz-group", "member-1", 3), Member("fz-group-2", "member-2", 1, "instance")]
    return World(1, 1, topics, members, members, (7, 0), FetchSession(9, 1))


@pytest.mark.parametrize("native", [True, False], ids=["native path", "Python path"])
def test_broker_survives_requests_with_a_few_wrong_fields(native: bool) -> None:
    with arena(Build(native=native)) as runner:
        assert runner.run(1, REQUESTS) > REQUESTS // 2
        runner.finish()


def test_native_path_and_python_path_agree() -> None:
    with arena(Build(both_paths=True)) as runner:
        assert runner.run(1, REQUESTS_OF_BOTH) > REQUESTS_OF_BOTH // 2
        runner.finish()


def test_templates_are_valid_requests_of_every_api_and_version(world: World) -> None:
    made = set()
    for template in RequestSource(1, world).templates:
        payload = b"".join(template.tokens)
        _, position = decode_request_header(payload)
        template.api.request.decode(template.version, payload, position)
        made.add((template.api.key, template.version))
    assert made == {(entry.key, v) for entry in TABLE for v in range(entry.min_version, entry.max_version + 1)}


def test_a_request_decodes_whatever_its_client_id_is(world: World) -> None:
    payload = b"".join(RequestSource(1, world).templates[0].tokens)
    size = int.from_bytes(payload[8:10], "big")
    spoilt = payload[:10] + b"\xff" * size + payload[10 + size :]
    assert size > 0
    assert decoded(spoilt) == decoded(payload) is not None


def test_mutations_of_content_decode_and_lies_mostly_do_not(world: World) -> None:
    source = RequestSource(2, world)
    requests = [source.request(index) for index in range(6000)]
    assert all(is_well_formed(request) for request in requests if not request.is_lie)
    lies = [request for request in requests if request.is_lie]
    assert len(requests) / 20 < len(lies) < len(requests) / 2
    assert sum(decoded(request.payload) is None for request in lies) > len(lies) / 2


def test_the_same_index_makes_the_same_request(world: World) -> None:
    first, second = RequestSource(3, world), RequestSource(3, world)
    assert [first.request(index).payload for index in (5, 1, 5)] == [
        second.request(index).payload for index in (5, 1, 5)
    ]


@pytest.mark.parametrize(
    ("line", "is_complaint"),
    [
        (b"[2026-01-01 00:00:00,000] ERROR [kcore.server.request] it failed\n", True),
        (b"[2026-01-01 00:00:00,000] WARN [kcore.server.request] ERROR is only a word here\n", False),
        (b"kcore/x.c:1:2: runtime error: signed integer overflow\n", True),
        (b"Traceback (most recent call last):\n", True),
    ],
)
def test_errors_in_the_log_are_seen(line: bytes, is_complaint: bool) -> None:
    assert bool(complaint(b"a line\n" + line)) == is_complaint


def test_times_of_append_are_left_out_and_nothing_else() -> None:
    def stamped(**fields: int) -> bytes:
        return batches.batch(batches.record(), 1, attributes=8, **fields)

    assert without_append_times(stamped(max_timestamp=5)) == without_append_times(stamped(max_timestamp=6))
    assert without_append_times(stamped(max_timestamp=5)[:30]) == without_append_times(stamped(max_timestamp=6)[:30])
    assert without_append_times(stamped(base_offset=5)) != without_append_times(stamped(base_offset=6))
    plain = batches.batch(batches.record(), 1, max_timestamp=5)
    assert without_append_times(plain) == plain
    answer: dict[str, Any] = {"throttle_time_ms": 3, "topics": [{"topic_id": b"x", "offset": 1}]}
    assert comparable(answer) == {"topics": [{"topic_id": b"", "offset": 1}]}
    late, later = ({"message": f"Timestamp -7 is out of range: within [-5, {now}]"} for now in (1000, 1001))
    assert comparable(late) == comparable(later) != comparable({"message": late["message"].replace("-7", "-8")})


@pytest.mark.parametrize(
    ("api", "version", "fields", "is_listed"),
    [
        (apis.DELETE_TOPICS, 5, {"topic_names": ["a", "__consumer_offsets"]}, True),
        (apis.DELETE_TOPICS, 6, {"topics": [{"name": "__consumer_offsets"}]}, True),
        (apis.DELETE_TOPICS, 5, {"topic_names": ["a"]}, False),
        (apis.CREATE_PARTITIONS, 0, {"topics": [{"name": "__consumer_offsets", "count": 9}]}, True),
        (apis.ALTER_CONFIGS, 1, {"resources": [broker_config("max.connections", "0")]}, True),
        (apis.ALTER_CONFIGS, 1, {"resources": [broker_config("max.connections", "0")], "validate_only": True}, False),
        (apis.ALTER_CONFIGS, 1, {"resources": [broker_config("num.io.threads", "1")]}, False),
        (apis.ALTER_CLIENT_QUOTAS, 0, {"entries": [quota("client-id", None)]}, True),
        (apis.ALTER_CLIENT_QUOTAS, 0, {"entries": [quota("client-id", "fuzzer")]}, True),
        (apis.ALTER_CLIENT_QUOTAS, 0, {"entries": [quota("client-id", "another")]}, False),
    ],
)
def test_requests_that_rightly_stop_the_service_are_not_sent(
    api: Api, version: int, fields: dict[str, Any], is_listed: bool
) -> None:
    payload = encode_request(api, version, 1, "fuzzer", fields)
    assert is_restricted(Request(1, Template(api, version), payload, [], False)) == is_listed
