"""ConnectionState: the state of a client's connection to one broker, for applications to report."""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.network.addresses import written
from kcore.client.network.failures import NONE, failure_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.network.network_client import NetworkClient


class ConnectionState(NamedTuple):
    """State of a broker or bootstrap server. `failure` is why the last connection or attempt ended."""

    server: str
    is_connected: bool
    # Consecutive failed attempts to connect; 0 after a success.
    failed_attempts: int
    failure: str | None


def connection_states(network: NetworkClient) -> list[ConnectionState]:
    """Return the state of every connection of a client. Any thread may call this."""
    return [_state(network, slot) for slot in range(network.node_count)]


def _state(network: NetworkClient, slot: int) -> ConnectionState:
    failure = network.failure(slot)
    return ConnectionState(
        written(*network.address(slot)),
        *network.readiness(slot),
        None if failure[0] == NONE else failure_text(failure),
    )
