"""Columns of records: those of Spark's own Kafka source, and those of `kcli-log` about the batch and its segment."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow

RECORD_TYPES = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
}
HEADERS = "headers"
HEADERS_TYPE = "array<struct<key: string, value: binary>>"
# Columns about the record's batch and its segment file.
BATCH_TYPES = {
    "segment": "string",
    "batchPosition": "bigint",
    "batchBytes": "int",
    "leaderEpoch": "int",
    "producerId": "bigint",
    "producerEpoch": "int",
    "baseSequence": "int",
    "compression": "string",
    "isTransactional": "boolean",
    "magic": "int",
}
# Rows per Arrow batch: a size that Spark handles efficiently and that fetches can fill.
BATCH_ROWS = 64 * 1024
RECORD_COLUMNS = tuple(RECORD_TYPES)
BATCH_COLUMNS = tuple(BATCH_TYPES)
SPARK_TYPES = {**RECORD_TYPES, HEADERS: HEADERS_TYPE, **BATCH_TYPES}


def spark_schema(columns: Iterable[str]) -> str:
    """Return the columns as Spark DDL."""
    return ", ".join(f"{name} {SPARK_TYPES[name]}" for name in columns)


def with_columns(batch: pyarrow.RecordBatch, columns: tuple[str, ...]) -> pyarrow.RecordBatch:
    """Select columns of a batch without copying."""
    return batch if tuple(batch.schema.names) == columns else batch.select(list(columns))
