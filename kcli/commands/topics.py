"""`kcli topics`: like kafka-topics. `kcli topics --list` is the same as `kcli topics list`."""

from __future__ import annotations

import click

from kcli.action_group import ActionGroup
from kcli.completion import complete_configs, complete_topics
from kcli.config_suggestions import suggest_topic_configs
from kcli.confirmation import confirm
from kcli.failures import UsageFailure, complain, raise_failures
from kcli.options import bootstrap_server_option, command_config_option, connect, yes_option
from kcli.output import KAFKA, output_option, print_nothing, write_rows
from kcli.properties import parse_properties, read_properties
from kcli.ranges import IntegerRange
from kcli.topic_description import describe
from kcli.topic_selection import (
    TOPIC_NAME_RULE,
    TopicSelection,
    exclude_internal_option,
    find_topics,
    not_there,
    text_of,
    topics_option,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcli.output import Row

TOPIC_ALREADY_EXISTS = 36
# kafka-topics prints this for names with either character, because metric names replace one by the other.
COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
    "To avoid issues it is best to use either, but not both."
)

topic_option = click.option(
    "--topic", "topic_option", metavar="TOPIC,...", shell_complete=complete_topics, help="Topics to create."
)


@click.group(
    "topics",
    cls=ActionGroup,
    examples="""
    # Create a topic with six partitions
    kcli topics create orders --partitions 6
    # List the topics
    kcli topics list
    """,
)
def command() -> None:
    """Create, alter, list, describe and delete topics."""


