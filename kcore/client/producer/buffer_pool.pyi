from typing import final

@final
class BufferPool:
    memory_bytes: int
    pooled_bytes: int
    def __init__(self, memory_bytes: int, pooled_bytes: int) -> None: ...
