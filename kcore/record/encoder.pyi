from collections.abc import Iterable
from typing import Any, TypeAlias, final

from typing_extensions import Buffer

NO_TIMESTAMP: int

_Headers: TypeAlias = Iterable[tuple[str | Buffer, Buffer | None]]

@final
class RecordBatchBuilder:
    def __init__(
        self,
        *,
        codec: int = 0,
        level: int | None = None,
        base_offset: int = 0,
        leader_epoch: int = -1,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        transactional: bool = False,
        control: bool = False,
        log_append_time: int | None = None,
    ) -> None: ...
    @property
    def record_count(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def base_timestamp(self) -> int: ...
    @property
    def max_timestamp(self) -> int: ...
    def append(self, key: Buffer | None, value: Buffer | None, timestamp: int = -1, headers: _Headers = ()) -> int: ...
    def build(self) -> bytes: ...

def encode_batch(
    records: Iterable[tuple[Any, ...]],
    *,
    timestamp: int = -1,
    codec: int = 0,
    level: int | None = None,
    base_offset: int = 0,
    leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    log_append_time: int | None = None,
) -> bytes: ...
