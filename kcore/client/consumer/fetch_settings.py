"""How a Fetcher fetches; the names and defaults are those of Kafka's consumer configurations."""

from __future__ import annotations

from typing import NamedTuple

READ_UNCOMMITTED = 0
READ_COMMITTED = 1


class FetchSettings(NamedTuple):
    client_id: str = "kcli"
    client_rack: str = ""
    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 50 * 1024 * 1024
    max_partition_fetch_bytes: int = 1024 * 1024
    isolation_level: int = READ_UNCOMMITTED
    check_crcs: bool = True
    request_timeout_ms: int = 30_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    # What answers may take up in memory ahead of the reader, those on the way included. A single answer always may.
    kcli_fetch_buffer_bytes: int = 64 * 1024 * 1024
    # What one batch may hold once decompressed.
    kcli_fetch_decompressed_max_bytes: int = 256 * 1024 * 1024
