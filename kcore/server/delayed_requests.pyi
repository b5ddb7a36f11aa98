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
    def wait_for_acknowledgement(
        self,
        purgatory: Purgatory,
        appends: list[tuple[Partition, int]],
        acks: int,
        timeout_ms: int,
        wake: Callable[[], None],
    ) -> None: ...

def acknowledgement_error(partition: Partition, acks: int, required_offset: int) -> int: ...
