"""Entities whose configuration a command describes or changes, in the notation of kafka-configs."""

from __future__ import annotations

import re

import click

from kcli.completion import complete_brokers, complete_entities, complete_groups, complete_topics
from kcli.failures import UsageFailure
from kcli.properties import read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NamedTuple

    class Entity(NamedTuple):
        """`name` is None for all entities of a type, and empty for the defaults of all brokers."""

        entity_type: str
        name: str | None
else:
    from collections import namedtuple

    Entity = namedtuple("Entity", ("entity_type", "name"))

TOPICS, BROKERS, BROKER_LOGGERS, CLIENT_METRICS = "topics", "brokers", "broker-loggers", "client-metrics"
GROUPS = "groups"
ENTITY_TYPES = (TOPICS, BROKERS, BROKER_LOGGERS, CLIENT_METRICS, GROUPS)
# kafka-configs handles these too: `kcli configs` hands them to `kcli quotas`.
QUOTA_ENTITY_TYPES = ("users", "clients", "ips")
QUOTA_OPTIONS = ("--user", "--client", "--ip", "--user-defaults", "--client-defaults", "--ip-defaults")
# A comma or an equals sign outside square brackets.
_OUTSIDE_BRACKETS = r"(?=[^\]]*(?:\[|$))"


def entity_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that name an entity, in long and short form."""
    for option in reversed(
        (
            click.option(
                "--entity-type",
                type=click.Choice(ENTITY_TYPES),
                help="Type of the entity. users, clients and ips name quotas, as in `kcli quotas`.",
            ),
            click.option(
                "--entity-name",
                metavar="NAME",
                shell_complete=complete_entities,
                help="Name of the entity: a topic name, a broker id, a client metrics subscription or a group id.",
            ),
            click.option("--entity-default", is_flag=True, help="The defaults of all brokers."),
            click.option(
                "--topic",
                metavar="TOPIC",
                shell_complete=complete_topics,
                help="Short for --entity-type topics --entity-name TOPIC.",
            ),
            click.option(
                "--broker",
                metavar="ID",
                shell_complete=complete_brokers,
                help="Short for --entity-type brokers --entity-name ID.",
            ),
            click.option("--broker-defaults", is_flag=True, help="Short for --entity-type brokers --entity-default."),
            click.option(
                "--broker-logger", metavar="ID", help="Short for --entity-type broker-loggers --entity-name ID."
            ),
            click.option(
                "--client-metrics", metavar="NAME", help="Short for --entity-type client-metrics --entity-name NAME."
            ),
            click.option(
                "--group",
                metavar="GROUP",
                shell_complete=complete_groups,
                help="Short for --entity-type groups --entity-name GROUP.",
            ),
        )
    ):
        function = option(function)
    return function


def chosen_entity(
    *,
    entity_type: str | None,
    entity_name: str | None,
    entity_default: bool,
    topic: str | None,
    broker: str | None,
    broker_defaults: bool,
    broker_logger: str | None,
    client_metrics: str | None,
    group: str | None,
) -> Entity:
    """The one entity that the options name."""
    named = [
        Entity(kind, name)
        for kind, name in (
            (TOPICS, topic),
            (BROKERS, broker),
            (BROKERS, "" if broker_defaults else None),
            (BROKER_LOGGERS, broker_logger),
            (CLIENT_METRICS, client_metrics),
            (GROUPS, group),
        )
        if name is not None
    ]
    if entity_type is not None:
        if entity_default and entity_name is not None:
            raise UsageFailure("--entity-default and --entity-name cannot be combined: remove one")
        named.append(Entity(entity_type, "" if entity_default else entity_name))
    elif entity_name is not None or entity_default:
        raise UsageFailure("--entity-name and --entity-default need --entity-type")
    if len(named) > 1:
        given = [
            option
            for option, is_given in (
                ("--topic", topic is not None),
                ("--broker", broker is not None),
                ("--broker-defaults", broker_defaults),
                ("--broker-logger", broker_logger is not None),
                ("--client-metrics", client_metrics is not None),
                ("--group", group is not None),
                ("--entity-type", entity_type is not None),
            )
            if is_given
        ]
        raise UsageFailure(f"{', '.join(given[:-1])} and {given[-1]} cannot be combined: pass one of them")
    if not named:
        raise UsageFailure("name one entity: --topic TOPIC, --broker ID, --broker-defaults or --entity-type TYPE")
    (entity,) = named
    if entity.name == "" and entity.entity_type != BROKERS:
        raise UsageFailure(f"--entity-type {entity.entity_type} has no defaults: pass --entity-name")
    if entity.entity_type in (BROKERS, BROKER_LOGGERS) and entity.name and not _is_id(entity.name):
        raise UsageFailure(f"invalid broker id {entity.name!r}: must be a number, as in --broker 1")
    return entity


def means_quotas(arguments: list[str]) -> bool:
    """Whether a command line names users, clients or ips, whose quotas kafka-configs sets too."""
    before = ""
    for argument in arguments:
        option, _, value = argument.partition("=")
        if option in QUOTA_OPTIONS:
            return True
        if (
            value if option == "--entity-type" else argument if before == "--entity-type" else ""
        ) in QUOTA_ENTITY_TYPES:
            return True
        before = argument
    return False


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit()


def added_configs(add_config: str | None, add_config_file: str | None) -> dict[str, str]:
    """`name=value,name=[a,b],...`, or the properties of a file."""
    if add_config is not None and add_config_file is not None:
        raise UsageFailure("--add-config and --add-config-file cannot be combined: remove one")
    if add_config is None:
        return read_properties(add_config_file)
    configs = {}
    for item in re.split(f",{_OUTSIDE_BRACKETS}", add_config):
        name, *values = re.split(rf"\s*=\s*{_OUTSIDE_BRACKETS}", item)
        if len(values) != 1 or not name.strip():
            raise UsageFailure(f"--add-config: expected NAME=VALUE or NAME=[VALUE,VALUE], got {item!r}")
        configs[name.strip()] = re.sub(r"[\[\]]", "", values[0]).strip()
    return configs


def deleted_configs(delete_config: str | None) -> list[str]:
    """`name,name,...`"""
    return [name.strip() for name in (delete_config or "").split(",") if name.strip()]
