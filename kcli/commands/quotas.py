"""`kcli quotas`: what kafka-configs does with the entity types users, clients and ips (KIP-546, KIP-612)."""

from __future__ import annotations

import click

from kcli.completion import complete_quotas
from kcli.failures import UsageFailure, raise_failures
from kcli.options import bootstrap_server_option, command_config_option, connect
from kcli.output import output_option, write_rows
from kcli.properties import read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from kcli.output import Row

# The entity types of kafka-configs, as the protocol names them and as kafka-configs shows them.
PROTOCOL_TYPES = {"users": "user", "clients": "client-id", "ips": "ip"}
SHOWN_TYPES = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
ALTERED_TYPES = {"user": "user", "client-id": "client", "ip": "ip"}
DEFAULT_NAME = "<default>"
MATCH_EXACT, MATCH_DEFAULT, MATCH_SPECIFIED = 0, 1, 2


class EntityCommand(click.Command):
    """Keeps the order of --entity-name and --entity-default, which belong to the entity types one by one."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        named = [f"--entity-name={DEFAULT_NAME}" if word == "--entity-default" else word for word in args]
        return super().parse_args(context, named)


def entity_options(function: Any) -> Any:
    """Who is meant, as kafka-configs has it said."""
    for option in (
        click.option(
            "--entity-type",
            "types",
            multiple=True,
            type=click.Choice(list(PROTOCOL_TYPES)),
            help="Whom the quotas are for; users and clients may be given together.",
        ),
        click.option("--entity-name", "names", multiple=True, metavar="NAME", help="For each type in turn."),
        click.option("--entity-default", "ignored", is_flag=True, help="Instead of a name: everyone without one."),
        click.option("--user", metavar="NAME", help="Short for --entity-type users --entity-name NAME."),
        click.option("--client", metavar="NAME", help="Likewise for a client id."),
        click.option("--ip", metavar="ADDRESS", help="Likewise for an address."),
        click.option("--user-defaults", is_flag=True, help="Short for --entity-type users --entity-default."),
        click.option("--client-defaults", is_flag=True, help="Likewise for client ids."),
        click.option("--ip-defaults", is_flag=True, help="Likewise for addresses."),
    )[::-1]:
        function = option(function)
    return function


@click.group("quotas")
def command() -> None:
    """Describe and alter the quotas of users, client ids and addresses."""


@command.command("describe", cls=EntityCommand)
@entity_options
@bootstrap_server_option
@command_config_option
@output_option
def describe(bootstrap_server: str, command_config: str | None, output: str, **who: Any) -> None:
    """Print quotas: all of them, or those of one kind of entity, or of one entity."""
    from kcore.client.admin.client_quotas import ClientQuotaAdmin

    components = [
        (kind, MATCH_SPECIFIED if name == "" else MATCH_DEFAULT if name is None else MATCH_EXACT, name or None)
        for kind, name in entity(**who).items()
    ]
    with connect(bootstrap_server, read_properties(command_config)) as client:
        found = ClientQuotaAdmin(client).describe_client_quotas(components, strict=bool(components))
    rows = [
        {
            **{kind.replace("-", "_"): shown_name(one.entity.get(kind, "")) for kind in SHOWN_TYPES},
            "quotas": dict(sorted(one.quotas.items())),
        }
        for one in found
    ]
    rows.sort(key=lambda row: [str(row[kind.replace("-", "_")]) for kind in SHOWN_TYPES])
    write_rows(rows, output, _print_quotas)


@command.command("alter", cls=EntityCommand)
@entity_options
@click.option("--add-config", metavar="KEY=VALUE[,...]", shell_complete=complete_quotas, help="Quotas to set.")
@click.option("--delete-config", metavar="KEY[,...]", shell_complete=complete_quotas, help="Quotas to remove.")
@bootstrap_server_option
@command_config_option
@output_option
def alter(
    add_config: str | None,
    delete_config: str | None,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
    **who: Any,
) -> None:
    """Set and remove quotas of one entity.

    Of users and client ids: producer_byte_rate and consumer_byte_rate (bytes a second), request_percentage (of one
    thread), controller_mutation_rate (partitions a second). Of addresses: connection_creation_rate.
    """
    from kcore.client.admin.client_quotas import ClientQuotaAdmin, QuotaChange

    named = entity(**who)
    if not named or "" in named.values():
        raise UsageFailure("--entity-name or --entity-default must be given for each --entity-type")
    quotas = changes(add_config, delete_config)
    with connect(bootstrap_server, read_properties(command_config)) as client:
        [error] = ClientQuotaAdmin(client).alter_client_quotas([QuotaChange(named, quotas)])
    row: Row = {kind.replace("-", "_"): shown_name(named.get(kind, "")) for kind in SHOWN_TYPES}
    write_rows([{**row, "quotas": quotas}] if error is None else [], output, _print_altered, _print_altered_as_kafka)
    raise_failures([error] if error is not None else [])


def entity(
    types: tuple[str, ...],
    names: tuple[str, ...],
    user: str | None,
    client: str | None,
    ip: str | None,
    user_defaults: bool,
    client_defaults: bool,
    ip_defaults: bool,
    ignored: bool,
) -> dict[str, str | None]:
    """Names by the protocol's types: None for the default, empty where none was given."""
    if len(names) > len(types):
        raise UsageFailure("--entity-name or --entity-default: there are more of them than of --entity-type")
    stated = list(zip(types, [*names, *[""] * (len(types) - len(names))], strict=True))
    stated += [(kind, name) for kind, name in (("users", user), ("clients", client), ("ips", ip)) if name is not None]
    defaults = (("users", user_defaults), ("clients", client_defaults), ("ips", ip_defaults))
    stated += [(kind, DEFAULT_NAME) for kind, chosen in defaults if chosen]
    found: dict[str, str | None] = {}
    for kind, name in stated:
        if PROTOCOL_TYPES[kind] in found:
            raise UsageFailure(f"the entity type {kind} is given twice")
        found[PROTOCOL_TYPES[kind]] = None if name == DEFAULT_NAME else name
    if "ip" in found and len(found) > 1:
        raise UsageFailure("the entity type ips cannot be combined with others")
    return found


