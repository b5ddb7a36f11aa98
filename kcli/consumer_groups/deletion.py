"""`kcli groups delete` and `kcli groups delete-offsets`: deletes groups, or their committed offsets of topics."""

from __future__ import annotations

import click

from kcli.command import Command
from kcli.confirmation import confirm
from kcli.consumer_groups.kafka_text import print_deleted, print_deleted_offsets
from kcli.consumer_groups.selection import (
    all_groups_option,
    connect_in_time,
    find_groups,
    find_partitions,
    group_argument,
    group_option,
    named_groups,
    timeout_option,
    topic_option,
)
from kcli.failures import NotThere, UsageFailure, raise_failures
from kcli.options import bootstrap_server_option, command_config_option, yes_option
from kcli.output import KAFKA, output_option, write_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcli.output import Row


@click.command(
    "delete",
    cls=Command,
    examples="""
    # Delete a group, after a question
    kcli groups delete billing
    # Delete two groups without a question
    kcli groups delete billing shipping --yes
    """,
)
@group_argument
@group_option
@all_groups_option
@yes_option
@timeout_option
@bootstrap_server_option
@command_config_option
@output_option
def delete(
    group_arguments: tuple[str, ...],
    group_options: tuple[str, ...],
    all_groups: bool,
    yes: bool,
    timeout_ms: int | None,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Delete groups without members, with all their committed offsets."""
    from kcore.client.admin.groups import GroupAdmin

    names = named_groups(group_arguments, group_options, all_groups)
    with connect_in_time(bootstrap_server, command_config, timeout_ms) as client:
        admin = GroupAdmin(client)
        group_ids, failures = find_groups(admin, names)
        if group_ids and not yes:
            confirm(f"delete group {group_id} with all its offsets" for group_id in group_ids)
        outcomes = admin.delete_groups(group_ids)
    if output == KAFKA:
        raise_failures(failures)
        print_deleted(outcomes)
        return
    failures += [error for error in outcomes.values() if error is not None]
    rows = [{"group": group_id, "deleted": True} for group_id, error in outcomes.items() if error is None]
    write_rows(rows, output, _print_deleted)
    raise_failures(failures)


def _print_deleted(rows: Iterable[Row]) -> None:
    for row in rows:
        click.echo(f"Deleted group {row['group']}.")


@click.command(
    "delete-offsets",
    cls=Command,
    examples="""
    # Delete the committed offsets of a topic
    kcli groups delete-offsets billing --topic orders
    # Delete those of partitions 0 and 2, without a question
    kcli groups delete-offsets billing --topic orders:0,2 --yes
    """,
)
@group_argument
@group_option
@topic_option
@yes_option
@timeout_option
@bootstrap_server_option
@command_config_option
@output_option
def delete_offsets(
    group_arguments: tuple[str, ...],
    group_options: tuple[str, ...],
    topics: tuple[str, ...],
    yes: bool,
    timeout_ms: int | None,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Delete committed offsets of topics or partitions.

    The group's other topics are not affected. The topic must not be subscribed to by a member.
    """
    from kcore.client.admin.groups import GroupAdmin
    from kcore.client.admin.topics import TopicAdmin
    from kcore.errors import KafkaError

    names = named_groups(group_arguments, group_options, False) or []
    if len(names) != 1 or not topics:
        raise UsageFailure("pass exactly one group, and topics with --topic")
    (group_id,) = names
    with connect_in_time(bootstrap_server, command_config, timeout_ms) as client:
        partitions, failures = find_partitions(TopicAdmin(client), topics)
        if partitions and not yes:
            plan = (f"delete the offset of partition {partition} in group {group_id}" for partition in partitions)
            confirm(plan)
        try:
            outcomes = GroupAdmin(client).delete_offsets(group_id, partitions) if partitions else {}
        except KafkaError as error:
            if output != KAFKA:
                raise
            outcomes = dict.fromkeys(partitions, error)
    if output == KAFKA:
        print_deleted_offsets(group_id, outcomes, [each.name for each in failures if isinstance(each, NotThere)])
        return
    failures += [f"group {group_id}, {error}" for error in outcomes.values() if error is not None]
    rows = [
        {"group": group_id, "topic": place.topic, "partition": place.partition, "deleted": True}
        for place in partitions
        if place in outcomes and outcomes[place] is None
    ]
    write_rows(rows, output, _print_deleted_offsets)
    raise_failures(failures)


def _print_deleted_offsets(rows: Iterable[Row]) -> None:
    for row in rows:
        click.echo(f"Deleted the offset of partition {row['topic']}-{row['partition']} in group {row['group']}.")
