"""The columns of records: exactly what Spark's own Kafka source has, and what segment files say beside them."""

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
# Of the batch that a record came in, and of the file that has it.
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
# Arrow batches of a size that Spark works through at once, and that fetches fill.
BATCH_ROWS = 64 * 1024
RECORD_COLUMNS = tuple(RECORD_TYPES)
BATCH_COLUMNS = tuple(BATCH_TYPES)
SPARK_TYPES = {**RECORD_TYPES, HEADERS: HEADERS_TYPE, **BATCH_TYPES}


def spark_schema(columns: Iterable[str]) -> str:
    """As Spark's DDL has it."""
    return ", ".join(f"{name} {SPARK_TYPES[name]}" for name in columns)


def with_columns(batch: pyarrow.RecordBatch, columns: tuple[str, ...]) -> pyarrow.RecordBatch:
    """The batch with these columns alone; nothing is copied."""
    return batch if tuple(batch.schema.names) == columns else batch.select(list(columns))
