"""Configurations of subscriptions to client metrics (KIP-714, ClientMetricsConfigs of Kafka 3.9).

Subscriptions are stored and listed for tools. The broker does not collect client metrics in this version.
"""

from __future__ import annotations

from kcore.config.definition import INT, LIST, ConfigException, ConfigKey, index_by_name, unused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MIN_INTERVAL_MS = 100
MAX_INTERVAL_MS = 3_600_000
MATCHES = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)

CLIENT_METRICS_KEYS: dict[str, ConfigKey] = index_by_name(
    (
        unused("metrics", LIST, ()),
        unused("interval.ms", INT, 300_000),
        unused("match", LIST, ()),
    )
)


class UnknownClientMetricsConfig(ConfigException):
    """An unknown name, or an interval out of bounds. Kafka answers INVALID_REQUEST."""


def validate_subscription(overrides: Mapping[str, str]) -> None:
    """ConfigException for an invalid configuration of a subscription."""
    for name, text in overrides.items():
        key = CLIENT_METRICS_KEYS.get(name)
        if key is None:
            raise UnknownClientMetricsConfig(f"Unknown client metrics configuration: {name}")
        value = key.parse(text)
        if name == "interval.ms":
            assert isinstance(value, int)
            if not MIN_INTERVAL_MS <= value <= MAX_INTERVAL_MS:
                raise UnknownClientMetricsConfig(
                    f"Invalid value {text} for interval.ms, interval must be between {MIN_INTERVAL_MS} and "
                    f"{MAX_INTERVAL_MS} (1 hour)"
                )
        if name == "match":
            assert isinstance(value, tuple)
            for pattern in value:
                _check_pattern(pattern)


def _check_pattern(pattern: str) -> None:
    import re

    name, equals, expression = (part.strip() for part in pattern.partition("="))
    if not equals or name not in MATCHES:
        raise ConfigException(f"Illegal client matching pattern: {pattern}")
    try:
        re.compile(expression)
    except re.error:
        raise ConfigException(f"Illegal client matching pattern: {pattern}") from None
