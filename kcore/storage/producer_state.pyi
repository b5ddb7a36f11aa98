from typing import TypedDict

class _ProducerDescription(TypedDict):
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_start_offset: int
    sequences: list[tuple[int, int]]

class ProducerStateManager:
    def __init__(self, expiration_ms: int = 86_400_000) -> None: ...
    @property
    def expiration_ms(self) -> int: ...
    @property
    def damaged_snapshots(self) -> int: ...
    @property
    def newest_damaged_snapshot(self) -> int: ...
    def remove_expired(self, now_ms: int) -> int: ...
    def active_producers(self) -> list[_ProducerDescription]: ...
