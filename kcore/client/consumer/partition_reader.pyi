from collections.abc import Iterable
from typing import final

from typing_extensions import Buffer

from kcore.client.consumer.consumer_record import ConsumerRecord
from kcore.client.consumer.record_columns import RecordColumns

@final
class PartitionReader:
    def __init__(
        self,
        batches: Buffer,
        topic: str = "",
        partition: int = 0,
        *,
        offset: int = 0,
        aborted: Iterable[tuple[int, int]] = (),
        read_committed: bool = False,
        check_crcs: bool = True,
        decompressed_limit_bytes: int = ...,
    ) -> None: ...
    @property
    def next_offset(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def following_offset(self) -> int: ...
    def take(self, limit: int | None = None) -> list[ConsumerRecord]: ...
    def take_columns(
        self, limit: int | None = None, *, for_arrow: bool = False, include_headers: bool = False
    ) -> RecordColumns: ...
