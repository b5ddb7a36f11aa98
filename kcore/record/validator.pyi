from typing import final

from typing_extensions import Buffer

@final
class Validation:
    @property
    def error(self) -> int: ...
    @property
    def message(self) -> str | None: ...
    @property
    def records(self) -> bytes | None: ...
    @property
    def rebuilt(self) -> bool: ...
    @property
    def codec_unavailable(self) -> bool: ...
    @property
    def failed_record_index(self) -> int: ...
    @property
    def failed_batch_position(self) -> int: ...
    @property
    def batch_count(self) -> int: ...
    @property
    def record_count(self) -> int: ...
    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def max_timestamp(self) -> int: ...
    @property
    def offset_of_max_timestamp(self) -> int: ...
    @property
    def log_append_time_ms(self) -> int: ...
    @property
    def decompressed_bytes(self) -> int: ...
    @property
    def valid_bytes(self) -> int: ...

def validate(
    records: Buffer,
    *,
    base_offset: int = 0,
    leader_epoch: int = 0,
    now_ms: int = 0,
    origin: int = 0,
    compacted: bool = False,
    header_only: bool = False,
    reject_zstd: bool = False,
    timestamp_type: int = 0,
    target_codec: int = -1,
    compression_level: int | None = None,
    max_message_bytes: int = 1048588,
    timestamp_before_max_ms: int = ...,
    timestamp_after_max_ms: int = ...,
    decompressed_limit_bytes: int = 0,
) -> Validation: ...
