"""FetchSettings: how a Fetcher fetches, with the names and defaults of Kafka's consumer configurations."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from kcore.client.config.client_config import ConsumerConfig

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
    # Memory for responses in flight and for responses that are not read yet. A single response may exceed it.
    kcli_fetch_buffer_bytes: int = 64 * 1024 * 1024
    # Limit for one batch after decompression.
    kcli_fetch_decompressed_max_bytes: int = 256 * 1024 * 1024

    @classmethod
    def of(cls, config: ConsumerConfig) -> Self:
        """Return the settings of a consumer's configuration."""
        return cls(
            client_id=config["client.id"],
            client_rack=config["client.rack"],
            fetch_min_bytes=config["fetch.min.bytes"],
            fetch_max_wait_ms=config["fetch.max.wait.ms"],
            fetch_max_bytes=config["fetch.max.bytes"],
            max_partition_fetch_bytes=config["max.partition.fetch.bytes"],
            isolation_level=READ_COMMITTED if config["isolation.level"] == "read_committed" else READ_UNCOMMITTED,
            check_crcs=config["check.crcs"],
            request_timeout_ms=config["request.timeout.ms"],
            retry_backoff_ms=config["retry.backoff.ms"],
            retry_backoff_max_ms=config["retry.backoff.max.ms"],
            kcli_fetch_buffer_bytes=config["kcli.fetch.buffer.bytes"],
            kcli_fetch_decompressed_max_bytes=config["kcli.fetch.decompressed.max.bytes"],
        )
