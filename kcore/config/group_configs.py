"""Configurations of single groups (KIP-848; `GroupConfig` of Kafka 4.3, resource type GROUP).

A group can be configured before it exists. The default of each configuration is the broker's configuration `group.` and
its name, and other broker configurations are its bounds. Configurations of share and streams groups are unknown, since
these groups are not supported.
"""

from __future__ import annotations

from kcore.config.definition import INT, ConfigException, ConfigKey, index_by_name
from kcore.config.validators import at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.config.broker import BrokerConfig

HEARTBEAT_INTERVAL = "consumer.heartbeat.interval.ms"
SESSION_TIMEOUT = "consumer.session.timeout.ms"
# The broker configurations with the bounds of each group configuration, in the order of the checks.
BOUNDS = {
    HEARTBEAT_INTERVAL: ("group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"),
    SESSION_TIMEOUT: ("group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
}
GROUP_KEYS: dict[str, ConfigKey] = index_by_name(
    (ConfigKey(HEARTBEAT_INTERVAL, INT, 5_000, at_least(1)), ConfigKey(SESSION_TIMEOUT, INT, 45_000, at_least(1)))
)


def broker_key_of(name: str) -> str:
    """The broker configuration with a group configuration's default."""
    return f"group.{name}"


def group_number(broker: BrokerConfig, overrides: Mapping[str, str], name: str) -> int:
    """The value for a group with these overrides."""
    text = overrides.get(name)
    return broker.number(broker_key_of(name)) if text is None else int(text)


def validate_group_overrides(broker: BrokerConfig, overrides: Mapping[str, str]) -> None:
    """ConfigException with Kafka's text for an invalid configuration of a group."""
    for name, text in overrides.items():
        key = GROUP_KEYS.get(name)
        if key is None:
            raise ConfigException(f"Unknown group config name: {name}")
        key.parse(text)
    for name, (lowest, highest) in BOUNDS.items():
        # The bounds apply to groups. The broker's own value may be outside them.
        value = group_number(broker, overrides, name)
        if name in overrides and value < broker.number(lowest):
            raise ConfigException(f"{name} must be greater than or equal to {lowest}")
        if name in overrides and value > broker.number(highest):
            raise ConfigException(f"{name} must be less than or equal to {highest}")
    if overrides and group_number(broker, overrides, SESSION_TIMEOUT) <= group_number(
        broker, overrides, HEARTBEAT_INTERVAL
    ):
        raise ConfigException(f"{SESSION_TIMEOUT} must be greater than {HEARTBEAT_INTERVAL}")
