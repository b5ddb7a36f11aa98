from collections.abc import Callable

from kcore.purgatory.handler_event import HandlerEventSink
from kcore.replication.partition import Partition
from kcore.replication.replica_manager import ReplicaManager

class DelayedFetches:
    def __init__(self, replicas: ReplicaManager, sink: HandlerEventSink) -> None: ...
    def wait(
        self,
        partitions: list[tuple[Partition, int, int, int, int]],
        isolation: int,
        min_bytes: int,
        max_wait_ms: int,
        callback: Callable[[], None],
    ) -> None: ...
