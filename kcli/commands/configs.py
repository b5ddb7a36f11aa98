"""`kcli configs`: like kafka-configs, for topics, brokers, broker loggers, client metrics and groups.

The table output is that of kafka-configs, because scripts read it.
"""

from __future__ import annotations

import click

from kcli.action_group import ActionGroup
from kcli.completion import complete_configs
from kcli.config_entities import (
    BROKER_LOGGERS,
    BROKERS,
    CLIENT_METRICS,
    GROUPS,
    TOPICS,
    Entity,
    added_configs,
    chosen_entity,
    deleted_configs,
    entity_options,
    means_quotas,
)
from kcli.config_suggestions import suggest_topic_configs, warn_of_unknown_broker_configs
from kcli.failures import Failure, UsageFailure, raise_failures
from kcli.options import bootstrap_server_option, command_config_option, connect
from kcli.output import KAFKA, output_option, write_rows
from kcli.properties import read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from kcli.output import Row
    from kcore.client.admin.configs import ConfigAdmin, DescribedConfig

RESOURCE_TYPES = {TOPICS: 2, BROKERS: 4, BROKER_LOGGERS: 8, CLIENT_METRICS: 16, GROUPS: 32}
# The source of a configuration that is set on the entity itself, not inherited.
OWN_SOURCES = {
    TOPICS: "DYNAMIC_TOPIC_CONFIG",
    BROKERS: "DYNAMIC_BROKER_CONFIG",
    BROKER_LOGGERS: "DYNAMIC_BROKER_LOGGER_CONFIG",
    CLIENT_METRICS: "DYNAMIC_CLIENT_METRICS_CONFIG",
    GROUPS: "DYNAMIC_GROUP_CONFIG",
}
MARKDOWN, JSON = "markdown", "json"


class ConfigsGroup(ActionGroup):
    """Hands users, clients and ips to `kcli quotas`: kafka-configs does both."""

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, action, rest = super().resolve_command(context, arguments)
        if name in ("describe", "alter") and means_quotas(rest):
            from kcli.commands import quotas

            return name, quotas.command.commands[name], rest
        return name, action, rest


@click.group(
    "configs",
    cls=ConfigsGroup,
    examples="""
    # Show what is configured for a topic
    kcli configs describe --topic orders
    # Keep the records of a topic for one day
    kcli configs alter --topic orders --add-config retention.ms=86400000
    """,
)
def command() -> None:
    """Describe, alter and look up configurations."""


@command.command(
    "describe",
    examples="""
    # Show what is configured for a topic
    kcli configs describe --topic orders
    # Show all configurations of broker 1, inherited ones and defaults included
    kcli configs describe --broker 1 --all
    # Show the configurations of all topics as JSON
    kcli configs describe --entity-type topics -o json
    """,
)
@entity_options
@click.option("--all", "everything", is_flag=True, help="Include inherited configurations and defaults.")
@bootstrap_server_option
@command_config_option
@output_option
def describe(everything: bool, bootstrap_server: str, command_config: str | None, output: str, **options: Any) -> None:
    """Describe the configurations of one entity, or of all entities of a type.

    Without --all, only configurations that are set on the entity itself are printed. Each configuration is printed with
    its source and its synonyms, in order of precedence.
    """
    from kcore.client.admin.configs import ConfigAdmin

    entity = chosen_entity(**options)
    with connect(bootstrap_server, read_properties(command_config)) as client:
        admin = ConfigAdmin(client)
        if output == KAFKA and entity.entity_type == TOPICS and entity.name not in (None, *_topics(admin)):
            click.echo(f"The topic '{entity.name}' doesn't exist and doesn't have dynamic config.")
            return
        rows = [row for each in _entities(admin, entity) for row in _entity_rows(admin, each, everything)]
    write_rows(rows, output, lambda listed: _print_configs(listed, everything))


def _entities(admin: ConfigAdmin, entity: Entity) -> list[Entity]:
    """The entity itself, or all entities of its type."""
    if entity.name is not None:
        return [entity]
    if entity.entity_type == TOPICS:
        return [Entity(TOPICS, name) for name in sorted(_topics(admin))]
    if entity.entity_type in (CLIENT_METRICS, GROUPS):
        return [Entity(entity.entity_type, name) for name in _listed(admin, entity.entity_type)]
    brokers = [Entity(entity.entity_type, str(broker)) for broker in sorted(admin.client.update_metadata([]).nodes)]
    return brokers + ([Entity(BROKERS, "")] if entity.entity_type == BROKERS else [])


