from kcore.purgatory.purgatory import Purgatory
from kcore.storage.log import Log

class AppendOutcome:
    base_offset: int
    duplicate: bool
    error: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    message: str | None
    record_count: int
    record_errors: list[tuple[int, str]]

class FetchOutcome:
    aborted_transactions: list[tuple[int, int]]
    diverging_epoch: tuple[int, int] | None
    error: int
    high_watermark: int
    last_stable_offset: int
    log_end_offset: int
    log_start_offset: int
    position: int
    records: bytes
    segment_base_offset: int

class Partition:
    topic: str
    index: int
    topic_id: bytes
    log: Log
    local_broker_id: int
    is_internal: bool

    def __init__(
        self,
        topic: str,
        index: int,
        topic_id: bytes,
        log: Log,
        local_broker_id: int,
        fetch_purgatory: Purgatory,
        produce_purgatory: Purgatory,
        is_internal: bool = False,
    ) -> None: ...
    def make_leader(self, leader_epoch: int, replicas: list[int], in_sync: list[int], min_in_sync: int) -> None: ...
    def set_min_in_sync(self, count: int) -> None: ...
    def close(self) -> None: ...
    def append_records(
        self,
        records: bytes | bytearray | memoryview,
        acks: int = 1,
        internal: bool = False,
        validates_first: bool = False,
    ) -> AppendOutcome: ...
    def fetch(
        self,
        offset: int,
        max_bytes: int,
        isolation: int,
        at_least_one: bool = True,
        leader_epoch: int = -1,
        last_fetched_epoch: int = -1,
    ) -> FetchOutcome: ...
    def note_bytes_out(self, size_bytes: int) -> None: ...
    def leadership_error(self, leader_epoch: int = -1) -> int: ...
    @property
    def leader_id(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def replicas(self) -> list[int]: ...
    @property
    def in_sync_replicas(self) -> list[int]: ...
    @property
    def min_in_sync_replicas(self) -> int: ...
    @property
    def high_watermark(self) -> int: ...
    @property
    def is_in_use(self) -> bool: ...
