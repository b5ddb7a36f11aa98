"""`kcli context`: clusters by name, which any command that talks to one takes with --context.

A password is never an argument, which every user of a machine can read: it is asked for, or read from a file or from
the environment, each time anew.
"""

from __future__ import annotations

import click

from kcli.completion import complete_contexts
from kcli.contexts import SECRET_FILE, SECRET_VALUE, SECRET_VARIABLE, Context, Contexts, is_secret
from kcli.failures import UsageFailure
from kcli.output import TABLE, output_option, write_object, write_rows
from kcli.properties import parse_properties, read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcli.output import Row


@click.group("context")
def command() -> None:
    """Name clusters, and say which one commands talk to.

    What a command talks to is, strongest first: --bootstrap-server or --context, $KCLI_BOOTSTRAP_SERVER or
    $KCLI_CONTEXT, the current context, 127.0.0.1:9092. A context's properties count with its own servers only, unless
    the context is named as strongly as the servers are.
    """


@command.command("list")
@output_option
def list_contexts(output: str) -> None:
    """List the contexts, with a star at the current one."""
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


@command.command("use")
@click.argument("name", metavar="CONTEXT", shell_complete=complete_contexts)
def use(name: str) -> None:
    """Make a context the current one."""
    contexts = Contexts.load()
    contexts.current = contexts.named_or_failure(name).name
    contexts.save()
    click.echo(f"Current context: {name}.")


@command.command("show")
@click.argument("name", metavar="[CONTEXT]", required=False, shell_complete=complete_contexts)
@output_option
def show(name: str | None, output: str) -> None:
    """Show a context, or the current one, without its secrets."""
    contexts = Contexts.load()
    chosen = name or contexts.current
    if chosen is None:
        raise UsageFailure("there is no current context; choose one with `kcli context use CONTEXT`")
    context = contexts.named_or_failure(chosen)
    if output != TABLE:
        write_object(_row(context, contexts.current))
        return
    click.echo(f"Context {context.name}{' (current)' if context.name == contexts.current else ''}")
    for key, value in {"bootstrap.servers": context.bootstrap_servers or "", **context.shown()}.items():
        click.echo(f"  {key}={value}")


@command.command("set")
@click.argument("name", metavar="CONTEXT", shell_complete=complete_contexts)
@click.option("--bootstrap-server", metavar="HOST:PORT[,...]", help="The brokers to ask first for the others.")
@click.option("--property", "properties", multiple=True, metavar="NAME=VALUE", help="A property of clients.")
@click.option("--config", metavar="FILE", help="A file of properties of clients.")
@click.option("--secret", "secrets", multiple=True, metavar="NAME", help="A property whose value is asked for.")
@click.option("--secret-file", "files", multiple=True, metavar="NAME=FILE", help="One that is read from a file.")
@click.option("--secret-env", "variables", multiple=True, metavar="NAME=VARIABLE", help="One of the environment.")
@click.option("--unset", multiple=True, metavar="NAME", help="A property that it is to have no more.")
@click.option("--use", "is_used", is_flag=True, help="Make it the current one.")
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
    """Make a context, or change what is said of it and leave the rest as it is.

    Passwords are asked for with --secret, or read each time from a file (--secret-file) or from the environment
    (--secret-env); --property does not take them, since everyone can see the arguments of a process.
    """
    if not name.strip() or not name.isprintable():
        raise UsageFailure(f"context {name!r}: a name has something to read in it")
    stated = parse_properties(properties, "--property")
    for secret in filter(is_secret, stated):
        raise UsageFailure(
            f"--property {secret}: everyone can see the arguments of a process; use --secret {secret}, "
            "--secret-file or --secret-env"
        )
    contexts = Contexts.load()
    context = contexts.named.setdefault(name, Context(name))
    for key in unset:
        if context.properties.pop(key, None) is None and context.secrets.pop(key, None) is None:
            raise UsageFailure(f"--unset {key}: context {name} has no such property")
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
    """Servers may stand among the properties; secrets that a file has go where secrets are kept."""
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


@command.command("remove")
@click.argument("name", metavar="CONTEXT", shell_complete=complete_contexts)
def remove(name: str) -> None:
    """Forget a context, with its secrets."""
    contexts = Contexts.load()
    del contexts.named[contexts.named_or_failure(name).name]
    if contexts.current == name:
        contexts.current = None
    contexts.save()
    click.echo(f"Removed context {name}.")
