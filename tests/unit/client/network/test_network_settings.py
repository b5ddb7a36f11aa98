"""A client's configuration is what its connections are made by."""

from __future__ import annotations

import pytest

from kcore.client.config.client_config import AdminConfig, ConsumerConfig, ProducerConfig
from kcore.client.errors import BrokerUnreachable
from kcore.client.metadata.cluster import Node
from kcore.client.network.network_settings import network_of
from kcore.client.network.requester import Requester
from kcore.protocol import apis
from tests.unit.client.network.raw_peer import RawPeer, serve
from tests.unit.client.peer import ScriptedPeer


@pytest.mark.parametrize("kind", [AdminConfig, ConsumerConfig, ProducerConfig])
def test_every_client_is_configured_by_kafkas_names(
    kind: type[AdminConfig | ConsumerConfig | ProducerConfig],
) -> None:
    with RawPeer(serve) as closed:
        pass
    with ScriptedPeer() as peer:
        config = kind({"bootstrap.servers": f"{closed.address},{peer.address}", "client.id": "configured"})
        asking = Requester(network_of(config), client_id=config["client.id"])
        # The first server refuses, the second answers; each is asked under its own name.
        with pytest.raises(BrokerUnreachable, match=f"^{closed.address}: "):
            asking.versions_of(Node(1, "127.0.0.1", closed.port))
        assert asking.request(apis.API_VERSIONS, {}).error_code == 0
        asking.close()
        assert peer.asked(apis.API_VERSIONS)


def test_an_idle_time_of_the_configuration_ends_connections() -> None:
    with RawPeer(serve, serve) as peer:
        config = AdminConfig({"bootstrap.servers": peer.address, "connections.max.idle.ms": "10"})
        asking = Requester(network_of(config))
        for name in ("first", "second"):
            response = asking.request(apis.METADATA, {"topics": [{"name": name}]})
            assert response.cluster_id == name
            while asking.network.failure(0)[0] == 0:
                asking.network.poll_for(1000.0)
        assert asking.network.counts()["connections"] == 2
        asking.close()
