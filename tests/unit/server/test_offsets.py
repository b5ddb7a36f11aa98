"""ListOffsets, OffsetForLeaderEpoch and InitProducerId."""

from __future__ import annotations

import pytest

from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch, produce

UNKNOWN_TOPIC_OR_PARTITION = 3
UNSUPPORTED_VERSION = 35
INVALID_REQUEST = 42
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
UNSUPPORTED_VERSION = 35
UNKNOWN_LEADER_EPOCH = 75

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
START_MS = 1_700_000_000_000


def list_offset(client: RawClient, topic: str, timestamp: int, *, version: int = 7, **more: object) -> Message:
    fields = {
        "replica_id": -1,
        "topics": [{"name": topic, "partitions": [{"partition_index": 0, "timestamp": timestamp, **more}]}],
    }
    part: Message = client.request(apis.LIST_OFFSETS, version, fields).topics[0].partitions[0]
    return part


def filled(client: RawClient, name: str) -> str:
    """A topic of three batches whose records are 0, 1, 2 | 1000, 1001 | 500 ms after the start."""
    client.create_topic(name)
    for delay, count in ((0, 3), (1000, 2), (500, 1)):
        produce(client, name, batch([b"v"] * count, timestamp=START_MS + delay))
    return name


@pytest.mark.parametrize("version", range(1, 11))
def test_both_ends_of_a_log(client: RawClient, version: int) -> None:
    topic = filled(client, f"ends-v{version}")
    epoch = 0 if version >= 4 else -1
    latest = list_offset(client, topic, LATEST, version=version)
    assert (latest.error_code, latest.offset, latest.timestamp, latest.leader_epoch) == (0, 6, -1, epoch)
    earliest = list_offset(client, topic, EARLIEST, version=version)
    assert (earliest.error_code, earliest.offset, earliest.timestamp, earliest.leader_epoch) == (0, 0, -1, epoch)


@pytest.mark.parametrize(
    ("delay", "offset", "found_delay"),
    [(-10, 0, 0), (0, 0, 0), (1, 1, 1), (3, 3, 1000), (1001, 4, 1001), (1002, -1, None)],
)
def test_the_first_record_that_is_no_older(client: RawClient, delay: int, offset: int, found_delay: int | None) -> None:
    topic = filled(client, f"times-{delay}")
    found = list_offset(client, topic, START_MS + delay)
    assert (found.error_code, found.offset) == (0, offset)
    assert found.timestamp == (-1 if found_delay is None else START_MS + found_delay)


def test_the_newest_record(client: RawClient) -> None:
    topic = filled(client, "newest")
    found = list_offset(client, topic, MAX_TIMESTAMP)
    assert (found.offset, found.timestamp) == (4, START_MS + 1001)
    client.create_topic("empty-newest")
    found = list_offset(client, "empty-newest", MAX_TIMESTAMP)
    assert (found.error_code, found.offset, found.timestamp) == (0, -1, -1)


@pytest.mark.parametrize(
    ("timestamp", "version", "code"),
    [
        (MAX_TIMESTAMP, 6, UNSUPPORTED_VERSION),
        (EARLIEST_LOCAL, 7, UNSUPPORTED_VERSION),
        (EARLIEST_LOCAL, 8, 0),
        (LATEST_TIERED, 8, UNSUPPORTED_VERSION),
        (LATEST_TIERED, 9, 0),
        (-6, 10, UNSUPPORTED_VERSION),
    ],
)
def test_special_times_need_their_version(client: RawClient, timestamp: int, version: int, code: int) -> None:
    topic = filled(client, f"special{timestamp}-v{version}")
    assert list_offset(client, topic, timestamp, version=version).error_code == code


def test_errors_of_list_offsets(client: RawClient) -> None:
    client.create_topic("asked-twice")
    assert list_offset(client, "not-there", LATEST).error_code == UNKNOWN_TOPIC_OR_PARTITION
    assert list_offset(client, "asked-twice", LATEST, current_leader_epoch=9).error_code == UNKNOWN_LEADER_EPOCH
    asked = {"partition_index": 0, "timestamp": LATEST}
    fields = {"replica_id": -1, "topics": [{"name": "asked-twice", "partitions": [asked, asked]}]}
    parts = client.request(apis.LIST_OFFSETS, 1, fields).topics[0].partitions
    assert [part.error_code for part in parts] == [INVALID_REQUEST, INVALID_REQUEST]