@command.command(
    "create",
    examples="""
    # Create a topic with six partitions
    kcli topics create orders --partitions 6
    # Create a topic that keeps its records for a day, unless it exists
    kcli topics create clicks --config retention.ms=86400000 --if-not-exists
    """,
)
@click.argument("topic_argument", metavar="[TOPIC]", required=False, shell_complete=complete_topics)
@topic_option
@click.option(
    "--partitions",
    type=IntegerRange(1, 2**31 - 1),
    metavar="N",
    help="Number of partitions. Default: the broker's num.partitions.",
)
@click.option(
    "--replication-factor",
    type=IntegerRange(1, 2**15 - 1),
    metavar="N",
    help="Number of replicas per partition. Default: the broker's default.replication.factor.",
)
@click.option(
    "--replica-assignment", metavar="ID:ID,...", help="Broker ids of each partition, with the preferred leader first."
)
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=complete_configs,
    help="Topic configuration. May be repeated.",
)
@click.option("--if-not-exists", is_flag=True, help="Succeed if the topic exists.")
@bootstrap_server_option
@command_config_option
@output_option
def create(
    topic_argument: str | None,
    topic_option: str | None,
    partitions: int | None,
    replication_factor: int | None,
    replica_assignment: str | None,
    configs: tuple[str, ...],
    if_not_exists: bool,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Create topics."""
    from kcore.client.admin.results import failures as failures_of
    from kcore.client.admin.topics import NewTopic, TopicAdmin
    from kcore.errors import KafkaError

    names = _names(topic_argument, topic_option)
    assignment = _parse_assignment(replica_assignment)
    if assignment and (partitions is not None or replication_factor is not None):
        raise UsageFailure("--replica-assignment cannot be combined with --partitions or --replication-factor")
    overrides = parse_properties(configs, "--config")
    topics = [NewTopic(name, partitions or -1, replication_factor or -1, overrides, assignment) for name in names]
    with connect(bootstrap_server, read_properties(command_config)) as client:
        refused = failures_of(TopicAdmin(client).create_topics(topics))
    rows = []
    failures: list[str | Exception] = []
    for name in names:
        error = refused.get(name)
        exists = isinstance(error, KafkaError) and error.code == TOPIC_ALREADY_EXISTS
        if error is None or (exists and if_not_exists):
            rows.append({"topic": name, "created": error is None})
        else:
            if exists:
                error.add_note("choose another name, or add --if-not-exists")
            suggest_topic_configs(error, overrides)
            failures.append(error)
    write_rows(rows, output, _print_created, _print_created_as_kafka)
    raise_failures(failures)


def _print_created(rows: Iterable[Row]) -> None:
    for row in rows:
        click.echo(f"Created topic {row['topic']}." if row["created"] else f"Topic {row['topic']} already exists.")


def _print_created_as_kafka(rows: Iterable[Row]) -> None:
    for row in rows:
        if row["created"]:
            if "." in row["topic"] or "_" in row["topic"]:
                click.echo(COLLISION_WARNING)
            click.echo(f"Created topic {row['topic']}.")


@command.command(
    "alter",
    examples="""
    # Add partitions to a topic until it has twelve
    kcli topics alter orders --partitions 12
    # Do the same for all topics whose names start with orders-
    kcli topics alter 'orders-*' --partitions 12
    """,
)
@click.argument("topic_argument", metavar="[TOPIC]", required=False, shell_complete=complete_topics)
@topics_option
@click.option(
    "--partitions",
    type=IntegerRange(1, 2**31 - 1),
    required=True,
    metavar="N",
    help="New number of partitions in total.",
)
@click.option(
    "--replica-assignment", metavar="ID:ID,...", help="Broker ids of each partition, including the existing ones."
)
@click.option("--if-exists", is_flag=True, help="Succeed if the topic does not exist.")
@bootstrap_server_option
@command_config_option
@output_option
def alter(
    topic_argument: str | None,
    topic_option: str | None,
    partitions: int,
    replica_assignment: str | None,
    if_exists: bool,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Add partitions to topics.

    The partition of a keyed record depends on the number of partitions. So records with the same key may go to another
    partition than before.
    """
    from kcore.client.admin.partitions import NewPartitions, PartitionAdmin
    from kcore.client.admin.topics import TopicAdmin

    selection = TopicSelection(text_of(topic_argument, topic_option))
    assignment = _parse_assignment(replica_assignment)
    if assignment and len(assignment) != partitions:
        raise UsageFailure(
            f"--replica-assignment has {len(assignment)} partitions, but --partitions is {partitions}: make them equal"
        )
    with connect(bootstrap_server, read_properties(command_config)) as client:
        topics, missing = find_topics(TopicAdmin(client), selection)
        additions = [
            NewPartitions(topic.name, partitions, assignment[len(topic.partitions) :] if assignment else None)
            for topic in topics
        ]
        outcomes = PartitionAdmin(client).create_partitions(additions) if additions else {}
    failures: list[str | Exception] = [] if if_exists else [not_there(name) for name in missing]
    failures += [error for error in outcomes.values() if error is not None]
    rows = [
        {"topic": topic.name, "partitions": partitions, "added": partitions - len(topic.partitions)}
        for topic in topics
        if outcomes.get(topic.name) is None
    ]
    write_rows(rows, output, _print_altered, print_nothing)
    raise_failures(failures)


def _print_altered(rows: Iterable[Row]) -> None:
    for row in rows:
        click.echo(f"Topic {row['topic']} has {row['partitions']} partitions, {row['added']} of them new.")


@command.command(
    "list",
    examples="""
    # List the topics
    kcli topics list
    # List the topics whose names start with orders-, with ids and partitions, as JSON
    kcli topics list --topic 'orders-*' -o json
    """,
)
@topics_option
@exclude_internal_option
@bootstrap_server_option
@command_config_option
@output_option
def list_topics(
    topic_option: str | None, exclude_internal: bool, bootstrap_server: str, command_config: str | None, output: str
) -> None:
    """List the topics of the cluster."""
    from kcore.client.admin.topics import TopicAdmin
    from kcore.uuid import to_text

    selection = None if topic_option is None else TopicSelection(topic_option)
    with connect(bootstrap_server, read_properties(command_config)) as client:
        topics = TopicAdmin(client).list_topics()
    if selection is not None and output != KAFKA:
        for name in selection.unmatched(topic.name for topic in topics):
            complain(str(not_there(name)))
    rows = [
        {
            "topic": topic.name,
            "topic_id": to_text(topic.topic_id),
            "internal": topic.is_internal,
            "partitions": len(topic.partitions),
        }
        for topic in topics
        if not (exclude_internal and topic.is_internal) and (selection is None or selection.includes(topic.name))
    ]
    # kafka-topics prints an empty line if there are no topics.
    write_rows(
        rows,
        output,
        lambda listed: click.echo("".join(f"{row['topic']}\n" for row in listed), nl=False),
        lambda listed: click.echo("\n".join(row["topic"] for row in listed)),
    )


command.add_command(describe)


@command.command(
    "delete",
    examples="""
    # Delete a topic, after a question
    kcli topics delete orders
    # Delete all topics whose names start with test-, without a question
    kcli topics delete 'test-*' --yes
    """,
)
@click.argument("topic_argument", metavar="[TOPIC]", required=False, shell_complete=complete_topics)
@topics_option
@click.option("--if-exists", is_flag=True, help="Succeed if the topic does not exist.")
@yes_option
@bootstrap_server_option
@command_config_option
@output_option
def delete(
    topic_argument: str | None,
    topic_option: str | None,
    if_exists: bool,
    yes: bool,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Delete topics with all their records."""
    from kcore.client.admin.topics import TopicAdmin

    selection = TopicSelection(text_of(topic_argument, topic_option))
    with connect(bootstrap_server, read_properties(command_config)) as client:
        admin = TopicAdmin(client)
        topics, missing = find_topics(admin, selection)
        failures: list[str | Exception] = [] if if_exists else [not_there(name) for name in missing]
        if topics and not yes:
            plan = (f"delete topic {t.name}: {len(t.partitions)} partitions with all their records" for t in topics)
            confirm(plan)
        outcomes = admin.delete_topics([topic.name for topic in topics]) if topics else {}
    failures += [error for error in outcomes.values() if error is not None]
    rows = [{"topic": topic.name, "deleted": True} for topic in topics if outcomes[topic.name] is None]
    write_rows(rows, output, _print_deleted, print_nothing)
    raise_failures(failures)


def _print_deleted(rows: Iterable[Row]) -> None:
    for row in rows:
        click.echo(f"Deleted topic {row['topic']}.")


def _names(argument: str | None, option: str | None) -> list[str]:
    names = [name.strip() for name in text_of(argument, option).split(",") if name.strip()]
    if not names:
        raise UsageFailure("--topic: the topic name is empty")
    for name in names:
        # Bytes on the command line that are not text are surrogates in Python. No request can contain them.
        if not name.isprintable():
            raise UsageFailure(f"--topic {name!r}: {TOPIC_NAME_RULE}")
    return names


def _parse_assignment(text: str | None) -> list[list[int]]:
    """`1:2,2:1` is brokers 1 and 2 for partition 0, and brokers 2 and 1 for partition 1."""
    if text is None:
        return []
    try:
        return [[int(broker) for broker in partition.split(":")] for partition in text.split(",")]
    except ValueError:
        raise UsageFailure(f"--replica-assignment {text!r}: must be broker ids, as in 0:1,1:0") from None