def _listed(admin: ConfigAdmin, entity_type: str) -> list[str]:
    """Names of client metrics subscriptions, or of groups: those with configurations and those that exist."""
    names = {resource.name for resource in admin.list_config_resources([RESOURCE_TYPES[entity_type]])}
    if entity_type == GROUPS:
        from kcore.client.admin.groups import GroupAdmin

        groups, failures = GroupAdmin(admin.client).list_groups()
        raise_failures(failures)
        names.update(group.group_id for group in groups)
    return sorted(names)


def _topics(admin: ConfigAdmin) -> Iterable[str]:
    return admin.client.update_metadata(None).topics


def _described(admin: ConfigAdmin, entity: Entity) -> list[DescribedConfig]:
    from kcore.client.admin.configs import ConfigResource
    from kcore.client.admin.results import only

    return only(admin.describe_configs([ConfigResource(RESOURCE_TYPES[entity.entity_type], entity.name or "")]))


def _entity_rows(admin: ConfigAdmin, entity: Entity, everything: bool) -> list[Row]:
    """One row per entity, which includes its configurations."""
    configs = sorted(_described(admin, entity), key=lambda config: config.name)
    shown = [_config(config) for config in configs if everything or _is_own(config, entity)]
    return [{"entity_type": entity.entity_type, "entity_name": entity.name or None, "configs": shown}]


def _is_own(config: DescribedConfig, entity: Entity) -> bool:
    return not entity.name or config.source == OWN_SOURCES[entity.entity_type]


def _config(config: DescribedConfig) -> dict[str, object]:
    return {
        "name": config.name,
        "value": config.value,
        "source": config.source,
        "sensitive": config.is_sensitive,
        "read_only": config.is_read_only,
        "synonyms": [synonym._asdict() for synonym in config.synonyms],
    }


def _print_configs(rows: Iterable[Row], everything: bool) -> None:
    for row in rows:
        kind = row["entity_type"].removesuffix("s") if row["entity_type"] != CLIENT_METRICS else CLIENT_METRICS
        if row["entity_name"] is None:
            click.echo("Default configs for brokers in the cluster are:")
        else:
            click.echo(f"{'All' if everything else 'Dynamic'} configs for {kind} {row['entity_name']} are:")
        for config in row["configs"]:
            synonyms = ", ".join(f"{it['source']}:{it['name']}={_shown(it['value'])}" for it in config["synonyms"])
            click.echo(
                f"  {config['name']}={_shown(config['value'])} sensitive={str(config['sensitive']).lower()} "
                f"synonyms={{{synonyms}}}"
            )


def _shown(value: str | None) -> str:
    return "null" if value is None else value


