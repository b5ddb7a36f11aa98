"""Control records: the markers that end a transaction (KIP-98; EndTransactionMarker and ControlRecordType).

A marker is the only record of a batch with the transactional and control attributes. Its key is version int16 and type
int16 (0 abort, 1 commit). Its value is version int16 and coordinator epoch int32. Readers use the first fields of
longer keys and values of later versions, and skip control records of unknown types.
"""

from __future__ import annotations

import struct

from kcore import errors
from kcore.record.encoder import encode_batch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.record.decoder import Record

ABORT = 0
COMMIT = 1

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")
_VERSION = 0


class EndTransactionMarker:
    """How a transaction ended, and the epoch of the coordinator that ended it."""

    __slots__ = ("coordinator_epoch", "is_commit")

    def __init__(self, is_commit: bool, coordinator_epoch: int) -> None:
        self.is_commit = is_commit
        self.coordinator_epoch = coordinator_epoch

    def __repr__(self) -> str:
        return f"<EndTransactionMarker {'COMMIT' if self.is_commit else 'ABORT'} epoch={self.coordinator_epoch}>"


def control_type(record: Record) -> int:
    """The type of a control record, which may be unknown."""
    key = record.key
    if key is None or len(key) < _KEY.size:
        raise errors.CorruptMessageError("a control record's key is shorter than its version and type")
    version, kind = _KEY.unpack_from(key)
    if version < 0:
        raise errors.CorruptMessageError(f"a control record's key has the version {version}")
    return int(kind)


def decode_marker(record: Record) -> EndTransactionMarker | None:
    """The marker in a record of a control batch; None if the record is of another type."""
    kind = control_type(record)
    if kind not in (ABORT, COMMIT):
        return None
    value = record.value
    if value is None or len(value) < _VALUE.size:
        raise errors.CorruptMessageError("a transaction marker's value is shorter than its version and epoch")
    version, coordinator_epoch = _VALUE.unpack_from(value)
    if version < 0:
        raise errors.CorruptMessageError(f"a transaction marker has the version {version}")
    return EndTransactionMarker(kind == COMMIT, coordinator_epoch)


def encode_marker(
    is_commit: bool,
    coordinator_epoch: int,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """Encodes the batch that ends a producer's transaction in a partition."""
    key = _KEY.pack(_VERSION, COMMIT if is_commit else ABORT)
    value = _VALUE.pack(_VERSION, coordinator_epoch)
    return encode_batch(
        [(key, value)],
        timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        transactional=True,
        control=True,
    )
