"""Quotas that clients exceed: what their answers say, and that nothing of theirs is executed until the time is over.

Ten windows' worth may come at once; how long the rest is waited for is exact for a client that was never seen before,
so every test has client ids of its own.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from kcore import errors
from kcore.metadata.quota_entity import QuotaEntity
from kcore.protocol import apis
from kcore.protocol.headers import encode_request, encode_response
from kcore.protocol.message import Message
from kcore.quota.client_quota_manager import ANONYMOUS, FETCH, REQUEST
from kcore.server.broker import Broker
from tests.raw_client import RawClient

NUMBERS = itertools.count()
MS = 1_000_000

Connect = Callable[[str], RawClient]
SetQuota = Callable[..., None]


@pytest.fixture
def connect(broker: Broker) -> Iterator[Connect]:
    """Connections with client ids of the test's choice, and a name for a new topic."""
    opened: list[RawClient] = []

    def open_one(client_id: str) -> RawClient:
        opened.append(RawClient(broker.bound_listeners[0].port, client_id=client_id))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.socket.close()


@pytest.fixture
def topic(client: RawClient) -> str:
    name = f"throttled-{next(NUMBERS)}"
    client.create_topic(name, max_message_bytes="20000000")
    return name


@pytest.fixture
def name() -> str:
    """A client id that nobody had before."""
    return f"client-{next(NUMBERS)}"


@pytest.fixture
def set_quota(broker: Broker) -> Iterator[SetQuota]:
    """Sets the quotas of an entity as an administrator's request does; all are gone after the test."""

    def set_one(parts: dict[str, str | None], **quotas: float) -> None:
        broker.controller._store.set_client_quotas(broker.controller.epoch, QuotaEntity(parts), quotas)

    yield set_one
    for entity in list(broker.metadata_cache.image.client_quotas):
        set_one(dict(entity.parts))


def produce_fields(topic: str, size: int, acks: int = 1) -> dict[str, object]:
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 24)
    assert builder.append(0, 1, None, b"x" * size, []) is not None
    data = {"name": topic, "partition_data": [{"index": 0, "records": bytes(builder.build())}]}
    return {"acks": acks, "timeout_ms": 10_000, "topic_data": [data]}


def size_of(client: RawClient, version: int, fields: dict[str, object]) -> int:
    return len(encode_request(apis.PRODUCE, version, 1, client.client_id, fields))


def is_answered(client: RawClient) -> Message:
    return client.request(apis.METADATA, 12, {"topics": []})


@pytest.mark.parametrize("version", [3, 7, 9, 11])
@pytest.mark.parametrize("acks", [1, -1])
def test_a_producer_beyond_its_quota_is_told_for_how_long(
    connect: Connect, set_quota: SetQuota, topic: str, name: str, acks: int, version: int
) -> None:
    set_quota({"client-id": name}, producer_byte_rate=10_000.0)
    client = connect(name)
    fields = produce_fields(topic, 200_000, acks)
    size = size_of(client, version, fields)
    answer = client.request(apis.PRODUCE, version, fields)
    assert answer.responses[0].partition_responses[0].error_code == errors.NONE
    assert answer.throttle_time_ms == round((size / 10 - 10_000) / 10_000 * 10_000)
    # What it sends now waits, on this connection; others are not kept from anything, even with the same client id.
    client.send(apis.METADATA, 12, {"topics": []})
    assert is_answered(connect("someone else"))
    assert is_answered(connect(name))
    client.socket.settimeout(0.05)
    with pytest.raises(TimeoutError):
        client.receive_frame()


def test_it_goes_on_when_the_time_is_over(connect: Connect, set_quota: SetQuota, topic: str, name: str) -> None:
    set_quota({"client-id": name}, producer_byte_rate=1_000_000.0)
    client = connect(name)
    fields = produce_fields(topic, 10_050_000)
    before_ns = time.monotonic_ns()
    throttle_ms = client.request(apis.PRODUCE, 9, fields).throttle_time_ms
    assert throttle_ms == round((size_of(client, 9, fields) - 10_000_000) / 1000)
    assert is_answered(client).throttle_time_ms == 0
    assert time.monotonic_ns() >= before_ns + throttle_ms * MS


def test_without_acks_the_next_request_waits(connect: Connect, set_quota: SetQuota, topic: str, name: str) -> None:
    set_quota({"client-id": name}, producer_byte_rate=1_000_000.0)
    client = connect(name)
    fields = produce_fields(topic, 10_060_000, acks=0)
    before_ns = time.monotonic_ns()
    client.send(apis.PRODUCE, 9, fields)
    assert is_answered(client)
    assert time.monotonic_ns() >= before_ns + (size_of(client, 9, fields) - 10_000_000) * 1000


