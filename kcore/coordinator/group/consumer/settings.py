"""What configurations say of consumer groups (`group.consumer.*`)."""

from __future__ import annotations

from kcore.coordinator.group.consumer.assignors import NAMES, RANGE, UNIFORM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.config.broker import BrokerConfig

DISABLED, UPGRADE, DOWNGRADE, BIDIRECTIONAL = "disabled", "upgrade", "downgrade", "bidirectional"


class Settings:
    """Milliseconds and numbers of members; `assignors` by name, the first for members that do not care."""

    __slots__ = (
        "assignors",
        "classic_max_size",
        "heartbeat_interval_ms",
        "max_size",
        "migration_policy",
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
    ) -> None:
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.session_timeout_ms = session_timeout_ms
        self.max_size = max_size
        self.assignors = assignors
        self.migration_policy = migration_policy
        self.classic_max_size = classic_max_size

    @classmethod
    def of_broker(cls, config: BrokerConfig) -> Settings:
        """As the broker is configured now."""
        return cls(
            config.number("group.consumer.heartbeat.interval.ms"),
            config.number("group.consumer.session.timeout.ms"),
            config.number("group.consumer.max.size"),
            tuple(NAMES[name] for name in config.texts("group.consumer.assignors")),
            (config.text("group.consumer.migration.policy") or DISABLED).lower(),
            config.number("group.max.size"),
        )

    @property
    def may_upgrade(self) -> bool:
        """Whether a consumer may turn a group of classic members into a consumer group."""
        return self.migration_policy in (UPGRADE, BIDIRECTIONAL)

    @property
    def may_downgrade(self) -> bool:
        """Whether a consumer group whose last consumer leaves becomes a classic group again."""
        return self.migration_policy in (DOWNGRADE, BIDIRECTIONAL)
