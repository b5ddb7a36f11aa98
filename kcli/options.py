"""Options that several commands share, under Kafka's names, and the client properties that result from them."""

from __future__ import annotations

import click
from click.core import ParameterSource

from kcli.completion import complete_contexts
from kcli.properties import complain_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from click.decorators import FC

    from kcli.contexts import Context
    from kcore.client.cluster_client import ClusterClient

CONTEXT_PARAMETER = "context_name"
DEFAULT_BOOTSTRAP_SERVER = "127.0.0.1:9092"


CHOSEN_CONTEXT = "kcli.context"
# Precedence of sources: a higher rank wins.
RANKS = {ParameterSource.COMMANDLINE: 2, ParameterSource.ENVIRONMENT: 1}


class ServerOption(click.Option):
    """Bootstrap servers. Precedence: option, environment variable, context, default."""

    def consume_value(self, context: click.Context, stated: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        value, source = super().consume_value(context, stated)
        chosen = choose_context(context, source)
        context.meta[CHOSEN_CONTEXT] = chosen
        # A context is a default: properties of a file on the command line take precedence.
        if chosen is not None and chosen.bootstrap_servers is not None:
            if RANKS.get(source, 0) < _rank_of_name(context):
                return chosen.bootstrap_servers, ParameterSource.DEFAULT
            if source is ParameterSource.DEFAULT:
                return chosen.bootstrap_servers, source
        return value, source


def _rank_of_name(context: click.Context) -> int:
    source = context.get_parameter_source(CONTEXT_PARAMETER)
    return RANKS.get(source, 0) if source is not None else 0


def choose_context(context: click.Context, server_source: ParameterSource) -> Context | None:
    """The context in effect: the named one, if it is named with the same rank as the servers or a higher one; the
    current one, if neither is given. So the passwords of a context are never sent to another cluster by accident."""
    from kcli.contexts import Contexts

    name = context.meta.get(CONTEXT_PARAMETER)
    if RANKS.get(server_source, 0) > _rank_of_name(context):
        return None
    contexts = Contexts.load()
    if name:
        return contexts.named_or_failure(name)
    return contexts.named.get(contexts.current) if contexts.current is not None else None


def context_properties() -> dict[str, str]:
    """The client properties of the command's context; empty outside of a command."""
    context = click.get_current_context(silent=True)
    chosen = None if context is None else context.meta.get(CHOSEN_CONTEXT)
    return {} if chosen is None else dict(chosen.all_properties())


def _note_name(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    context.meta[CONTEXT_PARAMETER] = value


_context_option = click.option(
    "--context",
    CONTEXT_PARAMETER,
    envvar="KCLI_CONTEXT",
    metavar="NAME",
    is_eager=True,
    expose_value=False,
    callback=_note_name,
    shell_complete=complete_contexts,
    help="Context to use; see `kcli context`. Default: the current context.",
)


def _bootstrap_server(*names: str) -> Callable[[FC], FC]:
    option = click.option(
        *names,
        "bootstrap_server",
        cls=ServerOption,
        envvar="KCLI_BOOTSTRAP_SERVER",
        default=DEFAULT_BOOTSTRAP_SERVER,
        show_default=True,
        metavar="HOST:PORT[,...]",
        help="Bootstrap servers.",
    )
    return lambda function: option(_context_option(function))


def other_cluster_options(help: str) -> Callable[[FC], FC]:
    """Options for another cluster than the one in a file. Without them, the file applies."""
    option = click.option("--bootstrap-server", metavar="HOST:PORT[,...]", help=help)
    return lambda function: option(_context_option(function))


def other_cluster(bootstrap_server: str | None) -> tuple[str | None, dict[str, str]]:
    """The bootstrap servers and client properties of `other_cluster_options`; None without these options.

    Only a context on the command line applies: KCLI_CONTEXT, set for other commands, must not redirect a pipeline.
    """
    context = click.get_current_context()
    if (
        bootstrap_server is not None
        or context.get_parameter_source(CONTEXT_PARAMETER) is not ParameterSource.COMMANDLINE
    ):
        return bootstrap_server, {}
    from kcli.contexts import Contexts

    chosen = Contexts.load().named_or_failure(context.meta[CONTEXT_PARAMETER])
    return chosen.bootstrap_servers or DEFAULT_BOOTSTRAP_SERVER, chosen.all_properties()


bootstrap_server_option = _bootstrap_server("--bootstrap-server", "--broker-list")
# For commands with another meaning of --broker-list.
bootstrap_server_alone_option = _bootstrap_server("--bootstrap-server")
command_config_option = click.option("--command-config", metavar="FILE", help="Properties file of the admin client.")
yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")


def connect(bootstrap_server: str, properties: dict[str, str] | None = None) -> ClusterClient:
    """A client for the cluster. `properties` come from a configuration file."""
    from kcore.client.cluster_client import ClusterClient

    properties = {**context_properties(), **(properties or {})}
    if not properties:
        return ClusterClient(bootstrap_server)
    from kcore.client.config.client_config import AdminConfig
    from kcore.client.network.addresses import parse_servers, written

    servers = [written(host, port) for host, port in parse_servers(bootstrap_server)]
    config = AdminConfig({"client.id": "kcli", **properties, "bootstrap.servers": servers})
    complain_of(config.warnings)
    return ClusterClient.configured(config)
