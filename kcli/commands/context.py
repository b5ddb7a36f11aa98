"""`kcli context`: named clusters, which any command that talks to a cluster takes with --context.

A password is never an argument, because every user of a machine can read arguments. It is read from the terminal and
stored, or read from a file or an environment variable at each use.
"""

from __future__ import annotations

import click

from kcli.command import Group
from kcli.completion import complete_contexts
from kcli.contexts import SECRET_FILE, SECRET_VALUE, SECRET_VARIABLE, Context, Contexts, is_secret
from kcli.failures import UsageFailure
from kcli.output import TABLE, output_option, write_object, write_rows
from kcli.properties import parse_properties, read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcli.output import Row


@click.group(
    "context",
    cls=Group,
    examples="""
    # Define a context and make it the current one
    kcli context set staging --bootstrap-server kafka:9092 --use
    # List the contexts
    kcli context list
    """,
)
def command() -> None:
    """Manage contexts, which are named clusters.

    Precedence: --bootstrap-server and --context, KCLI_BOOTSTRAP_SERVER and KCLI_CONTEXT, the current context,
    127.0.0.1:9092. The properties of a context apply only with its own servers, unless the context is named at the same
    level as the servers.
    """


@command.command(
    "list",
    examples="""
    # List the contexts
    kcli context list
    # List the contexts with their properties as JSON
    kcli context list -o json
    """,
)
@output_option
def list_contexts(output: str) -> None:
    """List the contexts. A star marks the current one."""
    contexts = Contexts.load()
    rows = [_row(context, contexts.current) for context in _sorted(contexts)]
    write_rows(rows, output, _print_list)


def _sorted(contexts: Contexts) -> list[Context]:
    return [contexts.named[name] for name in sorted(contexts.named)]


def _row(context: Context, current: str | None) -> Row:
    return {
        "context": context.name,
        "current": context.name == current,
        "bootstrap_servers": context.bootstrap_servers,
        "properties": context.shown(),
    }


def _print_list(rows: Iterable[Row]) -> None:
    listed = list(rows)
    width = max((len(row["context"]) for row in listed), default=0)
    for row in listed:
        star = "*" if row["current"] else " "
        click.echo(f"{star} {row['context']:{width}}  {row['bootstrap_servers'] or ''}".rstrip())


@command.command(
    "use",
    examples="""
    # Let commands talk to the cluster staging
    kcli context use staging
    # Do so and list its topics
    kcli context use staging && kcli topics list
    """,
)
@click.argument("name", metavar="CONTEXT", shell_complete=complete_contexts)
def use(name: str) -> None:
    """Make a context the current one."""
    contexts = Contexts.load()
    contexts.current = contexts.named_or_failure(name).name
    contexts.save()
    click.echo(f"Current context: {name}.")


@command.command(
    "show",
    examples="""
    # Show the current context
    kcli context show
    # Show another context as JSON
    kcli context show staging -o json
    """,
)
@click.argument("name", metavar="[CONTEXT]", required=False, shell_complete=complete_contexts)
@output_option
def show(name: str | None, output: str) -> None:
    """Show a context, by default the current one. Secrets are masked."""
    contexts = Contexts.load()
    chosen = name or contexts.current
    if chosen is None:
        raise UsageFailure("no context is given and none is current. Choose one with: kcli context use CONTEXT")
    context = contexts.named_or_failure(chosen)
    if output != TABLE:
        write_object(_row(context, contexts.current))
        return
    click.echo(f"Context {context.name}{' (current)' if context.name == contexts.current else ''}")
    for key, value in {"bootstrap.servers": context.bootstrap_servers or "", **context.shown()}.items():
        click.echo(f"  {key}={value}")


