"""Configurations of topics, brokers, loggers, groups, metrics: DescribeConfigs, IncrementalAlterConfigs (KIP-339),
ListConfigResources (KIP-1142).

Requests about one broker go to that broker, one request each. All other resources go to any broker in one request.
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.admin.admin_calls import AdminCalls
from kcore.client.admin.results import failure_of, raise_failure
from kcore.client.errors import ClientError, UnsupportedByBroker
from kcore.config.definition import TYPE_NAMES
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from kcore.client.admin.results import Failure
    from kcore.client.metadata.cluster import Node
    from kcore.protocol.message import Message

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
BROKER_LOGGER_RESOURCE = 8
CLIENT_METRICS_RESOURCE = 16
GROUP_RESOURCE = 32
RESOURCE_NAMES = {
    TOPIC_RESOURCE: "topic",
    BROKER_RESOURCE: "broker",
    BROKER_LOGGER_RESOURCE: "broker logger",
    CLIENT_METRICS_RESOURCE: "client metrics subscription",
    GROUP_RESOURCE: "group",
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
    8: "DYNAMIC_GROUP_CONFIG",
}
SET, DELETE, APPEND, SUBTRACT = range(4)


class ConfigResource(NamedTuple):
    """A resource with configurations. With BROKER_RESOURCE, the empty name means all brokers."""

    type: int
    name: str

    def __str__(self) -> str:
        if self.type == BROKER_RESOURCE and not self.name:
            return "all brokers"
        return f"{RESOURCE_NAMES.get(self.type, f'resource of type {self.type}')} {self.name}"


class Synonym(NamedTuple):
    """Another name or source of a configuration's value."""

    name: str
    value: str | None
    source: str


class DescribedConfig(NamedTuple):
    """A configuration of a resource.

    `source` is one of SOURCES. `synonyms` are in order of precedence. `type` is "" and `documentation` None if the
    broker does not return them.
    """

    name: str
    value: str | None
    source: str
    is_sensitive: bool
    is_read_only: bool
    synonyms: list[Synonym]
    type: str = ""
    documentation: str | None = None


class ConfigOperation(NamedTuple):
    """`operation` is SET, DELETE, APPEND or SUBTRACT. DELETE has no value."""

    name: str
    operation: int
    value: str | None = None