def test_within_its_quota_nobody_waits(connect: Connect, set_quota: SetQuota, topic: str, name: str) -> None:
    set_quota({"client-id": name}, producer_byte_rate=10_000.0, request_percentage=10_000.0)
    client = connect(name)
    assert client.request(apis.PRODUCE, 9, produce_fields(topic, 90_000)).throttle_time_ms == 0
    assert is_answered(client).throttle_time_ms == 0


def test_the_quota_of_the_anonymous_user(connect: Connect, set_quota: SetQuota, topic: str, name: str) -> None:
    """Who is not authenticated is User:ANONYMOUS, and a user's quota comes before a client id's."""
    set_quota({"client-id": name}, producer_byte_rate=10_000.0)
    set_quota({"user": "ANONYMOUS"}, producer_byte_rate=1e9)
    client = connect(name)
    assert client.request(apis.PRODUCE, 9, produce_fields(topic, 200_000)).throttle_time_ms == 0
    set_quota({"user": "ANONYMOUS", "client-id": None}, producer_byte_rate=10_000.0)
    assert client.request(apis.PRODUCE, 9, produce_fields(topic, 200_000)).throttle_time_ms > 0


def test_a_quota_that_is_taken_away_throttles_nobody(
    connect: Connect, set_quota: SetQuota, topic: str, name: str
) -> None:
    set_quota({"client-id": name}, producer_byte_rate=1.0)
    assert connect(name).request(apis.PRODUCE, 9, produce_fields(topic, 1000)).throttle_time_ms > 0
    set_quota({"client-id": name})
    assert connect(name).request(apis.PRODUCE, 9, produce_fields(topic, 1000)).throttle_time_ms == 0


def test_request_time_is_charged_for_every_api(
    connect: Connect, set_quota: SetQuota, topic: str, name: str, broker: Broker
) -> None:
    """Any request takes more than a millionth of a percent; nobody waits for longer than a window."""
    set_quota({"client-id": name}, request_percentage=1e-6)
    requests = [
        (apis.METADATA, 12, {"topics": []}),
        (apis.API_VERSIONS, 3, {"client_software_name": "test", "client_software_version": "1"}),
        (apis.PRODUCE, 9, produce_fields(topic, 100)),
        (apis.FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": ["group"]}),
        (apis.DESCRIBE_CLUSTER, 0, {}),
    ]
    for api, version, fields in requests:
        assert connect(name).request(api, version, fields).throttle_time_ms == 1000, api


def test_a_version_that_cannot_say_so_is_throttled_all_the_same(
    connect: Connect, set_quota: SetQuota, name: str
) -> None:
    set_quota({"client-id": name}, request_percentage=1e-6)
    client = connect(name)
    before_ns = time.monotonic_ns()
    for _ in range(2):
        client.request(apis.METADATA, 1, {"topics": []})
    assert time.monotonic_ns() >= before_ns + 1000 * MS


def test_request_time_is_not_charged_to_a_produce_without_acks(
    connect: Connect, set_quota: SetQuota, topic: str, name: str
) -> None:
    client = connect(name)
    client.send(apis.PRODUCE, 9, produce_fields(topic, 100, acks=0))
    assert is_answered(client)
    set_quota({"client-id": name}, request_percentage=1e-6)
    # Were each of them to wait for its second, the answer would not come before the client gives up.
    for _ in range(60):
        client.send(apis.PRODUCE, 9, produce_fields(topic, 100, acks=0))
    assert is_answered(client).throttle_time_ms == 1000


# --- fetch ---


def fetch_fields(topic: str, *, session_id: int = 0, session_epoch: int = -1, **more: object) -> dict[str, object]:
    """Everything of a topic's only partition from its beginning; `max_wait_ms` and `min_bytes` are for waiting."""
    wanted = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 30}
    topics = [] if session_id else [{"topic": topic, "partitions": [wanted]}]
    session = {"session_id": session_id, "session_epoch": session_epoch}
    return {"max_bytes": 1 << 30, "min_bytes": 1, "max_wait_ms": 0, "topics": topics, **session, **more}


def record_bytes(answer: Message) -> int:
    return sum(len(part.records or b"") for topic in answer.responses for part in topic.partitions)


@pytest.fixture
def full_topic(topic: str, client: RawClient) -> str:
    """Half a megabyte in records of 50 KB."""
    for _ in range(10):
        client.request(apis.PRODUCE, 9, produce_fields(topic, 50_000))
    return topic


def use_up(broker: Broker, name: str, rate: float) -> None:
    """Lets a client have had all that its quota allows at once, and half a minute's worth more."""
    broker.client_quotas.charge_client(FETCH, ANONYMOUS, name, rate * 40)


def owed(broker: Broker, name: str) -> float:
    measured = broker.client_quotas.tokens_of(FETCH, ANONYMOUS, name)
    assert measured is not None
    return -measured[0]


