"""Settings of consumer groups (`group.consumer.*`)."""

from __future__ import annotations

from kcore.config.group_configs import HEARTBEAT_INTERVAL, SESSION_TIMEOUT, group_number
from kcore.coordinator.group.consumer.assignors import NAMES, RANGE, UNIFORM
from kcore.coordinator.group.consumer.topic_pattern import DEFAULT_LIMITS, PatternLimits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.config.broker import BrokerConfig

DISABLED, UPGRADE, DOWNGRADE, BIDIRECTIONAL = "disabled", "upgrade", "downgrade", "bidirectional"


class Settings:
    """Times in milliseconds, sizes in members. The first of `assignors` is the default."""

    __slots__ = (
        "assignors",
        "classic_max_size",
        "heartbeat_interval_ms",
        "max_size",
        "migration_policy",
        "pattern_limits",
        "pattern_min_refresh_interval_ms",
        "session_timeout_ms",
    )

    def __init__(
        self,
        heartbeat_interval_ms: int = 5_000,
        session_timeout_ms: int = 45_000,
        max_size: int = 2**31 - 1,
        assignors: tuple[str, ...] = (UNIFORM, RANGE),
        migration_policy: str = BIDIRECTIONAL,
        classic_max_size: int = 2**31 - 1,
        pattern_limits: PatternLimits = DEFAULT_LIMITS,
        pattern_min_refresh_interval_ms: int = 10_000,
    ) -> None:
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.session_timeout_ms = session_timeout_ms
        self.max_size = max_size
        self.assignors = assignors
        self.migration_policy = migration_policy
        self.classic_max_size = classic_max_size
        self.pattern_limits = pattern_limits
        self.pattern_min_refresh_interval_ms = pattern_min_refresh_interval_ms

    @classmethod
    def of_broker(cls, config: BrokerConfig) -> Settings:
        """The broker's present configuration."""
        return cls(
            config.number("group.consumer.heartbeat.interval.ms"),
            config.number("group.consumer.session.timeout.ms"),
            config.number("group.consumer.max.size"),
            tuple(NAMES[name] for name in config.texts("group.consumer.assignors")),
            (config.text("group.consumer.migration.policy") or DISABLED).lower(),
            config.number("group.max.size"),
            PatternLimits(
                config.number("kcli.group.pattern.max.memory.bytes"),
                config.number("kcli.group.pattern.max.match.ms"),
            ),
            config.number("kcli.group.pattern.min.refresh.interval.ms"),
        )

    def with_overrides(self, broker: BrokerConfig, overrides: Mapping[str, str]) -> Settings:
        """The settings of a group with configurations of its own."""
        return Settings(
            group_number(broker, overrides, HEARTBEAT_INTERVAL),
            group_number(broker, overrides, SESSION_TIMEOUT),
            self.max_size,
            self.assignors,
            self.migration_policy,
            self.classic_max_size,
            self.pattern_limits,
            self.pattern_min_refresh_interval_ms,
        )

    @property
    def may_upgrade(self) -> bool:
        """Whether a classic group may become a consumer group."""
        return self.migration_policy in (UPGRADE, BIDIRECTIONAL)

    @property
    def may_downgrade(self) -> bool:
        """Whether a consumer group with only classic members becomes a classic group."""
        return self.migration_policy in (DOWNGRADE, BIDIRECTIONAL)
