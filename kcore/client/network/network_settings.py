"""Creates a NetworkClient from a client's configuration."""

from __future__ import annotations

from kcore.client.config.connection_settings import connection_settings
from kcore.client.network.addresses import bootstrap_addresses
from kcore.client.network.network_client import NetworkClient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.config.client_config import ClientConfig
    from kcore.transport.byte_stream import StreamFactory


def network_of(config: ClientConfig, streams: StreamFactory | None = None) -> NetworkClient:
    """Return a NetworkClient with the settings of a producer, consumer or admin client."""
    servers = bootstrap_addresses(config.texts("bootstrap.servers"), config["client.dns.lookup"])
    return NetworkClient(servers, client_id=config["client.id"], streams=streams, **connection_settings(config))