@command.command(
    "set",
    examples="""
    # Define a context and make it the current one
    kcli context set staging --bootstrap-server kafka:9092 --use
    # Define a context with client properties
    kcli context set prod --bootstrap-server kafka:9092 --property security.protocol=PLAINTEXT
    # Read a property from an environment variable at each use, and remove another property
    kcli context set prod --secret-env client.rack=RACK --unset client.id
    """,
)
@click.argument("name", metavar="CONTEXT", shell_complete=complete_contexts)
@click.option("--bootstrap-server", metavar="HOST:PORT[,...]", help="Bootstrap servers of the cluster.")
@click.option("--property", "properties", multiple=True, metavar="NAME=VALUE", help="Client property. May be repeated.")
@click.option("--config", metavar="FILE", help="Properties file of clients, whose properties are stored.")
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    metavar="NAME",
    help="Property to read from the terminal. May be repeated.",
)
@click.option(
    "--secret-file",
    "files",
    multiple=True,
    metavar="NAME=FILE",
    help="Property that is read from a file at each use. May be repeated.",
)
@click.option(
    "--secret-env",
    "variables",
    multiple=True,
    metavar="NAME=VARIABLE",
    help="Property that is read from an environment variable at each use. May be repeated.",
)
@click.option("--unset", multiple=True, metavar="NAME", help="Property to remove. May be repeated.")
@click.option("--use", "is_used", is_flag=True, help="Make this context the current one.")
def set_context(
    name: str,
    bootstrap_server: str | None,
    properties: tuple[str, ...],
    config: str | None,
    secrets: tuple[str, ...],
    files: tuple[str, ...],
    variables: tuple[str, ...],
    unset: tuple[str, ...],
    is_used: bool,
) -> None:
    """Create or change a context. Properties that are not named stay unchanged.

    Passwords cannot be passed on the command line, where other users can see them. Use --secret to
    read a password from the terminal and store it, or --secret-file or --secret-env to read it at each use.

    The clients of this version do not support TLS and SASL, and refuse a context that needs them.
    """
    if not name.strip() or not name.isprintable():
        raise UsageFailure(f"invalid context name {name!r}: use printable characters, not only blanks")
    stated = parse_properties(properties, "--property")
    for secret in filter(is_secret, stated):
        raise UsageFailure(
            f"--property {secret}: passwords cannot be passed on the command line, where other users can see them. "
            f"Use --secret {secret}, --secret-file or --secret-env"
        )
    contexts = Contexts.load()
    context = contexts.named.setdefault(name, Context(name))
    for key in unset:
        if context.properties.pop(key, None) is None and context.secrets.pop(key, None) is None:
            raise UsageFailure(
                f"--unset {key}: context {name} has no such property. Show them with: kcli context show {name}"
            )
    _take_properties(context, bootstrap_server, {**read_properties(config), **stated})
    for key, place in parse_properties(files, "--secret-file").items():
        context.secrets[key] = {SECRET_FILE: click.format_filename(_absolute(place))}
    for key, place in parse_properties(variables, "--secret-env").items():
        context.secrets[key] = {SECRET_VARIABLE: place}
    for key in secrets:
        context.secrets[key] = {SECRET_VALUE: click.prompt(key, hide_input=True, err=True)}
    for key in context.secrets:
        context.properties.pop(key, None)
    if is_used:
        contexts.current = name
    contexts.save()
    click.echo(f"Set context {name}.")


def _take_properties(context: Context, bootstrap_server: str | None, properties: dict[str, str]) -> None:
    """Stores properties: bootstrap.servers as the servers, passwords as secrets."""
    servers = bootstrap_server or properties.pop("bootstrap.servers", None)
    properties.pop("bootstrap.servers", None)
    if servers is not None:
        from kcore.client.network.addresses import parse_servers

        parse_servers(servers)
        context.bootstrap_servers = servers
    for key, value in properties.items():
        context.secrets.pop(key, None)
        if is_secret(key):
            context.secrets[key] = {SECRET_VALUE: value}
        else:
            context.properties[key] = value


def _absolute(place: str) -> str:
    import os

    return os.path.abspath(os.path.expanduser(place))


@command.command(
    "remove",
    examples="""
    # Remove a context
    kcli context remove staging
    # Remove a context and list the others
    kcli context remove staging && kcli context list
    """,
)
@click.argument("name", metavar="CONTEXT", shell_complete=complete_contexts)
def remove(name: str) -> None:
    """Remove a context with its secrets."""
    contexts = Contexts.load()
    del contexts.named[contexts.named_or_failure(name).name]
    if contexts.current == name:
        contexts.current = None
    contexts.save()
    click.echo(f"Removed context {name}.")
