"""`kcli groups describe`: offsets and lag, members with their assignments, or the state of groups."""

from __future__ import annotations

import click

from kcli.command import Command
from kcli.consumer_groups.selection import (
    all_groups_option,
    connect_in_time,
    find_groups,
    group_argument,
    group_option,
    named_groups,
    timeout_option,
)
from kcli.failures import UsageFailure, complain, raise_failures
from kcli.options import bootstrap_server_option, command_config_option
from kcli.output import KAFKA, TABLE, output_option, write_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from kcore.client.admin.groups import GroupDescription
    from kcore.client.cluster_client import ClusterClient
    from kcore.client.metadata.cluster import TopicPartition

    Row = dict[str, Any]


@click.command(
    "describe",
    cls=Command,
    examples="""
    # Show the offsets and the lag of a group
    kcli groups describe billing
    # Show the members of a group with their assignments
    kcli groups describe billing --members --verbose
    # Show the lag of all groups as JSON
    kcli groups describe --all-groups -o json
    """,
)
@group_argument
@group_option
@all_groups_option
@click.option("--offsets", is_flag=True, help="Offsets and lag of each partition. The default.")
@click.option("--members", is_flag=True, help="Members of the group.")
@click.option("--state", is_flag=True, help="State, coordinator and assignor of the group.")
@click.option("--verbose", is_flag=True, help="Also leader epochs, assignments of members, and epochs of the group.")
@timeout_option
@bootstrap_server_option
@command_config_option
@output_option
def describe(
    group_arguments: tuple[str, ...],
    group_options: tuple[str, ...],
    all_groups: bool,
    offsets: bool,
    members: bool,
    state: bool,
    verbose: bool,
    timeout_ms: int | None,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Describe groups: offsets and lag, members, or state.

    Lag is reported in records and in seconds: the age of the first record that the group has not read. It is also
    reported for groups without members. The search for the times of records is limited to 5 s, or to --timeout.
    """
    if offsets + members + state > 1:
        raise UsageFailure("--offsets, --members and --state cannot be combined: pass one of them")
    names = named_groups(group_arguments, group_options, all_groups)
    with connect_in_time(bootstrap_server, command_config, timeout_ms) as client:
        if members or state:
            failures = _describe_groups(client, names, members, verbose, output)
        else:
            failures = _describe_offsets(client, names, timeout_ms, verbose, output)
    raise_failures(failures)


def _describe_offsets(
    client: ClusterClient, names: list[str] | None, timeout_ms: int | None, verbose: bool, output: str
) -> list[str | Exception]:
    from kcli.consumer_groups.progress import ProgressReader
    from kcli.consumer_groups.text import offset_columns, print_by_group, print_state

    reader = ProgressReader(client, timeout_ms)
    group_ids, unlisted = find_groups(reader.groups, names)
    progress, failures = reader.read(group_ids)
    rows = [row for each in progress for row in each.rows]
    if output in (TABLE, KAFKA):
        for each in progress:
            print_state(each.group.group_id, each.group.state)
            print_by_group(each.rows, offset_columns(verbose, with_seconds=output == TABLE))
    else:
        write_rows(rows, output)
    if output != KAFKA and any(row["lag"] and row["lag_seconds"] is None for row in rows):
        complain(
            "the lag in seconds is missing for some partitions: the search for record times took too long. "
            "Allow more time with --timeout"
        )
    return unlisted + failures


def _describe_groups(
    client: ClusterClient, names: list[str] | None, members: bool, verbose: bool, output: str
) -> list[str | Exception]:
    from kcli.consumer_groups.text import member_columns, print_state, print_table, state_columns
    from kcore.client.admin.groups import GroupAdmin, GroupDescription

    admin = GroupAdmin(client)
    group_ids, failures = find_groups(admin, names)
    described = admin.describe_groups(group_ids)
    groups = sorted(group for group in described.values() if isinstance(group, GroupDescription))
    failures += [error for error in described.values() if not isinstance(error, GroupDescription)]
    rows_of = member_rows if members else state_rows
    if output not in (TABLE, KAFKA):
        write_rows((row for group in groups for row in rows_of(group)), output)
        return failures
    for group in groups:
        print_state(group.group_id, group.state)
        rows = rows_of(group)
        if rows or output == KAFKA:
            print_table(rows, member_columns(rows, verbose) if members else state_columns(verbose))
    return failures


def member_rows(group: GroupDescription) -> list[Row]:
    """One row per member. Epochs and targets exist in the consumer protocol only."""
    return [
        {
            "group": group.group_id,
            "consumer_id": member.member_id,
            "instance_id": member.instance_id,
            "host": member.host,
            "client_id": member.client_id,
            "partitions": len(member.assignment),
            "current_epoch": member.epoch,
            "current_assignment": _by_topic(member.assignment),
            "target_epoch": group.target_epoch,
            "target_assignment": _by_topic(member.target or ()),
            "upgraded": member.is_upgraded,
        }
        for member in group.members
    ]


def state_rows(group: GroupDescription) -> list[Row]:
    """One row per group."""
    node = group.coordinator
    return [
        {
            "group": group.group_id,
            "coordinator": f"{node.host}:{node.port}  ({node.id})",
            "coordinator_id": node.id,
            "type": group.type,
            "protocol_type": group.protocol_type,
            "assignment_strategy": group.assignor,
            "state": group.state,
            "group_epoch": group.epoch,
            "target_assignment_epoch": group.target_epoch,
            "members": len(group.members),
        }
    ]


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return topics
