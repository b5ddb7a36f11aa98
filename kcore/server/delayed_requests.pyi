from collections.abc import Callable

from kcore.purgatory.handler_event import HandlerEventSink
from kcore.purgatory.purgatory import Purgatory
from kcore.replication.partition import Partition

class DelayedRequests:
    def __init__(self, sink: HandlerEventSink) -> None: ...
    def wait_for_records(
        self,
        purgatory: Purgatory,
        reads: list[tuple[Partition, int, int, int, int]],
        isolation: int,
        min_bytes: int,
        timeout_ms: int,
        wake: Callable[[], None],
    ) -> None: ...
    def wait_for_replicas(
        self, purgatory: Purgatory, appends: list[tuple[Partition, int]], timeout_ms: int, wake: Callable[[], None]
    ) -> None: ...

def replication_error(partition: Partition, required_offset: int) -> int: ...
