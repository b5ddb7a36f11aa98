from typing import final

@final
class BufferPool:
    memory_bytes: int
    pooled_bytes: int
    def __init__(self, memory_bytes: int, pooled_bytes: int) -> None: ...
    @property
    def available_bytes(self) -> int: ...
    @property
    def live_bytes(self) -> int: ...