def test_many_partitions_with_one_of_them_twice_are_looked_up_in_one_pass(client: RawClient) -> None:
    """One request must not occupy a handler thread: looking at all partitions for each would take hours."""
    client.create_topic("asked-often")
    asked = [{"partition_index": number, "timestamp": LATEST} for number in (*range(200_000), 7)]
    fields = {"replica_id": -1, "topics": [{"name": "asked-often", "partitions": asked}]}
    parts = client.request(apis.LIST_OFFSETS, 1, fields).topics[0].partitions
    refused = [part.partition_index for part in parts if part.error_code == INVALID_REQUEST]
    assert (len(parts), refused) == (200_001, [7, 7])


@pytest.mark.parametrize("version", range(2, 5))
def test_where_an_epoch_ends(client: RawClient, version: int) -> None:
    topic = filled(client, f"epochs-v{version}")
    asked = [
        {"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0},
        {"partition": 0, "current_leader_epoch": -1, "leader_epoch": 5},
        {"partition": 0, "current_leader_epoch": 5, "leader_epoch": 0},
        {"partition": 3, "current_leader_epoch": -1, "leader_epoch": 0},
    ]
    fields = {"topics": [{"topic": topic, "partitions": asked}]}
    parts = client.request(apis.OFFSET_FOR_LEADER_EPOCH, version, fields).topics[0].partitions
    assert [(part.error_code, part.leader_epoch, part.end_offset) for part in parts] == [
        (0, 0, 6),
        (0, -1, -1),
        (UNKNOWN_LEADER_EPOCH, -1, -1),
        (UNKNOWN_TOPIC_OR_PARTITION, -1, -1),
    ]


@pytest.mark.parametrize("version", range(6))
def test_every_producer_gets_an_id_of_its_own(client: RawClient, version: int) -> None:
    answers = [
        client.request(apis.INIT_PRODUCER_ID, version, {"transactional_id": None, "transaction_timeout_ms": 60_000})
        for _ in range(3)
    ]
    assert all((answer.error_code, answer.producer_epoch) == (0, 0) for answer in answers)
    assert len({answer.producer_id for answer in answers}) == 3


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize(("producer", "code"), [((7, -1), INVALID_REQUEST), ((-1, 0), INVALID_REQUEST), ((7, 0), 0)])
def test_a_former_producer_id_comes_with_its_epoch(
    client: RawClient, version: int, producer: tuple[int, int], code: int
) -> None:
    fields = {"transactional_id": None, "producer_id": producer[0], "producer_epoch": producer[1]}
    assert client.request(apis.INIT_PRODUCER_ID, version, fields).error_code == code


@pytest.mark.parametrize("version", range(1, 7))
def test_no_broker_coordinates_transactions(client: RawClient, version: int) -> None:
    """The code that is final for librdkafka, in the versions that it uses; see `handlers/find_coordinator.py`."""
    fields = {"coordinator_keys": ["tx"]} if version >= 4 else {"key": "tx"}
    answer = client.request(apis.FIND_COORDINATOR, version, {**fields, "key_type": 1})
    (found,) = answer.coordinators if version >= 4 else [answer]
    assert found.error_code == (UNSUPPORTED_VERSION if version >= 3 else TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    assert (found.node_id, found.host, found.port) == (-1, "", -1)
    assert found.error_message == "This broker does not support transactions. Use a producer without transactional.id."


@pytest.mark.parametrize(("name", "code"), [("tx", UNSUPPORTED_VERSION), ("", INVALID_REQUEST)])
def test_transactions_are_refused(client: RawClient, name: str, code: int) -> None:
    answer = client.request(apis.INIT_PRODUCER_ID, 2, {"transactional_id": name, "transaction_timeout_ms": 60_000})
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code, -1, -1)
