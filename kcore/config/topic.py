"""TopicConfig: the typed configuration of one topic, by name.

Precedence: the topic's overrides, the broker's configuration, Kafka's default. `topic_keys.BROKER_SYNONYMS` maps topic
configurations to those of the broker, with conversions of units.
"""

from __future__ import annotations

from kcore.config.broker_keys import BROKER_KEYS
from kcore.config.definition import LONG_MAX, ConfigException
from kcore.config.topic_keys import BROKER_SYNONYMS, TOPIC_KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, ItemsView, Iterator, Mapping

    from kcore.config.broker import BrokerConfig
    from kcore.config.definition import ConfigKey, ConfigValue


class TopicConfig:
    """Typed access by Kafka's names: `config["retention.ms"]`. Overrides are validated at creation."""

    __slots__ = ("_broker", "_values", "overrides")

    def __init__(self, broker: BrokerConfig, overrides: Mapping[str, str] | None = None) -> None:
        self._broker = broker
        self.overrides = dict(overrides or {})
        self._values: dict[str, ConfigValue] = {name: broker_default(broker, name) for name in TOPIC_KEYS}
        self._values.update(parse_overrides(self.overrides))
        self._spread_timestamp_difference()
        # A broker configuration that logs need.
        self._values["log.validation.header.only"] = broker["log.validation.header.only"]

    def __getitem__(self, name: str) -> ConfigValue:
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, name: str, default: ConfigValue = None) -> ConfigValue:
        """The value of a key, or `default` for an unknown name."""
        return self._values.get(name, default)

    def keys(self) -> Iterator[str]:
        """The names, so that `dict(config)` works."""
        return iter(self._values)

    def items(self) -> ItemsView[str, ConfigValue]:
        """Names and typed values."""
        return self._values.items()

    def number(self, name: str) -> int:
        """The value of an integer key."""
        value = self._values[name]
        assert isinstance(value, int), name
        return value

    def _spread_timestamp_difference(self) -> None:
        """Applies the older limit of Kafka 3.9 where the two newer ones are not set (KIP-937)."""
        difference = self._values["message.timestamp.difference.max.ms"]
        if difference == LONG_MAX:
            return
        for name in ("message.timestamp.before.max.ms", "message.timestamp.after.max.ms"):
            if name not in self.overrides and not self._broker.is_set(f"log.{name}"):
                self._values[name] = difference


def parse_overrides(overrides: Mapping[str, str | None]) -> dict[str, ConfigValue]:
    """Typed values of a topic's overrides. ConfigException with Kafka's text for an invalid one."""
    values: dict[str, ConfigValue] = {}
    for name, text in overrides.items():
        config_key = TOPIC_KEYS.get(name)
        if config_key is None:
            raise ConfigException(f"Unknown topic config name: {name}")
        if text is None:
            raise ConfigException(f"Null value not supported for topic configs: {name}")
        values[name] = config_key.parse(text)
    return values


def validate_overrides(overrides: Mapping[str, str | None]) -> None:
    """ConfigException for invalid or contradictory overrides."""
    values = parse_overrides(overrides)
    minimum = values.get("min.compaction.lag.ms", TOPIC_KEYS["min.compaction.lag.ms"].default)
    maximum = values.get("max.compaction.lag.ms", TOPIC_KEYS["max.compaction.lag.ms"].default)
    assert isinstance(minimum, int)
    assert isinstance(maximum, int)
    if minimum > maximum:
        raise ConfigException(
            f"conflict topic config setting min.compaction.lag.ms ({minimum}) > max.compaction.lag.ms ({maximum})"
        )
    if values.get("remote.storage.enable"):
        raise ConfigException(
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log "
            "storage."
        )


def broker_default(broker: BrokerConfig, name: str) -> ConfigValue:
    """The value without an override: that of the first synonym that the broker sets, else the default."""
    return scaled_default(broker.__getitem__, broker.is_set, name)


def scaled_default(read: Callable[[str], ConfigValue], is_set: Callable[[str], bool], name: str) -> ConfigValue:
    """`broker_default` for any values by name."""
    for synonym, factor in BROKER_SYNONYMS.get(name, ()):
        if is_set(synonym) and read(synonym) is not None:
            return _scaled(read(synonym), factor, name)
    return TOPIC_KEYS[name].default


def _scaled(value: ConfigValue, factor: int, name: str) -> ConfigValue:
    if factor != 1:
        assert isinstance(value, int)
        value = value * factor
    if name == "retention.ms" and isinstance(value, int) and value < 0:
        return -1
    return value


def broker_synonym_keys(name: str) -> list[ConfigKey]:
    """The broker configurations behind a topic configuration, in the order of precedence."""
    return [BROKER_KEYS[synonym] for synonym, _ in BROKER_SYNONYMS.get(name, ())]
