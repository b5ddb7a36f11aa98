"""WriteTxnMarkers ends a transaction that an earlier release let into a log, where no coordinator would.

The open transaction is appended below Produce, which refuses transactional batches.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcore.config.broker import BrokerConfig
from kcore.protocol import apis
from kcore.server.broker import Broker
from tests.broker_process import KEEPING
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import READ_COMMITTED, batch, fetch, fetch_fields, produce, values_of

UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_REQUEST = 42
INVALID_PRODUCER_EPOCH = 47
TRANSACTION_COORDINATOR_FENCED = 52
TRANSACTIONAL_ID_NOT_FOUND = 105
# Records of the time of the markers: with older ones the log would roll before the marker.
NOW_MS = int(time.time() * 1000)
PRODUCER_ID = 7
PRODUCER_EPOCH = 3


def start(directory: Path, fast_path: bool) -> Broker:
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(directory),
        "kcli.fast.path.enable": str(fast_path).lower(),
        **KEEPING,
    }
    broker = Broker(BrokerConfig(settings))
    broker.startup()
    return broker


def plant(broker: Broker, client: RawClient, topic: str) -> None:
    """Offset 0 is plain, 1 and 2 are of an open transaction, 3 is plain."""
    client.create_topic(topic)
    produce(client, topic, batch([b"before"], timestamp=NOW_MS))
    partition = broker.replica_manager.partition(topic, 0)
    assert partition is not None
    producer = (PRODUCER_ID, PRODUCER_EPOCH, 0)
    records = batch([b"open", b"open"], producer=producer, transactional=True, timestamp=NOW_MS)
    assert partition.append_records(records).error == 0
    produce(client, topic, batch([b"behind"], timestamp=NOW_MS))


def write_marker(
    client: RawClient,
    topic: str,
    *,
    index: int = 0,
    producer_id: int = PRODUCER_ID,
    producer_epoch: int = PRODUCER_EPOCH,
    coordinator_epoch: int = 0,
    commit: bool = False,
) -> int:
    """The error code of one marker in one partition."""
    marker = {
        "producer_id": producer_id,
        "producer_epoch": producer_epoch,
        "coordinator_epoch": coordinator_epoch,
        "transaction_result": commit,
        "topics": [{"name": topic, "partition_indexes": [index]}],
    }
    response = client.request(apis.WRITE_TXN_MARKERS, 1, {"markers": [marker]})
    [row] = response.markers
    assert row.producer_id == producer_id
    [part] = row.topics[0].partitions
    assert part.partition_index == index
    return int(part.error_code)


def committed(client: RawClient, topic: str) -> tuple[int, list[int]]:
    """The last stable offset, and the offsets that a reader of committed records gets."""
    part = fetch(client, topic, isolation_level=READ_COMMITTED)
    aborted = {row.producer_id: row.first_offset for row in part.aborted_transactions or ()}
    offsets = [offset for offset, value in values_of(part.records) if value in (b"before", b"behind", b"after")]
    assert aborted in ({}, {PRODUCER_ID: 1})
    return part.last_stable_offset, offsets


def open_transactions(client: RawClient, topic: str) -> list[int]:
    topics = [{"name": topic, "partition_indexes": [0]}]
    response = client.request(apis.DESCRIBE_PRODUCERS, 0, {"topics": topics})
    producers = response.topics[0].partitions[0].active_producers
    return [row.current_txn_start_offset for row in producers if row.current_txn_start_offset >= 0]


def test_an_aborted_transaction_lets_readers_go_on(broker: Broker, client: RawClient) -> None:
    plant(broker, client, "stuck")
    assert committed(client, "stuck") == (1, [0])
    assert open_transactions(client, "stuck") == [1]
    assert write_marker(client, "stuck") == 0
    produce(client, "stuck", batch([b"after"], timestamp=NOW_MS))
    assert committed(client, "stuck") == (6, [0, 3, 5])
    assert open_transactions(client, "stuck") == []
    part = fetch(client, "stuck", isolation_level=READ_COMMITTED)
    assert [(row.producer_id, row.first_offset) for row in part.aborted_transactions] == [(PRODUCER_ID, 1)]


def test_a_waiting_reader_is_woken_by_the_marker(broker: Broker, client: RawClient) -> None:
    plant(broker, client, "awaited-marker")
    fields = fetch_fields(client, "awaited-marker", 1, max_wait_ms=55_000, isolation_level=READ_COMMITTED)
    client.send(apis.FETCH, 12, fields)
    with RawClient(broker.bound_listeners[0].port) as administrator:
        assert write_marker(administrator, "awaited-marker") == 0
    response = client.receive(apis.FETCH, 12)
    assert response.responses[0].partitions[0].last_stable_offset == 5


def test_a_commit_marker_shows_the_records(broker: Broker, client: RawClient) -> None:
    plant(broker, client, "committed")
    assert write_marker(client, "committed", commit=True) == 0
    part = fetch(client, "committed", isolation_level=READ_COMMITTED)
    assert (part.last_stable_offset, part.aborted_transactions) == (5, [])


def test_markers_of_old_epochs_are_refused(broker: Broker, client: RawClient) -> None:
    plant(broker, client, "fenced")
    assert write_marker(client, "fenced", producer_epoch=PRODUCER_EPOCH - 1) == INVALID_PRODUCER_EPOCH
    assert committed(client, "fenced") == (1, [0])
    assert write_marker(client, "fenced", coordinator_epoch=5) == 0
    assert write_marker(client, "fenced", coordinator_epoch=4) == TRANSACTION_COORDINATOR_FENCED
    assert write_marker(client, "fenced", coordinator_epoch=5, producer_epoch=2) == INVALID_PRODUCER_EPOCH
    assert write_marker(client, "fenced", coordinator_epoch=5, producer_epoch=PRODUCER_EPOCH + 1) == 0
    assert fetch(client, "fenced").high_watermark == 6


def test_hostile_markers(broker: Broker, client: RawClient) -> None:
    client.create_topic("hostile-markers")
    cases: list[tuple[dict[str, int], int]] = [
        ({"producer_id": -1}, INVALID_REQUEST),
        ({"producer_id": -(2**63)}, INVALID_REQUEST),
        ({"producer_epoch": -1}, INVALID_REQUEST),
        ({"index": -1}, UNKNOWN_TOPIC_OR_PARTITION),
        ({"index": 2**31 - 1}, UNKNOWN_TOPIC_OR_PARTITION),
    ]
    for fields, code in cases:
        assert write_marker(client, "hostile-markers", **fields) == code, fields  # type: ignore[arg-type]
    assert write_marker(client, "nowhere") == UNKNOWN_TOPIC_OR_PARTITION
    assert write_marker(client, "") == UNKNOWN_TOPIC_OR_PARTITION
    assert fetch(client, "hostile-markers").high_watermark == 0
    assert client.request(apis.WRITE_TXN_MARKERS, 1, {"markers": []}).markers == []
    extremes = {"producer_id": 2**63 - 1, "producer_epoch": 2**15 - 1, "coordinator_epoch": -(2**31)}
    assert write_marker(client, "hostile-markers", **extremes) == 0  # type: ignore[arg-type]
    assert committed(client, "hostile-markers") == (1, [])


def test_no_transaction_is_coordinated_here(client: RawClient) -> None:
    response = client.request(apis.LIST_TRANSACTIONS, 1, {"state_filters": ["Ongoing", "Sleeping"]})
    assert (response.error_code, response.unknown_state_filters) == (0, ["Sleeping"])
    assert response.transaction_states == []
    response = client.request(apis.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": ["a", "b"]})
    assert [(row.transactional_id, row.error_code) for row in response.transaction_states] == [
        ("a", TRANSACTIONAL_ID_NOT_FOUND),
        ("b", TRANSACTIONAL_ID_NOT_FOUND),
    ]


@pytest.fixture
def brokers(tmp_path: Path, fast_path: bool) -> Iterator[list[Broker]]:
    """Brokers on one directory; the last one runs."""
    started = [start(tmp_path, fast_path)]
    yield started
    started[-1].shutdown()


def test_the_repair_survives_restarts(brokers: list[Broker], tmp_path: Path, fast_path: bool) -> None:
    with RawClient(brokers[-1].bound_listeners[0].port) as client:
        plant(brokers[-1], client, "kept")
    brokers[-1].shutdown()
    brokers.append(start(tmp_path, fast_path))
    with RawClient(brokers[-1].bound_listeners[0].port) as client:
        assert committed(client, "kept") == (1, [0]), "the open transaction survives, too"
        assert write_marker(client, "kept") == 0
        assert committed(client, "kept") == (5, [0, 3])
    brokers[-1].shutdown()
    brokers.append(start(tmp_path, fast_path))
    with RawClient(brokers[-1].bound_listeners[0].port) as client:
        assert committed(client, "kept") == (5, [0, 3])
        part = fetch(client, "kept", isolation_level=READ_COMMITTED)
        assert [(row.producer_id, row.first_offset) for row in part.aborted_transactions] == [(PRODUCER_ID, 1)]
