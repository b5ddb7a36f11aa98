"""Subscriptions to the metrics of clients, by name: ListClientMetricsResources (KIP-714).

What a subscription says is its configuration: `configs.py`, with CLIENT_METRICS_RESOURCE.
"""

from __future__ import annotations

from kcore.client.admin.admin_calls import AdminCalls
from kcore.client.admin.results import raise_failure
from kcore.protocol import apis


class ClientMetricsAdmin(AdminCalls):
    __slots__ = ()

    def list_client_metrics_resources(self) -> list[str]:
        """The names of all subscriptions, sorted."""
        response = self._request(apis.LIST_CLIENT_METRICS_RESOURCES, {})
        raise_failure(response.error_code, "client metrics subscriptions")
        return sorted(resource.name for resource in response.client_metrics_resources)
