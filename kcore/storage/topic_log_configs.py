"""The configuration of each topic's logs: the broker's defaults and the topic's overrides as a LogConfig.

Topics with the same overrides share one LogConfig, so that a changed default of ten thousand topics is computed once.
"""

from __future__ import annotations

from kcore.config.topic import TopicConfig
from kcore.storage.log_config import LogConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from kcore.config.broker import BrokerConfig


class TopicLogConfigs:
    """The LogConfig of each topic. The caller holds the lock of the logs for `set`, `ensure`, `take` and `forget`."""

    __slots__ = ("_config", "_configs", "_overrides")

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._configs: dict[str, LogConfig] = {}
        # By topic, the overrides from which its LogConfig was computed.
        self._overrides: dict[str, Mapping[str, str]] = {}

    def of(self, topic: str) -> LogConfig:
        """The configuration of a topic's logs. KeyError without one."""
        return self._configs[topic]

    def set(self, topic: str, overrides: Mapping[str, str]) -> None:
        """Computes the configuration of one topic."""
        self.take({topic: self._computed(overrides)}, {topic: overrides})

    def ensure(self, topic: str, overrides: Mapping[str, str] | None) -> None:
        """Computes the configuration of a topic if the overrides are new; None keeps the known overrides."""
        if overrides is None:
            overrides = self._overrides.get(topic, {})
        if overrides != self._overrides.get(topic):
            self.set(topic, overrides)

    def computed(self, overrides: Mapping[str, Mapping[str, str]]) -> dict[str, LogConfig]:
        """The configurations of topics with these overrides, for `take`."""
        shared: dict[frozenset[tuple[str, str]], LogConfig] = {}
        configs = {}
        for topic, own in overrides.items():
            key = frozenset(own.items())
            if key not in shared:
                shared[key] = self._computed(own)
            configs[topic] = shared[key]
        return configs

    def take(self, configs: Mapping[str, LogConfig], overrides: Mapping[str, Mapping[str, str]]) -> None:
        """Replaces the configurations of topics."""
        self._configs.update(configs)
        self._overrides.update((topic, dict(own)) for topic, own in overrides.items())

    def forget(self, topics: Iterable[str]) -> None:
        """Removes the configurations of deleted topics. A log that is created later computes its own."""
        for topic in topics:
            self._configs.pop(topic, None)
            self._overrides.pop(topic, None)

    def _computed(self, overrides: Mapping[str, str]) -> LogConfig:
        properties: Any = TopicConfig(self._config, overrides)
        config = LogConfig.from_properties(properties)
        # Settings of a log that a topic cannot override.
        config.producer_expiration_ms = self._config.number("producer.id.expiration.ms")
        config.decompressed_limit_bytes = self._config.number("kcli.batch.max.decompressed.bytes")
        return config
