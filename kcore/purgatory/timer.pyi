from collections.abc import Callable

from kcore.logger import Logger
from kcore.purgatory.handler_event import HandlerEventSink
from kcore.purgatory.purgatory import Purgatory

LOG: Logger

class TimerHandle:
    def cancel(self) -> bool: ...
    def complete(self) -> bool: ...
    @property
    def settled(self) -> bool: ...

class Timer:
    def __init__(self, sink: HandlerEventSink, name: str = "timer", purgatory: Purgatory | None = None) -> None: ...
    def schedule(
        self,
        delay_ms: int,
        on_expiration: Callable[[], object],
        on_complete: Callable[[], object] | None = None,
    ) -> TimerHandle: ...
    @property
    def scheduled(self) -> int: ...
    def shutdown(self) -> None: ...
