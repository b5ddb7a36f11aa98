from collections.abc import Iterable, Sequence
from typing import Any

def encode_fetch_request(
    version: int,
    *,
    client_id: str | None = None,
    rack: str = "",
    max_wait_ms: int = 500,
    min_bytes: int = 1,
    max_bytes: int = 52428800,
    isolation_level: int = 0,
    session_id: int = 0,
    session_epoch: int = -1,
    topics: Sequence[tuple[str, bytes, Sequence[tuple[int, int, int, int, int]]]] = (),
    forgotten: Sequence[tuple[str, bytes, Iterable[int]]] = (),
) -> bytes: ...
def parse_fetch_answer(body: bytes, version: int) -> dict[str, Any] | None: ...
