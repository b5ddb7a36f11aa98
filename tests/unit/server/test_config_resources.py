"""ListConfigResources: what has a configuration, by type."""

from __future__ import annotations

import pytest

from kcore.protocol import apis
from kcore.server.broker import Broker
from tests.raw_client import RawClient

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
UNSUPPORTED_VERSION = 35
SET, DELETE = 0, 1


@pytest.fixture
def configured(client: RawClient) -> RawClient:
    """A connection to a broker with one configured resource of each type."""
    alter(client, CLIENT_METRICS, "watched", "interval.ms", "1000")
    alter(client, GROUP, "tuned", "consumer.session.timeout.ms", "50000")
    names = {topic.name for topic in client.request(apis.METADATA, 1, {"topics": None}).topics}
    if "listed" not in names:
        client.create_topic("listed")
    return client


def alter(client: RawClient, resource_type: int, name: str, key: str, value: str | None) -> None:
    config = {"name": key, "value": value, "config_operation": DELETE if value is None else SET}
    resource = {"resource_type": resource_type, "resource_name": name, "configs": [config]}
    (result,) = client.request(apis.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource]}).responses
    assert result.error_code == 0, result


def listed(client: RawClient, *types: int) -> list[tuple[int, str]]:
    response = client.request(apis.LIST_CONFIG_RESOURCES, 1, {"resource_types": list(types)})
    assert response.error_code == 0
    return sorted((resource.resource_type, resource.resource_name) for resource in response.config_resources)


def test_each_type_alone(broker: Broker, configured: RawClient) -> None:
    own_id = str(broker.broker_id)
    assert listed(configured, TOPIC) == [(TOPIC, "listed")]
    assert listed(configured, BROKER) == [(BROKER, own_id)]
    assert listed(configured, BROKER_LOGGER) == [(BROKER_LOGGER, own_id)]
    assert listed(configured, CLIENT_METRICS) == [(CLIENT_METRICS, "watched")]
    assert listed(configured, GROUP) == [(GROUP, "tuned")]


def test_no_type_means_all_and_repeated_types_count_once(configured: RawClient) -> None:
    everything = sorted(
        resource
        for each in (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)
        for resource in listed(configured, each)
    )
    assert listed(configured) == everything
    assert listed(configured, GROUP, CLIENT_METRICS, GROUP) == [(CLIENT_METRICS, "watched"), (GROUP, "tuned")]


def test_version_0_lists_client_metrics_only(configured: RawClient) -> None:
    response = configured.request(apis.LIST_CONFIG_RESOURCES, 0, {})
    found = [(resource.resource_type, resource.resource_name) for resource in response.config_resources]
    assert (response.error_code, found) == (0, [(CLIENT_METRICS, "watched")])


@pytest.mark.parametrize("types", [[0], [1], [-128], [127], [TOPIC, 3]])
def test_a_type_without_configurations_is_not_supported(configured: RawClient, types: list[int]) -> None:
    response = configured.request(apis.LIST_CONFIG_RESOURCES, 1, {"resource_types": types})
    assert (response.error_code, response.config_resources) == (UNSUPPORTED_VERSION, [])


def test_a_resource_is_gone_with_its_last_configuration(configured: RawClient) -> None:
    alter(configured, CLIENT_METRICS, "watched", "interval.ms", None)
    alter(configured, GROUP, "tuned", "consumer.session.timeout.ms", None)
    assert listed(configured, CLIENT_METRICS, GROUP) == []
