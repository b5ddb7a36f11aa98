from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, final

from kcore.client.config.client_config import ProducerConfig
from kcore.client.metadata.cluster import TopicPartition
from kcore.client.network.connection_state import ConnectionState
from kcore.client.producer.batch_future import BatchFuture, DeliveredRange
from kcore.client.producer.record_future import RecordFuture, RecordMetadata

_Headers = Iterable[tuple[str | bytes, bytes | None]] | Mapping[str, bytes | None]
_OnDelivery = Callable[[RecordMetadata | None, Exception | None], object]
LEVELS: dict[str, str]

@final
class Producer:
    config: ProducerConfig
    def __init__(self, config: ProducerConfig | Mapping[str, Any] | None = None, **keywords: Any) -> None: ...
    def send(
        self,
        topic: str,
        value: Any = None,
        *,
        key: Any = None,
        headers: _Headers | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: _OnDelivery | None = None,
    ) -> RecordFuture: ...
    def send_batch(
        self,
        topic: str,
        values: Any,
        *,
        keys: Any = None,
        headers: Mapping[str, bytes | None] | Sequence[_Headers | None] | None = None,
        partition: int | None = None,
        timestamps: Any = None,
        on_delivery: Callable[[list[DeliveredRange] | None, Exception | None], object] | None = None,
    ) -> BatchFuture: ...
    def init_transactions(self) -> None: ...
    def begin_transaction(self) -> None: ...
    def send_offsets_to_transaction(self, offsets: Mapping[TopicPartition, Any], group_metadata: Any) -> None: ...
    def commit_transaction(self) -> None: ...
    def abort_transaction(self) -> None: ...
    def takes_at_once(self, topic: str) -> bool: ...
    def connection_states(self) -> list[ConnectionState]: ...
    def partitions_for(self, topic: str) -> list[int]: ...
    def flush(self, timeout: float | None = None) -> None: ...
    def close(self, timeout: float | None = None) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    @property
    def pending(self) -> int: ...
    @property
    def live_buffers(self) -> int: ...
