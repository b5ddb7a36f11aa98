"""`kcli quotas`: like kafka-configs with the entity types users, clients and ips (KIP-546, KIP-612)."""

from __future__ import annotations

import click

from kcli.command import Command, Group
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

# The entity types of kafka-configs, their names in the protocol, and how kafka-configs prints them.
PROTOCOL_TYPES = {"users": "user", "clients": "client-id", "ips": "ip"}
SHOWN_TYPES = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
ALTERED_TYPES = {"user": "user", "client-id": "client", "ip": "ip"}
DEFAULT_NAME = "<default>"
MATCH_EXACT, MATCH_DEFAULT, MATCH_SPECIFIED = 0, 1, 2


class EntityCommand(Command):
    """Keeps the order of --entity-name and --entity-default, because the first one belongs to the first entity type."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        named = [f"--entity-name={DEFAULT_NAME}" if word == "--entity-default" else word for word in args]
        return super().parse_args(context, named)


def entity_options(function: Any) -> Any:
    """The options of kafka-configs that name an entity."""
    for option in (
        click.option(
            "--entity-type",
            "types",
            multiple=True,
            type=click.Choice(list(PROTOCOL_TYPES)),
            help="Entity type of the quotas; users and clients can be combined. May be repeated.",
        ),
        click.option(
            "--entity-name",
            "names",
            multiple=True,
            metavar="NAME",
            help="Entity name, in the order of the types.",
        ),
        click.option("--entity-default", "ignored", is_flag=True, help="Default quotas, instead of --entity-name."),
        click.option("--user", metavar="NAME", help="Short for --entity-type users --entity-name NAME."),
        click.option("--client", metavar="ID", help="Short for --entity-type clients --entity-name ID."),
        click.option("--ip", metavar="ADDRESS", help="Short for --entity-type ips --entity-name ADDRESS."),
        click.option("--user-defaults", is_flag=True, help="Short for --entity-type users --entity-default."),
        click.option("--client-defaults", is_flag=True, help="Short for --entity-type clients --entity-default."),
        click.option("--ip-defaults", is_flag=True, help="Short for --entity-type ips --entity-default."),
    )[::-1]:
        function = option(function)
    return function


@click.group(
    "quotas",
    cls=Group,
    examples="""
    # Show all quotas
    kcli quotas describe
    # Limit what a client id may write to 1 MiB per second
    kcli quotas alter --client app --add-config producer_byte_rate=1048576
    """,
)
def command() -> None:
    """Describe and alter the quotas of users, client ids and IP addresses."""


@command.command(
    "describe",
    cls=EntityCommand,
    examples="""
    # Show all quotas
    kcli quotas describe
    # Show the quotas of a client id as JSON
    kcli quotas describe --client app -o json
    """,
)
@entity_options
@bootstrap_server_option
@command_config_option
@output_option
def describe(bootstrap_server: str, command_config: str | None, output: str, **who: Any) -> None:
    """Describe quotas: all of them, those of an entity type, or those of one entity."""
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


@command.command(
    "alter",
    cls=EntityCommand,
    examples="""
    # Limit what a client id may write to 1 MiB per second
    kcli quotas alter --client app --add-config producer_byte_rate=1048576
    # Remove the fetch quota of client id app
    kcli quotas alter --client app --delete-config consumer_byte_rate
    # Limit new connections from any IP address to 10 per second
    kcli quotas alter --ip-defaults --add-config connection_creation_rate=10
    """,
)
@entity_options
@click.option("--add-config", metavar="NAME=VALUE,...", shell_complete=complete_quotas, help="Quotas to set.")
@click.option("--delete-config", metavar="NAME,...", shell_complete=complete_quotas, help="Quotas to remove.")
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

    Users and client ids: producer_byte_rate and consumer_byte_rate (bytes per second), request_percentage (percent of
    one thread), controller_mutation_rate (partitions per second). IP addresses: connection_creation_rate (connections
    per second).

    This version has no authentication: the user of every connection is ANONYMOUS. Set quotas by client id instead.
    """
    from kcore.client.admin.client_quotas import ClientQuotaAdmin, QuotaChange

    named = entity(**who)
    if not named:
        raise UsageFailure("no entity given: pass --user, --client, --ip, or their defaults, as in --client-defaults")
    for kind, name in named.items():
        if name == "":
            [entity_type] = [each for each, protocol_type in PROTOCOL_TYPES.items() if protocol_type == kind]
            raise UsageFailure(f"--entity-type {entity_type} has no name: pass --entity-name or --entity-default")
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
    """Names by protocol type: None for the default, empty if no name is given."""
    if len(names) > len(types):
        raise UsageFailure("more names than types: pass one --entity-type for each --entity-name and --entity-default")
    stated = list(zip(types, [*names, *[""] * (len(types) - len(names))], strict=True))
    stated += [(kind, name) for kind, name in (("users", user), ("clients", client), ("ips", ip)) if name is not None]
    defaults = (("users", user_defaults), ("clients", client_defaults), ("ips", ip_defaults))
    stated += [(kind, DEFAULT_NAME) for kind, chosen in defaults if chosen]
    found: dict[str, str | None] = {}
    for kind, name in stated:
        if PROTOCOL_TYPES[kind] in found:
            raise UsageFailure(f"entity type {kind}: given twice; remove one")
        found[PROTOCOL_TYPES[kind]] = None if name == DEFAULT_NAME else name
    if "ip" in found and len(found) > 1:
        raise UsageFailure("entity type ips cannot be combined with others: remove the others")
    return found


def changes(add_config: str | None, delete_config: str | None) -> dict[str, float | None]:
    """Quotas to set, and None for quotas to remove. Raises UsageFailure for invalid pairs."""
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
            raise UsageFailure(f"--add-config: expected NAME=NUMBER, as in producer_byte_rate=1048576, got {pair!r}")
    for key in (delete_config or "").split(","):
        if key.strip() in quotas:
            raise UsageFailure(f"{key.strip()} is in both --add-config and --delete-config: remove one")
        if key.strip():
            quotas[key.strip()] = None
    if not quotas:
        raise UsageFailure("nothing to change: pass --add-config or --delete-config")
    return quotas


def shown_name(name: str | None) -> str | None:
    """The name in the output: `<default>` for the default entity, None for other entity types."""
    return DEFAULT_NAME if name is None else name or None


def _print_quotas(rows: Iterable[Row]) -> None:
    for row in rows:
        quotas = ", ".join(f"{key}={value}" for key, value in row["quotas"].items())
        click.echo(f"Quota configs for {_shown(row)} are {quotas}")


def _print_altered(rows: Iterable[Row]) -> None:
    for row in rows:
        click.echo(f"Completed updating config for {_shown(row)}.")


def _print_altered_as_kafka(rows: Iterable[Row]) -> None:
    """kafka-configs prints the first entity only."""
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
    """The entity in the notation of kafka-configs."""
    parts = []
    for kind, shown in SHOWN_TYPES.items():
        name = row[kind.replace("-", "_")]
        if name is not None:
            parts.append(f"the default {shown}" if name == DEFAULT_NAME else f"{shown} '{name}'")
    return ", ".join(parts)