class ConfigAdmin(AdminCalls):
    __slots__ = ()

    def list_config_resources(self, types: Iterable[int] = ()) -> list[ConfigResource]:
        """Return the resources with configurations, sorted. Default: all types that the broker lists.

        Brokers before 4.1 list only client metrics subscriptions. Raises UnsupportedByBroker for any other type.
        """
        wanted = sorted(set(types))

        def fields(version: int) -> dict[str, Any]:
            if version > 0:
                return {"resource_types": wanted}
            if wanted != [CLIENT_METRICS_RESOURCE]:
                raise UnsupportedByBroker("the broker is too old: it lists no resources except client metrics")
            return {}

        response = self._request(apis.LIST_CONFIG_RESOURCES, fields)
        raise_failure(response.error_code, "configured resources")
        return sorted(
            ConfigResource(resource.resource_type, resource.resource_name) for resource in response.config_resources
        )

    def list_client_metrics_resources(self) -> list[str]:
        """Return the names of all client metrics subscriptions, sorted (KIP-714)."""
        return [resource.name for resource in self.list_config_resources([CLIENT_METRICS_RESOURCE])]

    def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        keys: Sequence[str] | None = None,
        *,
        include_synonyms: bool = True,
        include_documentation: bool = False,
    ) -> dict[ConfigResource, list[DescribedConfig] | Failure]:
        """Return the configurations of each resource. `keys` are the names to return. Default: all names."""
        options: dict[str, Any] = {"include_synonyms": include_synonyms}
        if include_documentation:
            options["include_documentation"] = True

        def fields(asked: Sequence[ConfigResource]) -> dict[str, Any]:
            rows = [
                {
                    "resource_type": resource.type,
                    "resource_name": resource.name,
                    "configuration_keys": None if keys is None else list(keys),
                }
                for resource in asked
            ]
            return {"resources": rows, **options}

        described: dict[ConfigResource, list[DescribedConfig] | Failure] = {}
        wanted = list(dict.fromkeys(resources))
        by_node = self._by_node(wanted)
        requests = [(node, apis.DESCRIBE_CONFIGS, fields(asked)) for node, asked in by_node.items()]
        for asked, answer in zip(by_node.values(), self._request_each(requests), strict=True):
            if isinstance(answer, ClientError):
                described.update(dict.fromkeys(asked, answer))
                continue
            for result in answer.results:
                resource = ConfigResource(result.resource_type, result.resource_name)
                failure = failure_of(result.error_code, str(resource), result.error_message)
                described[resource] = failure or [_described(config) for config in result.configs]
        return {resource: described[resource] for resource in wanted}

    def alter_configs(
        self, changes: Mapping[ConfigResource, Iterable[ConfigOperation]], *, validate_only: bool = False
    ) -> dict[ConfigResource, Failure | None]:
        """Change configurations of each resource. All operations on a resource succeed, or none."""

        def row(resource: ConfigResource) -> dict[str, Any]:
            configs = [
                {"name": each.name, "config_operation": each.operation, "value": each.value}
                for each in changes[resource]
            ]
            return {"resource_type": resource.type, "resource_name": resource.name, "configs": configs}

        outcomes: dict[ConfigResource, Any] = {}
        by_node = self._by_node(changes)
        requests = [
            (
                node,
                apis.INCREMENTAL_ALTER_CONFIGS,
                {"resources": [row(resource) for resource in asked], "validate_only": validate_only},
            )
            for node, asked in by_node.items()
        ]
        for asked, answer in zip(by_node.values(), self._request_each(requests), strict=True):
            if isinstance(answer, ClientError):
                outcomes.update(dict.fromkeys(asked, answer))
                continue
            for result in answer.responses:
                resource = ConfigResource(result.resource_type, result.resource_name)
                outcomes[resource] = failure_of(result.error_code, str(resource), result.error_message)
        return {resource: outcomes[resource] for resource in changes}

    def _by_node(self, resources: Collection[ConfigResource]) -> dict[Node | None, list[ConfigResource]]:
        """Return the resources by the broker to send them to; None for any broker."""
        by_node: dict[Node | None, list[ConfigResource]] = {}
        nodes: dict[int, Node] | None = None
        for resource in resources:
            if not _is_of_one_broker(resource):
                by_node.setdefault(None, []).append(resource)
                continue
            if nodes is None:
                nodes = self._describe_cluster(()).nodes
            # For an unknown broker, any broker returns the error.
            by_node.setdefault(nodes.get(int(resource.name)), []).append(resource)
        return by_node

    def _request_each(
        self, requests: Sequence[tuple[Node | None, Any, Mapping[str, Any]]]
    ) -> list[Message | ClientError]:
        """Send each request and return its response or error. If there is only one request, its error is raised."""
        answers: list[Message | ClientError] = []
        for node, api, fields in requests:
            try:
                answers.append(self._request(api, fields, node))
            except ClientError as error:
                if len(requests) == 1:
                    raise
                answers.append(error)
        return answers


def _is_of_one_broker(resource: ConfigResource) -> bool:
    return resource.type in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE) and resource.name.isdecimal()


def _described(config: Message) -> DescribedConfig:
    synonyms = [Synonym(each.name, each.value, SOURCES.get(each.source, "UNKNOWN")) for each in config.synonyms]
    source = SOURCES.get(config.config_source, "UNKNOWN")
    return DescribedConfig(
        config.name,
        config.value,
        source,
        config.is_sensitive,
        config.read_only,
        synonyms,
        TYPE_NAMES.get(config.config_type, ""),
        config.documentation,
    )
