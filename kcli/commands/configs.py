"""`kcli configs`: what kafka-configs does for topics, brokers, their loggers and subscriptions to clients' metrics.

What it prints for people is what kafka-configs prints, which scripts read.
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
from kcli.config_suggestions import suggest_topic_configs
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
# What was set for the entity itself, as distinct from what it inherits.
OWN_SOURCES = {
    TOPICS: "DYNAMIC_TOPIC_CONFIG",
    BROKERS: "DYNAMIC_BROKER_CONFIG",
    BROKER_LOGGERS: "DYNAMIC_BROKER_LOGGER_CONFIG",
    CLIENT_METRICS: "DYNAMIC_CLIENT_METRICS_CONFIG",
    GROUPS: "DYNAMIC_GROUP_CONFIG",
}
MARKDOWN, JSON = "markdown", "json"


class ConfigsGroup(ActionGroup):
    """Hands what is about users, clients and addresses on to `kcli quotas`, since kafka-configs does both."""

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, action, rest = super().resolve_command(context, arguments)
        if name in ("describe", "alter") and means_quotas(rest):
            from kcli.commands import quotas

            return name, quotas.command.commands[name], rest
        return name, action, rest


@click.group("configs", cls=ConfigsGroup)
def command() -> None:
    """Describe, alter and look up configurations."""


@command.command("describe")
@entity_options
@click.option("--all", "everything", is_flag=True, help="Those too that are inherited or have their default.")
@bootstrap_server_option
@command_config_option
@output_option
def describe(everything: bool, bootstrap_server: str, command_config: str | None, output: str, **options: Any) -> None:
    """Describe configurations: of one topic or broker, or of all of a type.

    Without --all only what was set for the entity itself. Each has its source and, strongest first, every other place
    that says what it is.
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
    """The entity itself, or all of its type in the cluster."""
    if entity.name is not None:
        return [entity]
    if entity.entity_type == TOPICS:
        return [Entity(TOPICS, name) for name in sorted(_topics(admin))]
    if entity.entity_type in (CLIENT_METRICS, GROUPS):
        return [Entity(entity.entity_type, name) for name in _listed(admin, entity.entity_type)]
    brokers = [Entity(entity.entity_type, str(broker)) for broker in sorted(admin.client.update_metadata([]).nodes)]
    return brokers + ([Entity(BROKERS, "")] if entity.entity_type == BROKERS else [])


def _listed(admin: ConfigAdmin, entity_type: str) -> list[str]:
    """Subscriptions to client metrics, or groups: those that something was set for and those that exist."""
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
    """One row for the entity, with its configurations in it."""
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


@command.command("alter")
@entity_options
@click.option(
    "--add-config",
    metavar="NAME=VALUE,...",
    shell_complete=complete_configs,
    help="What to set; a list as NAME=[VALUE,VALUE]. Others stay as they are.",
)
@click.option("--add-config-file", metavar="FILE", help="A properties file of what to set.")
@click.option(
    "--delete-config", metavar="NAME,...", shell_complete=complete_configs, help="What to set back to its default."
)
@click.option("--validate-only", is_flag=True, help="Ask the cluster whether it would do it, and change nothing.")
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
    """Alter configurations of a topic, a broker, all brokers or a broker's loggers.

    Everything is done, or nothing. A broker takes over at once what `kcli configs docs` calls cluster-wide or
    per-broker.
    """
    from kcore.client.admin.configs import DELETE, SET, ConfigAdmin, ConfigOperation, ConfigResource
    from kcore.client.admin.results import failures, raise_first

    entity = chosen_entity(**options)
    if entity.name is None:
        raise UsageFailure("name whose configuration to alter, with --entity-name or --entity-default")
    added, deleted = added_configs(add_config, add_config_file), deleted_configs(delete_config)
    if not added and not deleted:
        raise UsageFailure("say what to alter, with --add-config, --add-config-file or --delete-config")
    operations = [ConfigOperation(name, SET, value) for name, value in added.items()]
    operations += [ConfigOperation(name, DELETE) for name in deleted]
    with connect(bootstrap_server, read_properties(command_config)) as client:
        admin = ConfigAdmin(client)
        if output != KAFKA:  # whose tool has let it pass since 4.0
            _check_deletions(admin, entity, deleted)
        elif entity.entity_type == BROKER_LOGGERS:
            _check_loggers(admin, entity, [*added, *deleted])
        resource = ConfigResource(RESOURCE_TYPES[entity.entity_type], entity.name)
        results = admin.alter_configs({resource: operations}, validate_only=validate_only)
    for failure in failures(results).values():
        if entity.entity_type == TOPICS:
            suggest_topic_configs(failure, added)
    raise_first(results)
    row = {
        "entity_type": entity.entity_type,
        "entity_name": entity.name or None,
        "set": added,
        "deleted": deleted,
        "validated_only": validate_only,
    }
    write_rows([row], output, _print_altered)


def _check_deletions(admin: ConfigAdmin, entity: Entity, deleted: list[str]) -> None:
    """Kafka's tool refused, before 4.0, to delete what is not set, since that is usually a slip of the pen."""
    if deleted and entity.entity_type != BROKER_LOGGERS:
        own = {config.name for config in _described(admin, entity) if _is_own(config, entity)}
        unknown = [name for name in deleted if name not in own]
        if unknown:
            raise Failure(f"Invalid config(s): {','.join(unknown)}; only what was set can be deleted")


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


@command.command("docs")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--clients", is_flag=True, help="Of producers, consumers and admin clients.")
@click.option(
    "-o",
    "--output",
    type=click.Choice([MARKDOWN, JSON]),
    default=MARKDOWN,
    show_default=True,
    help="How to print.",
)
def docs(names: tuple[str, ...], clients: bool, output: str) -> None:
    """Print the reference of every configuration, or of those named.

    docs/configuration.md is what this prints, and docs/client-configuration.md with --clients.
    """
    from kcli.config_reference import client_markdown, client_reference, markdown, reference
    from kcli.output import to_json

    sections = client_reference(names) if clients else reference(names)
    if names and not any(section.rows for section in sections):
        listing = "`kcli configs docs --clients`" if clients else "`kcli configs docs`"
        raise Failure(f"{', '.join(names)}: there is no such configuration; {listing} lists all")
    if output == JSON:
        click.echo(to_json([dict(row) for section in sections for row in section.rows]))
    else:
        page = client_markdown if clients else markdown
        click.echo(page(sections, with_introduction=not names), nl=False)
