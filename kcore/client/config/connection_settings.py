"""The connection settings of a configuration, as arguments for `NetworkClient`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.client.config.client_config import ClientConfig

CONNECTION_KEYS = (
    "reconnect.backoff.ms",
    "reconnect.backoff.max.ms",
    "socket.connection.setup.timeout.ms",
    "socket.connection.setup.timeout.max.ms",
    "connections.max.idle.ms",
    "send.buffer.bytes",
    "receive.buffer.bytes",
)


def connection_settings(config: ClientConfig) -> dict[str, Any]:
    """Return the keyword arguments, which have the names of the configurations."""
    return {name.replace(".", "_"): config[name] for name in CONNECTION_KEYS}