def changes(add_config: str | None, delete_config: str | None) -> dict[str, float | None]:
    """What is set, and None for what is removed; UsageFailure for what is neither."""
    quotas: dict[str, float | None] = {}
    for pair in (add_config or "").split(","):
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not pair.strip():
            continue
        try:
            quotas[key] = float(value)
        except ValueError:
            equals = ""
        if not equals or not key:
            raise UsageFailure(f"--add-config {pair!r}: must be written KEY=NUMBER, as in producer_byte_rate=1048576")
    for key in (delete_config or "").split(","):
        if key.strip() in quotas:
            raise UsageFailure(f"{key.strip()} is to be set and removed at once")
        if key.strip():
            quotas[key.strip()] = None
    if not quotas:
        raise UsageFailure("one of --add-config and --delete-config must say what to change")
    return quotas


def shown_name(name: str | None) -> str | None:
    """The name in an answer: `<default>` for everyone without a quota of their own, None for a type not meant."""
    return DEFAULT_NAME if name is None else name or None


def _print_quotas(rows: Iterable[Row]) -> None:
    for row in rows:
        quotas = ", ".join(f"{key}={value}" for key, value in row["quotas"].items())
        click.echo(f"Quota configs for {_shown(row)} are {quotas}")


def _print_altered(rows: Iterable[Row]) -> None:
    for row in rows:
        click.echo(f"Completed updating config for {_shown(row)}.")


def _print_altered_as_kafka(rows: Iterable[Row]) -> None:
    """kafka-configs names the first entity only."""
    for row in rows:
        for kind, shown in ALTERED_TYPES.items():
            name = row[kind.replace("-", "_")]
            if name is not None:
                whom = (
                    f"default config for {shown}s in the cluster"
                    if name == DEFAULT_NAME
                    else f"config for {shown} {name}"
                )
                click.echo(f"Completed updating {whom}.")
                break


def _shown(row: Row) -> str:
    """As kafka-configs names an entity."""
    parts = []
    for kind, shown in SHOWN_TYPES.items():
        name = row[kind.replace("-", "_")]
        if name is not None:
            parts.append(f"the default {shown}" if name == DEFAULT_NAME else f"{shown} '{name}'")
    return ", ".join(parts)
