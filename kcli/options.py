"""Options that several commands share, under Kafka's names, and the properties that they add up to."""

from __future__ import annotations

import click

from kcli.failures import UsageFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from kcore.client.network_client import NetworkClient

CLIENT_PROPERTIES = {
    "request.timeout.ms": "request_timeout_ms",
    "socket.connection.setup.timeout.ms": "connect_timeout_ms",
}
DEFAULT_BOOTSTRAP_SERVER = "127.0.0.1:9092"

bootstrap_server_option = click.option(
    "--bootstrap-server",
    "--broker-list",
    "bootstrap_server",
    envvar="KCLI_BOOTSTRAP_SERVER",
    default=DEFAULT_BOOTSTRAP_SERVER,
    show_default=True,
    metavar="HOST:PORT[,...]",
    help="The brokers to ask first for the others.",
)
yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


def connect(bootstrap_server: str, properties: dict[str, str] | None = None) -> NetworkClient:
    """A client for the cluster; `properties` are those of a configuration file."""
    from kcore.client.network_client import NetworkClient

    options: dict[str, Any] = {}
    for name, option in CLIENT_PROPERTIES.items():
        if properties and name in properties:
            options[option] = number_of(properties, name)
    return NetworkClient(bootstrap_server, **options)


def parse_properties(pairs: Iterable[str], option: str) -> dict[str, str]:
    """`name=value` pairs, as they stand on a command line; a later one replaces an earlier one."""
    properties = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageFailure(f"{option} {pair!r}: must be written NAME=VALUE")
        properties[name.strip()] = value
    return properties


def read_properties(path: str | None) -> dict[str, str]:
    """The properties of a file, or none without one."""
    if path is None:
        return {}
    from kcore.config.properties import load_properties

    return load_properties(path)


def number_of(properties: dict[str, str], name: str) -> int:
    """A property that has to be a whole number."""
    try:
        return int(properties[name])
    except ValueError:
        raise UsageFailure(f"{name}={properties[name]}: must be a whole number") from None


def flag_of(properties: dict[str, str], name: str, default: bool) -> bool:
    """A property that is true or false."""
    text = properties.get(name, str(default)).strip().lower()
    if text not in ("true", "false"):
        raise UsageFailure(f"{name}={properties[name]}: must be true or false")
    return text == "true"
