"""What a broker says of a partition, byte by byte: the same questions to Apache Kafka and to us must get the same
answers.

Fetch from every batch on and from within it, with both isolation levels, one batch and all bytes at a time: error, high
watermark, last stable offset, log start, aborted transactions, and the length and checksum of the records' bytes.
ListOffsets at both ends, of the newest record and around every timestamp. An observation can be kept as JSON.
"""

from __future__ import annotations

import zlib
from typing import Any

from kcore.protocol import apis
from kcore.record.decoder import decode_batches
from tests.raw_client import RawClient

Observation = dict[str, Any]

FETCH_VERSION = 11
LIST_OFFSETS_VERSION = 7
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
EARLIEST, LATEST, MAX_TIMESTAMP = -2, -1, -3
ALL_BYTES = 1 << 20
ONE_BATCH = 1
SOME_BYTES = 900


def observe(port: int, topic: str, partition: int = 0) -> Observation:
    """All that is asked of one partition."""
    with RawClient(port) as client:
        start = list_offset(client, topic, partition, EARLIEST)["offset"]
        end = list_offset(client, topic, partition, LATEST)["offset"]
        batches = list(decode_batches(read_bytes(client, topic, partition, start, end)))
        offsets = sorted({start, end, *(offset for batch in batches for offset in asked_offsets(batch))})
        times = sorted({time for batch in batches for time in (batch.base_timestamp, batch.max_timestamp) if time >= 0})
        return {
            "start": start,
            "end": end,
            "batches": [[batch.magic, batch.base_offset, batch.last_offset, batch.codec] for batch in batches],
            "fetches": [
                fetch(client, topic, partition, offset, isolation, max_bytes)
                for offset in offsets
                if start <= offset <= end
                for isolation in (READ_UNCOMMITTED, READ_COMMITTED)
                for max_bytes in (ONE_BATCH, SOME_BYTES, ALL_BYTES)
            ],
            "times": [
                list_offset(client, topic, partition, time, isolation)
                for around in times
                for time in (around - 1, around, around + 1)
                for isolation in (READ_UNCOMMITTED, READ_COMMITTED)
            ],
            "newest": list_offset(client, topic, partition, MAX_TIMESTAMP),
            "last_stable": list_offset(client, topic, partition, LATEST, READ_COMMITTED),
        }


def asked_offsets(batch: Any) -> set[int]:
    """Where a batch begins, and a place within it."""
    return {batch.base_offset, (batch.base_offset + batch.last_offset + 1) // 2}


def is_served(port: int, topic: str) -> bool:
    """Whether the broker leads the topic's partition by now."""
    with RawClient(port) as client:
        return bool(list_offset(client, topic, 0, EARLIEST)["error"] == 0)


def is_settled(port: int, topic: str) -> bool:
    """Whether every transaction has its marker, which is written after its producer was answered."""
    with RawClient(port) as client:
        stable = list_offset(client, topic, 0, LATEST, READ_COMMITTED)["offset"]
        return bool(stable == list_offset(client, topic, 0, LATEST)["offset"])


def read_bytes(client: RawClient, topic: str, partition: int, start: int, end: int) -> bytes:
    """The bytes of the whole partition."""
    data = b""
    while start < end:
        records = ask(client, topic, partition, start, READ_UNCOMMITTED, ALL_BYTES).records or b""
        whole = list(decode_batches(records))
        if not whole:
            break
        data += records[: sum(batch.size_bytes for batch in whole)]
        start = whole[-1].last_offset + 1
    return data


def ask(client: RawClient, topic: str, partition: int, offset: int, isolation: int, max_bytes: int) -> Any:
    """One partition of a Fetch answer."""
    wanted = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": max_bytes}
    response = client.request(
        apis.FETCH,
        FETCH_VERSION,
        {
            "replica_id": -1,
            "max_wait_ms": 0,
            "min_bytes": 0,
            "max_bytes": ALL_BYTES,
            "isolation_level": isolation,
            "session_epoch": -1,
            "topics": [{"topic": topic, "partitions": [wanted]}],
        },
    )
    return response.responses[0].partitions[0]


def fetch(client: RawClient, topic: str, partition: int, offset: int, isolation: int, max_bytes: int) -> Observation:
    """One Fetch and what it was answered."""
    answer = ask(client, topic, partition, offset, isolation, max_bytes)
    records = bytes(answer.records or b"")
    aborted = answer.aborted_transactions
    last = max((batch.last_offset for batch in decode_batches(records)), default=-1)
    return {
        "offset": offset,
        "isolation": isolation,
        "max_bytes": max_bytes,
        "error": answer.error_code,
        "high_watermark": answer.high_watermark,
        "last_stable_offset": answer.last_stable_offset,
        "log_start_offset": answer.log_start_offset,
        # Brokers may name some of what comes behind, as far as their offset index is coarse.
        "aborted": None
        if aborted is None
        else sorted([row.producer_id, row.first_offset] for row in aborted if row.first_offset <= last),
        "bytes": len(records),
        "crc32": zlib.crc32(records),
    }


def list_offset(
    client: RawClient, topic: str, partition: int, time: int, isolation: int = READ_UNCOMMITTED
) -> Observation:
    """One ListOffsets and what it was answered."""
    wanted = {"partition_index": partition, "current_leader_epoch": -1, "timestamp": time}
    response = client.request(
        apis.LIST_OFFSETS,
        LIST_OFFSETS_VERSION,
        {
            "replica_id": -1,
            "isolation_level": isolation,
            "topics": [{"name": topic, "partitions": [wanted]}],
        },
    )
    answer = response.topics[0].partitions[0]
    return {
        "asked": time,
        "isolation": isolation,
        "error": answer.error_code,
        "offset": answer.offset,
        "timestamp": answer.timestamp,
    }
