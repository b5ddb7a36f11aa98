"""The records of one fetched partition, out of the batches that the broker sent.

Batches begin before the fetch offset when it points into one, and the last one may be cut short. Control batches are
not for readers. With read_committed the records of aborted transactions are left out: the answer lists them by
producer id and first offset, and the transaction's end marker takes its producer off the list (KIP-98).
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.cluster import TopicPartition
from kcore.record.decoder import decode_batches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.fetcher import CompletedFetch
    from kcore.record.decoder import Record

CREATE_TIME = "CreateTime"
LOG_APPEND_TIME = "LogAppendTime"


class FetchedRecords(NamedTuple):
    """`records` have `offset`, `timestamp`, `key`, `value` and `headers`; `next_offset` follows the last batch."""

    partition: TopicPartition
    records: list[Record]
    next_offset: int
    high_watermark: int
    timestamp_type: str


def decode_fetch(completed: CompletedFetch, read_committed: bool, check_crc: bool) -> FetchedRecords:
    """Raises KafkaError when the bytes are not what a writer makes."""
    first = completed.fetch_offset
    records: list[Record] = []
    next_offset = first
    timestamp_type = CREATE_TIME
    aborted = sorted(completed.aborted_transactions, key=lambda entry: entry[1]) if read_committed else []
    open_aborts: set[int] = set()
    for batch in decode_batches(completed.records, check_crc):
        next_offset = max(next_offset, batch.next_offset)
        if aborted or open_aborts:
            while aborted and aborted[0][1] <= batch.last_offset:
                open_aborts.add(aborted.pop(0)[0])
        if batch.is_control:
            open_aborts.discard(batch.producer_id)
            continue
        if batch.is_transactional and batch.producer_id in open_aborts:
            continue
        if batch.is_log_append_time:
            timestamp_type = LOG_APPEND_TIME
        if batch.base_offset < first:
            records += [record for record in batch if record.offset >= first]
        else:
            records += batch
    return FetchedRecords(completed.partition, records, next_offset, completed.high_watermark, timestamp_type)
