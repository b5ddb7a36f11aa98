from typing import final

@final
class RecordAccumulator:
    def __init__(
        self,
        *,
        batch_size: int = 16_384,
        buffer_memory: int = 33_554_432,
        linger_ms: float | None = None,
        delivery_timeout_ms: int = 120_000,
        retry_backoff_ms: int = 100,
        retry_backoff_max_ms: int = 1_000,
        partitioner: int = 0,
        ignore_keys: bool = False,
        adaptive: bool = True,
        seed: int = 1,
    ) -> None: ...
    def add_topic(self, name: str, partition_count: int) -> Topic: ...
    @property
    def live_buffers(self) -> int: ...

@final
class Topic:
    name: str
    def __init__(self, accumulator: RecordAccumulator, name: str) -> None: ...
    @property
    def partition_count(self) -> int: ...
