"""Options that several commands share, under Kafka's names, and the properties that they add up to."""

from __future__ import annotations

import click

from kcli.properties import number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from click.decorators import FC

    from kcore.client.network_client import NetworkClient

CLIENT_PROPERTIES = {
    "request.timeout.ms": "request_timeout_ms",
    "socket.connection.setup.timeout.ms": "connect_timeout_ms",
}
DEFAULT_BOOTSTRAP_SERVER = "127.0.0.1:9092"


def _bootstrap_server(*names: str) -> Callable[[FC], FC]:
    return click.option(
        *names,
        "bootstrap_server",
        envvar="KCLI_BOOTSTRAP_SERVER",
        default=DEFAULT_BOOTSTRAP_SERVER,
        show_default=True,
        metavar="HOST:PORT[,...]",
        help="The brokers to ask first for the others.",
    )


bootstrap_server_option = _bootstrap_server("--bootstrap-server", "--broker-list")
# For commands whose --broker-list is something else.
bootstrap_server_alone_option = _bootstrap_server("--bootstrap-server")
command_config_option = click.option("--command-config", metavar="FILE", help="Properties of the admin client.")
yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


def connect(bootstrap_server: str, properties: dict[str, str] | None = None) -> NetworkClient:
    """A client for the cluster; `properties` are those of a configuration file."""
    from kcore.client.network_client import NetworkClient

    options: dict[str, Any] = {}
    for name, option in CLIENT_PROPERTIES.items():
        if properties and name in properties:
            options[option] = number_of(properties, name)
    return NetworkClient(bootstrap_server, **options)