@command.command(
    "alter",
    examples="""
    # Keep the records of a topic for one day
    kcli configs alter --topic orders --add-config retention.ms=86400000
    # Set a list, and reset another configuration to its default
    kcli configs alter --topic orders --add-config cleanup.policy=[compact,delete] --delete-config retention.ms
    # Check a change for all brokers without making it
    kcli configs alter --broker-defaults --add-config log.retention.ms=3600000 --validate-only
    """,
)
@entity_options
@click.option(
    "--add-config",
    metavar="NAME=VALUE,...",
    shell_complete=complete_configs,
    help="Configurations to set; a list is written NAME=[VALUE,VALUE]. Other configurations stay unchanged.",
)
@click.option("--add-config-file", metavar="FILE", help="Properties file of configurations to set.")
@click.option(
    "--delete-config", metavar="NAME,...", shell_complete=complete_configs, help="Configurations to reset to defaults."
)
@click.option("--validate-only", is_flag=True, help="Dry run: let the cluster validate the change, do not apply it.")
@bootstrap_server_option
@command_config_option
@output_option
def alter(
    add_config: str | None,
    add_config_file: str | None,
    delete_config: str | None,
    validate_only: bool,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
    **options: Any,
) -> None:
    """Alter the configurations of a topic, a broker, all brokers, a broker's loggers, client metrics or a group.

    All changes are applied, or none. Configurations with the mode cluster-wide or per-broker take effect immediately;
    read-only ones cannot be altered. `kcli configs docs` lists the modes. With --entity-type users, clients or ips,
    the command alters quotas, as `kcli quotas alter` does.
    """
    from kcore.client.admin.configs import DELETE, SET, ConfigAdmin, ConfigOperation, ConfigResource
    from kcore.client.admin.results import failures, raise_first

    entity = chosen_entity(**options)
    if entity.name is None:
        raise UsageFailure("no entity is named: pass --entity-name or --entity-default")
    added, deleted = added_configs(add_config, add_config_file), deleted_configs(delete_config)
    if not added and not deleted:
        raise UsageFailure("nothing to change: pass --add-config, --add-config-file or --delete-config")
    operations = [ConfigOperation(name, SET, value) for name, value in added.items()]
    operations += [ConfigOperation(name, DELETE) for name in deleted]
    with connect(bootstrap_server, read_properties(command_config)) as client:
        admin = ConfigAdmin(client)
        if output != KAFKA:  # kafka-configs does not check this since 4.0
            _check_deletions(admin, entity, deleted)
        elif entity.entity_type == BROKER_LOGGERS:
            _check_loggers(admin, entity, [*added, *deleted])
        resource = ConfigResource(RESOURCE_TYPES[entity.entity_type], entity.name)
        results = admin.alter_configs({resource: operations}, validate_only=validate_only)
    for failure in failures(results).values():
        if entity.entity_type == TOPICS:
            suggest_topic_configs(failure, added)
    raise_first(results)
    if entity.entity_type == BROKERS and output != KAFKA:
        warn_of_unknown_broker_configs(added)
    row = {
        "entity_type": entity.entity_type,
        "entity_name": entity.name or None,
        "set": added,
        "deleted": deleted,
        "validated_only": validate_only,
    }
    write_rows([row], output, _print_altered)


def _check_deletions(admin: ConfigAdmin, entity: Entity, deleted: list[str]) -> None:
    """Refuses to delete what is not set, which is usually a typing error. Kafka's tool refused it before 4.0."""
    if deleted and entity.entity_type != BROKER_LOGGERS:
        own = {config.name for config in _described(admin, entity) if _is_own(config, entity)}
        unknown = [name for name in deleted if name not in own]
        if unknown:
            raise Failure(
                f"cannot delete {', '.join(unknown)}: not set on this entity. "
                "Show what is set with: kcli configs describe"
            )


def _check_loggers(admin: ConfigAdmin, entity: Entity, names: list[str]) -> None:
    known = {config.name for config in _described(admin, entity)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Failure(f"Invalid broker logger(s): {','.join(unknown)}")


def _print_altered(rows: Iterable[Row]) -> None:
    for row in rows:
        done = "Validated" if row["validated_only"] else "Completed updating"
        if row["entity_name"] is None:
            click.echo(f"{done} default config for brokers in the cluster.")
        else:
            kind = row["entity_type"].removesuffix("s") if row["entity_type"] != CLIENT_METRICS else CLIENT_METRICS
            click.echo(f"{done} config for {kind} {row['entity_name']}.")


@command.command(
    "docs",
    examples="""
    # Print the reference of one configuration
    kcli configs docs retention.ms
    # Print the reference of all client configurations as JSON
    kcli configs docs --clients -o json
    """,
)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--clients", is_flag=True, help="Configurations of clients instead of brokers and topics.")
@click.option(
    "-o",
    "--output",
    type=click.Choice([MARKDOWN, JSON]),
    default=MARKDOWN,
    show_default=True,
    help="Output format.",
)
def docs(names: tuple[str, ...], clients: bool, output: str) -> None:
    """Print the reference of all configurations, or of the named ones.

    docs/configuration.md is the output of this command, docs/client-configuration.md its output with --clients.
    """
    from kcli.config_reference import client_markdown, client_reference, markdown, reference
    from kcli.output import to_json

    sections = client_reference(names) if clients else reference(names)
    if names and not any(section.rows for section in sections):
        listing = "kcli configs docs --clients" if clients else "kcli configs docs"
        raise Failure(f"unknown configuration: {', '.join(names)}. List all with: {listing}")
    if output == JSON:
        click.echo(to_json([dict(row) for section in sections for row in section.rows]))
    else:
        page = client_markdown if clients else markdown
        click.echo(page(sections, with_introduction=not names), nl=False)
