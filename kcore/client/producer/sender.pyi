from typing import final

from kcore.client.network.network_client import NetworkClient
from kcore.client.producer.record_accumulator import RecordAccumulator

COMPRESSION_TYPES: tuple[str, ...]

@final
class Sender:
    def __init__(
        self,
        network: NetworkClient,
        accumulator: RecordAccumulator,
        *,
        client_id: str = "",
        transactional_id: str | None = None,
        acks: int = -1,
        codec: int = 0,
        level: int | None = None,
        request_timeout_ms: int = 30_000,
        max_in_flight: int = 5,
        retries: int = 2_147_483_647,
        max_request_size: int = 1_048_576,
        idempotent: bool = True,
        availability_timeout_ms: int = 0,
    ) -> None: ...
    def start(self) -> None: ...
    @property
    def requests_in_flight(self) -> int: ...
