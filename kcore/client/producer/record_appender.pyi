from typing import final

from kcore.client.network.network_client import NetworkClient
from kcore.client.producer.record_accumulator import RecordAccumulator

@final
class RecordAppender:
    def __init__(
        self,
        accumulator: RecordAccumulator,
        network: NetworkClient,
        *,
        max_request_bytes: int,
        max_block_ms: float,
        needs_clock: bool,
        is_compressed: bool,
    ) -> None: ...
