"""Surroundings: the objects that all shards of a group coordinator share."""

from __future__ import annotations

from kcore.coordinator.group.group_counts import GroupCounts
from kcore.metadata.image import GROUP_RESOURCE, MetadataImage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    from kcore.config.broker import BrokerConfig
    from kcore.coordinator.group.consumer.settings import Settings
    from kcore.coordinator.group.session_table import SessionTable
    from kcore.purgatory.timer import TimerHandle

    class Responder(Protocol):
        """Answers a request: a RequestContext."""

        def respond(self, fields: Mapping[str, Any]) -> None: ...

    class Aside(Protocol):
        """Lets another handler run while this one waits: the RequestChannel. `come_back` ends each `stand_aside`."""

        def stand_aside(self) -> bool: ...

        def come_back(self) -> None: ...

    class Scheduler(Protocol):
        """Runs a callable on a handler thread later."""

        def schedule(self, delay_ms: int, callback: Callable[[], None]) -> TimerHandle: ...


class Surroundings:
    """Configuration, timers, clocks, the cluster's metadata, counts, and `sessions`.

    `clock_ms` is monotonic and starts at the wall clock's time. `wall_clock_ms` gives the timestamps of commits.
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
        "sessions",
        "timer",
        "wall_clock_ms",
    )

    def __init__(
        self,
        config: BrokerConfig,
        timer: Scheduler,
        sessions: SessionTable,
        clock_ms: Callable[[], int],
        wall_clock_ms: Callable[[], int],
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
        self.sessions = sessions
        self.clock_ms = clock_ms
        self.wall_clock_ms = wall_clock_ms

    @property
    def consumer_settings(self) -> Settings:
        """The settings of consumer groups. Imported with the first group, to keep the broker's start short."""
        if self._consumer_settings is None:
            from kcore.coordinator.group.consumer.settings import Settings

            self._consumer_settings = Settings.of_broker(self._config)
        return self._consumer_settings

    def settings_of(self, group_id: str) -> Settings:
        """The settings of one consumer group. Its own configurations take precedence."""
        overrides = self.image.configs.get((GROUP_RESOURCE, group_id))
        settings = self.consumer_settings
        return settings.with_overrides(self._config, overrides) if overrides else settings
