"""Formats rows as Kafka's DumpLogSegments (3.9) does, because other tools parse its output."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Row = dict[str, Any]
    Decoder = Callable[[Row], tuple[str | None, str | None]]

RECORD_INDENT = "| "


def plain_key_and_value(row: Row) -> tuple[str | None, str | None]:
    """Key and value as text; bytes that are not UTF-8 are replaced."""
    return _text(row["key"]), _text(row["value"])


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


class LineWriter:
    """Formats rows as lines. `decoder` returns key and value of a record, if they are wanted."""

    def __init__(self, decoder: Decoder | None, *, skip_record_metadata: bool) -> None:
        self._decoder = decoder
        self._skip_record_metadata = skip_record_metadata

    def line(self, row: Row) -> str:
        line: str = getattr(self, "_" + row["kind"])(row)
        return line

    def _file(self, row: Row) -> str:
        line = f"Dumping {row['file']}"
        return line if row["starting_offset"] is None else f"{line}\nLog starting offset: {row['starting_offset']}"

    def _batch(self, row: Row) -> str:
        if row["magic"] >= 2:
            horizon = row["delete_horizon_ms"]
            head = (
                f"baseOffset: {row['base_offset']} lastOffset: {row['last_offset']} count: {row['count']} "
                f"baseSequence: {row['base_sequence']} lastSequence: {row['last_sequence']} "
                f"producerId: {row['producer_id']} producerEpoch: {row['producer_epoch']} "
                f"partitionLeaderEpoch: {row['partition_leader_epoch']} "
                f"isTransactional: {_flag(row['is_transactional'])} isControl: {_flag(row['is_control'])} "
                f"deleteHorizonMs: {'OptionalLong.empty' if horizon is None else f'OptionalLong[{horizon}]'}"
            )
        else:
            head = f"offset: {row['last_offset']}"
        return (
            f"{head} position: {row['position']} {row['timestamp_type']}: {row['timestamp']} size: {row['size']} "
            f"magic: {row['magic']} compresscodec: {row['compression']} crc: {row['crc']} "
            f"isvalid: {_flag(row['is_valid'])}"
        )

    def _record(self, row: Row) -> str:
        prefix, line = RECORD_INDENT, ""
        if not self._skip_record_metadata:
            line = prefix + self._record_metadata(row)
            prefix = " "
        if self._decoder is not None and "control" not in row:
            key, payload = self._decoder(row)
            if key is not None:
                line += f"{prefix}key: {key}"
            if payload is not None:
                line += f" payload: {payload}"
        return line

    def _record_metadata(self, row: Row) -> str:
        line = (
            f"offset: {row['offset']} {row['timestamp_type']}: {row['timestamp']} "
            f"keySize: {row['key_size']} valueSize: {row['value_size']}"
        )
        if row["magic"] >= 2:
            line += f" sequence: {row['sequence']} headerKeys: [{','.join(row['header_keys'])}]"
        control = row.get("control")
        if control is None:
            return line
        if "coordinator_epoch" in control:
            return f"{line} endTxnMarker: {control['type']} coordinatorEpoch: {control['coordinator_epoch']}"
        return f"{line} controlType: {control['type']}({control['type_id']})"

    def _invalid_bytes(self, row: Row) -> str:
        return f"Found {row['size']} invalid bytes at the end of {row['file']}"

    def _offset_index_entry(self, row: Row) -> str:
        return f"offset: {row['offset']} position: {row['position']}"

    def _time_index_entry(self, row: Row) -> str:
        return f"timestamp: {row['timestamp']} offset: {row['offset']}"

    def _aborted_transaction(self, row: Row) -> str:
        return (
            f"version: {row['version']} producerId: {row['producer_id']} firstOffset: {row['first_offset']} "
            f"lastOffset: {row['last_offset']} lastStableOffset: {row['last_stable_offset']}"
        )

    def _producer(self, row: Row) -> str:
        transaction = row["current_txn_first_offset"]
        line = (
            f"producerId: {row['producer_id']} producerEpoch: {row['producer_epoch']} "
            f"coordinatorEpoch: {row['coordinator_epoch']} "
            f"currentTxnFirstOffset: {'OptionalLong.empty' if transaction is None else f'OptionalLong[{transaction}]'} "
            f"lastTimestamp: {row['last_timestamp']} "
        )
        if row["last_sequence"] < 0:
            return line
        return (
            f"{line}firstSequence: {row['first_sequence']} lastSequence: {row['last_sequence']} "
            f"lastOffset: {row['last_offset']} offsetDelta: {row['offset_delta']} timestamp: {row['timestamp']}"
        )

    def _empty(self, row: Row) -> str:
        return f"{row['file']} is empty."

    def _sane(self, row: Row) -> str:
        return f"{row['file']} passed sanity check."


def _flag(value: bool) -> str:
    return "true" if value else "false"
