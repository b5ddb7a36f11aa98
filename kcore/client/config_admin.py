"""Configurations of topics, brokers and loggers: DescribeConfigs and IncrementalAlterConfigs.

What belongs to one broker is asked of that broker; everything else of any.
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.errors import broker_error
from kcore.client.network_client import NetworkClient
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcore.client.cluster import Node
    from kcore.protocol.message import Message

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
BROKER_LOGGER_RESOURCE = 8
CLIENT_METRICS_RESOURCE = 16
RESOURCE_NAMES = {
    TOPIC_RESOURCE: "topic",
    BROKER_RESOURCE: "broker",
    BROKER_LOGGER_RESOURCE: "broker logger",
    CLIENT_METRICS_RESOURCE: "client metrics subscription",
}
# ConfigSource of DescribeConfigs, by Kafka's names.
SOURCES = {
    0: "UNKNOWN",
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
}
SET, DELETE, APPEND, SUBTRACT = range(4)


class Synonym(NamedTuple):
    """Another name, or another place, that says what a configuration is."""

    name: str
    value: str | None
    source: str


class DescribedConfig(NamedTuple):
    """`source` is one of SOURCES; `synonyms` are the strongest first."""

    name: str
    value: str | None
    source: str
    is_sensitive: bool
    is_read_only: bool
    synonyms: list[Synonym]


class ConfigOperation(NamedTuple):
    """`operation` is SET, DELETE, APPEND or SUBTRACT; DELETE has no value."""

    name: str
    operation: int
    value: str | None = None


class ConfigAdmin:
    """An empty name stands for all brokers where the resource is a broker."""

    def __init__(self, client: NetworkClient) -> None:
        self.client = client

    def describe(self, resource_type: int, name: str, keys: Sequence[str] | None = None) -> list[DescribedConfig]:
        """All configurations of a resource, or those of the given names, as the cluster lists them."""
        resource = {
            "resource_type": resource_type,
            "resource_name": name,
            "configuration_keys": None if keys is None else list(keys),
        }
        fields = {"resources": [resource], "include_synonyms": True}
        (result,) = self.client.request(apis.DESCRIBE_CONFIGS, fields, self._node(resource_type, name)).results
        if result.error_code:
            raise broker_error(result.error_code, subject(resource_type, name), result.error_message)
        return [_described(config) for config in result.configs]

    def alter(
        self, resource_type: int, name: str, operations: Iterable[ConfigOperation], *, validate_only: bool = False
    ) -> None:
        """All operations are done, or none, and the first thing that is wrong is raised."""
        configs = [{"name": each.name, "config_operation": each.operation, "value": each.value} for each in operations]
        fields = {
            "resources": [{"resource_type": resource_type, "resource_name": name, "configs": configs}],
            "validate_only": validate_only,
        }
        node = self._node(resource_type, name)
        (result,) = self.client.request(apis.INCREMENTAL_ALTER_CONFIGS, fields, node).responses
        if result.error_code:
            raise broker_error(result.error_code, subject(resource_type, name), result.error_message)

    def _node(self, resource_type: int, name: str) -> Node | None:
        """The broker that alone can answer for a resource."""
        if resource_type not in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE) or not name.isdigit():
            return None
        return self.client.update_metadata([]).nodes.get(int(name))


def subject(resource_type: int, name: str) -> str:
    """What messages call a resource."""
    if resource_type == BROKER_RESOURCE and not name:
        return "all brokers"
    return f"{RESOURCE_NAMES[resource_type]} {name}"


def _described(config: Message) -> DescribedConfig:
    synonyms = [Synonym(each.name, each.value, SOURCES.get(each.source, "UNKNOWN")) for each in config.synonyms]
    source = SOURCES.get(config.config_source, "UNKNOWN")
    return DescribedConfig(config.name, config.value, source, config.is_sensitive, config.read_only, synonyms)
