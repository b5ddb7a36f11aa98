"""ConnectionState: what a client knows of its connection to one broker, for applications that report it."""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.network.addresses import written
from kcore.client.network.failures import NONE, failure_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.network.network_client import NetworkClient


class ConnectionState(NamedTuple):
    """A broker or bootstrap server. `failure` is why the last connection ended, or could not be made."""

    server: str
    is_connected: bool
    # Attempts to connect in a row that failed; 0 once one succeeds.
    failed_attempts: int
    failure: str | None


def connection_states(network: NetworkClient) -> list[ConnectionState]:
    """Every connection of a client, one for each of its purposes. Any thread may ask."""
    return [_state(network, slot) for slot in range(network.node_count)]


def _state(network: NetworkClient, slot: int) -> ConnectionState:
    failure = network.failure(slot)
    return ConnectionState(
        written(*network.address(slot)),
        *network.readiness(slot),
        None if failure[0] == NONE else failure_text(failure),
    )
