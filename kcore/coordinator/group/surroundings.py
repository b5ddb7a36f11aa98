"""What the shards of a group coordinator have in common: configuration, timers, clocks, metadata, counts."""

from __future__ import annotations

import time

from kcore.coordinator.group.group_counts import GroupCounts
from kcore.metadata.image import MetadataImage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    from kcore.config.broker import BrokerConfig
    from kcore.coordinator.group.consumer.settings import Settings
    from kcore.purgatory.timer import TimerHandle

    class Responder(Protocol):
        """What answers a request: a RequestContext."""

        def respond(self, fields: Mapping[str, Any]) -> None: ...

    class Scheduler(Protocol):
        """What runs a callable on a handler thread later."""

        def schedule(self, delay_ms: int, callback: Callable[[], None]) -> TimerHandle: ...


class Surroundings:
    """What all shards of a coordinator share: configuration, timers, clocks, and the cluster's metadata.

    `clock_ms` never goes back and starts at the wall clock's time, `wall_clock_ms` is what commits are stamped with.
    """

    __slots__ = (
        "_config",
        "_consumer_settings",
        "clock_ms",
        "counts",
        "image",
        "initial_rebalance_delay_ms",
        "max_metadata_length",
        "max_size",
        "retention_ms",
        "timer",
        "wall_clock_ms",
    )

    def __init__(
        self, config: BrokerConfig, timer: Scheduler, clock_ms: Callable[[], int], wall_clock_ms: Callable[[], int]
    ) -> None:
        self.initial_rebalance_delay_ms = config.number("group.initial.rebalance.delay.ms")
        self.max_size = config.number("group.max.size")
        self.max_metadata_length = config.number("offset.metadata.max.bytes")
        self.retention_ms = config.number("offsets.retention.minutes") * 60_000
        self.counts = GroupCounts()
        self._config = config
        self._consumer_settings: Settings | None = None
        self.image = MetadataImage()
        self.timer = timer
        self.clock_ms = clock_ms
        self.wall_clock_ms = wall_clock_ms

    @property
    def consumer_settings(self) -> Settings:
        """What is configured of consumer groups; imported, as all of them is, once there is one."""
        if self._consumer_settings is None:
            from kcore.coordinator.group.consumer.settings import Settings

            self._consumer_settings = Settings.of_broker(self._config)
        return self._consumer_settings


def steady_clock(start_ms: int) -> Callable[[], int]:
    """Milliseconds since 1970 as the wall clock had them at `start_ms`, of a clock that never goes back."""
    ahead_ms = start_ms - time.monotonic_ns() // 1_000_000

    def clock_ms() -> int:
        return time.monotonic_ns() // 1_000_000 + ahead_ms

    return clock_ms