@pytest.mark.parametrize("version", [4, 7, 11, 12])
def test_a_consumer_beyond_its_quota_gets_nothing_and_pays_nothing(
    broker: Broker, connect: Connect, set_quota: SetQuota, full_topic: str, name: str, version: int
) -> None:
    set_quota({"client-id": name}, consumer_byte_rate=100_000.0)
    use_up(broker, name, 100_000.0)
    client = connect(name)
    answer = client.request(apis.FETCH, version, fetch_fields(full_topic))
    assert 3000 < answer.throttle_time_ms <= 30_000
    assert not answer.responses
    assert owed(broker, name) <= 3_000_000.0
    client.send(apis.METADATA, 12, {"topics": []})
    client.socket.settimeout(0.05)
    with pytest.raises(TimeoutError):
        client.receive_frame()


def test_no_fetch_reads_more_than_a_quota_allows_at_once(
    connect: Connect, set_quota: SetQuota, full_topic: str, name: str
) -> None:
    set_quota({"client-id": name}, consumer_byte_rate=20_000.0)
    answer = connect(name).request(apis.FETCH, 12, fetch_fields(full_topic))
    assert answer.throttle_time_ms == 0
    assert 150_000 < record_bytes(answer) <= 200_000


def test_a_batch_larger_than_a_quota_allows_at_once_is_fetched(
    broker: Broker, connect: Connect, set_quota: SetQuota, full_topic: str, name: str
) -> None:
    """Otherwise its consumer would be throttled for ever and get nothing."""
    set_quota({"client-id": name}, consumer_byte_rate=1000.0)
    answer = connect(name).request(apis.FETCH, 12, fetch_fields(full_topic))
    assert answer.throttle_time_ms == 0
    assert 50_000 < record_bytes(answer) < 60_000
    assert 30_000 < owed(broker, name) < 50_000
    answer = connect(name).request(apis.FETCH, 12, fetch_fields(full_topic))
    assert 30_000 < answer.throttle_time_ms < 50_000
    assert not answer.responses


def test_a_throttled_fetch_opens_no_session(
    broker: Broker, connect: Connect, set_quota: SetQuota, full_topic: str, name: str
) -> None:
    set_quota({"client-id": name}, consumer_byte_rate=100_000.0)
    use_up(broker, name, 100_000.0)
    throttled = connect(name).request(apis.FETCH, 12, fetch_fields(full_topic, session_epoch=0))
    assert (throttled.session_id, throttled.responses) == (0, [])
    set_quota({"client-id": name})
    answer = connect(name).request(apis.FETCH, 12, fetch_fields(full_topic, session_epoch=0))
    assert answer.session_id > 0
    assert record_bytes(answer) > 500_000


def test_a_session_that_was_throttled_gets_its_records_later(
    broker: Broker, connect: Connect, set_quota: SetQuota, full_topic: str, name: str
) -> None:
    opened = connect(name).request(apis.FETCH, 12, fetch_fields(full_topic, session_epoch=0, max_bytes=1))
    assert record_bytes(opened) < 60_000
    session_id = opened.session_id
    set_quota({"client-id": name}, consumer_byte_rate=100_000.0)
    use_up(broker, name, 100_000.0)
    throttled = connect(name).request(apis.FETCH, 12, fetch_fields(full_topic, session_id=session_id, session_epoch=1))
    assert throttled.throttle_time_ms > 3000
    assert (throttled.error_code, throttled.session_id, throttled.responses) == (errors.NONE, session_id, [])
    set_quota({"client-id": name})
    answer = connect(name).request(apis.FETCH, 12, fetch_fields(full_topic, session_id=session_id, session_epoch=2))
    assert answer.error_code == errors.NONE
    assert record_bytes(answer) > 500_000


@pytest.mark.parametrize("session", [False, True], ids=["no session", "session"])
def test_a_fetch_that_waited_is_throttled_too(
    broker: Broker, connect: Connect, client: RawClient, set_quota: SetQuota, topic: str, name: str, session: bool
) -> None:
    consumer = connect(name)
    waiting = fetch_fields(topic, max_wait_ms=10_000)
    if session:
        opened = consumer.request(apis.FETCH, 12, fetch_fields(topic, session_epoch=0))
        waiting = fetch_fields(topic, max_wait_ms=10_000, session_id=opened.session_id, session_epoch=1)
    set_quota({"client-id": name}, consumer_byte_rate=100_000.0)
    use_up(broker, name, 100_000.0)
    consumer.send(apis.FETCH, 12, waiting)
    assert client.request(apis.PRODUCE, 9, produce_fields(topic, 900_000)).throttle_time_ms == 0
    answer = consumer.receive(apis.FETCH, 12)
    assert answer.throttle_time_ms > 3000
    assert not answer.responses


