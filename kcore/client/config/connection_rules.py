"""Rules over several configurations of all clients (CommonClientConfigs, ClientUtils)."""

from __future__ import annotations

from kcore.config.definition import ConfigException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.config.client_config import ClientConfig

MAX_PORT = 65_535
# (initial value, maximum). The initial value must not exceed the maximum.
GROWING = (
    ("retry.backoff.ms", "retry.backoff.max.ms"),
    ("socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.max.ms"),
)


def settle_connections(config: ClientConfig) -> None:
    """Check the connection settings. Raises ConfigException if TLS or SASL is configured or an address is invalid.

    Also computes the default of reconnect.backoff.max.ms, and lowers initial values that exceed their maximum.
    """
    if config["security.protocol"].upper() != "PLAINTEXT":
        raise ConfigException(
            f"security.protocol={config['security.protocol']}: TLS and SASL are not supported in this "
            "version. Use a PLAINTEXT listener"
        )
    if config.is_set("bootstrap.servers"):
        config.settle("bootstrap.servers", tuple(map(_server, config.texts("bootstrap.servers"))))
    if config.is_set("reconnect.backoff.ms") and not config.is_set("reconnect.backoff.max.ms"):
        config.settle("reconnect.backoff.max.ms", config["reconnect.backoff.ms"])
    for first, last in GROWING:
        if config.number(first) > config.number(last):
            config.warnings.append(f"{first}={config[first]} is larger than {last}. Using {config[last]}")
            config.settle(first, config[last])


def require_bootstrap_servers(config: ClientConfig) -> None:
    """Raise ConfigException with Kafka's message if there are no bootstrap servers."""
    if config.is_set("bootstrap.servers") and not config.texts("bootstrap.servers"):
        raise ConfigException("Configuration 'bootstrap.servers' must not be empty. Set it to HOST:PORT[,HOST:PORT...]")
    if not config.texts("bootstrap.servers"):
        raise ConfigException(
            'Missing required configuration "bootstrap.servers" which has no default value. Set it to '
            "HOST:PORT[,HOST:PORT...]"
        )


def _server(text: str) -> str:
    """Return one of bootstrap.servers as HOST:PORT. A protocol name before it, as in listeners, is ignored."""
    server = text.rpartition("://")[2]
    host, colon, port = server.rpartition(":")
    if not (colon and host and port.isascii() and port.isdigit()) or (":" in host and not _is_bracketed(host)):
        raise ConfigException(
            f"Invalid url in bootstrap.servers: {text}. Write a server as HOST:PORT, with brackets around an "
            "IPv6 address"
        )
    if len(port) > len(str(MAX_PORT)) or int(port) > MAX_PORT:
        raise ConfigException(f"Invalid port in bootstrap.servers: {text}. A port is at most {MAX_PORT}")
    return server


def _is_bracketed(host: str) -> bool:
    return host.startswith("[") and host.endswith("]")