def test_time_that_a_fetch_waits_is_not_charged(connect: Connect, set_quota: SetQuota, topic: str, name: str) -> None:
    """One that waits for as long as this would exceed the quota by as much again."""
    set_quota({"client-id": name}, request_percentage=2.0)
    client = connect(name)
    for _ in range(3):
        assert client.request(apis.FETCH, 12, fetch_fields(topic, max_wait_ms=400)).throttle_time_ms == 0


def test_request_time_of_a_fetch(connect: Connect, set_quota: SetQuota, full_topic: str, name: str) -> None:
    set_quota({"client-id": name}, request_percentage=1e-6)
    answer = connect(name).request(apis.FETCH, 12, fetch_fields(full_topic))
    assert (answer.throttle_time_ms, answer.responses) == (1000, [])


def test_time_that_the_encoding_of_an_answer_takes_is_charged(
    connect: Connect, set_quota: SetQuota, name: str, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that takes a second by the handler's clock is all of what a tenth of a thread may use at once."""
    took_ns = 0

    def encode(*arguments: Any) -> bytes:
        nonlocal took_ns
        took_ns += 1_000 * MS
        return encode_response(*arguments)

    class Clock:
        @staticmethod
        def monotonic_ns() -> int:
            return time.monotonic_ns() + took_ns

    set_quota({"client-id": name}, request_percentage=10.0)
    client = connect(name)
    before_ns = time.monotonic_ns()
    monkeypatch.setattr("kcore.server.request_context.time", Clock)
    monkeypatch.setattr("kcore.server.request_context.encode_response", encode)
    client.request(apis.METADATA, 12, {"topics": []})
    measured = broker.client_quotas.tokens_of(REQUEST, ANONYMOUS, name)
    assert measured is not None
    # Ten more come with each second since.
    assert measured[0] <= 1 + 10 * (time.monotonic_ns() - before_ns) / (1000 * MS)


# --- controller mutations ---


def new_topics(name: str, *partitions: int) -> dict[str, object]:
    rows = [
        {"name": f"{name}-{number}", "num_partitions": count, "replication_factor": 1}
        for number, count in enumerate(partitions)
    ]
    return {"topics": rows, "timeout_ms": 10_000}


EXCEEDED = errors.ThrottlingQuotaExceededError.code


def test_partitions_beyond_the_tokens_are_refused(connect: Connect, set_quota: SetQuota, name: str) -> None:
    """Eleven seconds' worth may be made at once, and what exhausts it may exceed it."""
    set_quota({"client-id": name}, controller_mutation_rate=0.1)
    answer = connect(name).request(apis.CREATE_TOPICS, 6, new_topics(name, 1, 2, 1))
    assert [topic.error_code for topic in answer.topics] == [errors.NONE, errors.NONE, EXCEEDED]
    assert answer.topics[2].error_message == "The throttling quota has been exceeded."
    assert 12_000 < answer.throttle_time_ms <= 19_000
    more = {"topics": [{"name": f"{name}-0", "count": 2, "assignments": None}], "timeout_ms": 10_000}
    refused = connect(name).request(apis.CREATE_PARTITIONS, 3, more)
    assert refused.results[0].error_code == EXCEEDED
    kept = connect(name).request(apis.DELETE_TOPICS, 6, {"topics": [{"name": f"{name}-0"}], "timeout_ms": 10_000})
    assert kept.responses[0].error_code == EXCEEDED
    assert kept.throttle_time_ms > 1000


def test_older_versions_are_given_them_and_throttled(connect: Connect, set_quota: SetQuota, name: str) -> None:
    set_quota({"client-id": name}, controller_mutation_rate=0.1)
    answer = connect(name).request(apis.CREATE_TOPICS, 5, new_topics(name, 1, 2, 1))
    assert [topic.error_code for topic in answer.topics] == [errors.NONE] * 3
    assert 20_000 < answer.throttle_time_ms <= 29_000
    gone = connect(name).request(apis.DELETE_TOPICS, 4, {"topic_names": [f"{name}-0"], "timeout_ms": 10_000})
    assert gone.responses[0].error_code == errors.NONE
    assert gone.throttle_time_ms > 29_000


def test_topics_that_are_made_on_first_use_count_too(connect: Connect, set_quota: SetQuota, name: str) -> None:
    set_quota({"client-id": name}, controller_mutation_rate=0.1)
    asked = {"topics": [{"name": f"{name}-{number}"} for number in range(3)], "allow_auto_topic_creation": True}
    answer = connect(name).request(apis.METADATA, 9, asked)
    assert {topic.error_code for topic in answer.topics} == {errors.NONE}
    assert answer.throttle_time_ms > 10_000
