"""`kcli groups reset-offsets`: moves the committed offsets of groups without members.

Nothing is changed before the user has seen the plan. --dry-run prints it, --execute and --yes apply it. Without these
options, a user at a terminal is asked. Elsewhere it is a dry run, as with Kafka's tool.
"""

from __future__ import annotations

import sys
import time

import click

from kcli.command import Command
from kcli.confirmation import confirm
from kcli.consumer_groups.moments import parse_datetime, parse_duration
from kcli.consumer_groups.reset_target import (
    EARLIEST,
    LATEST,
    SHIFT_BY,
    TO_CURRENT,
    TO_OFFSET,
    TO_TIME,
    ResetPlan,
    ResetTarget,
    move_to_offsets,
    plan_reset,
)
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
from kcli.failures import Failure, NotThere, UsageFailure, complain, raise_failures
from kcli.options import bootstrap_server_option, command_config_option, yes_option
from kcli.output import KAFKA, TABLE, output_option, write_rows
from kcli.ranges import IntegerRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from kcli.consumer_groups.reset_file import Plan
    from kcli.output import Row
    from kcore.client.admin.groups import GroupDescription
    from kcore.client.cluster_client import ClusterClient
    from kcore.client.metadata.cluster import TopicPartition
    from kcore.errors import KafkaError

OFFSET = IntegerRange(-(2**63), 2**63 - 1)
# Groups without members. A missing group is created by the commit.
INACTIVE = ("Empty", "Dead")
PLAN_COLUMNS = {"GROUP": "group", "TOPIC": "topic", "PARTITION": "partition", "NEW-OFFSET": "new_offset"}


@click.command(
    "reset-offsets",
    cls=Command,
    examples="""
    # Show the plan: read a topic again from the start
    kcli groups reset-offsets billing --topic orders --to-earliest --dry-run
    # Read the last hour of all topics again, without a question
    kcli groups reset-offsets billing --all-topics --by-duration PT1H --execute
    # Skip one record of partition 0
    kcli groups reset-offsets billing --topic orders:0 --shift-by 1
    """,
)
@group_argument
@group_option
@all_groups_option
@topic_option
@click.option("--all-topics", is_flag=True, help="All partitions with committed offsets of the group.")
@click.option("--to-earliest", is_flag=True, help="Move to the log start offset.")
@click.option("--to-latest", is_flag=True, help="Move to the log end offset.")
@click.option("--to-current", is_flag=True, help="Keep the committed offset; without one, move to the log end.")
@click.option(
    "--to-datetime", metavar="DATETIME", help="Move to the first record since YYYY-MM-DDTHH:mm:SS.sss, in UTC."
)
@click.option(
    "--by-duration", metavar="DURATION", help="Move to the first record of the last PnDTnHnMnS, such as PT1H30M."
)
@click.option("--to-offset", type=OFFSET, metavar="OFFSET", help="Move to this offset.")
@click.option("--shift-by", type=OFFSET, metavar="N", help="Move forward by N offsets, or back if N is negative.")
@click.option("--from-file", metavar="FILE", help="Move to the offsets of a file written by --export; - is stdin.")
@click.option("--dry-run", is_flag=True, help="Print the plan, do not apply it.")
@click.option("--execute", is_flag=True, help="Apply the plan without a question.")
@click.option("--export", is_flag=True, help="Print the plan as a file for --from-file.")
@yes_option
@timeout_option
@bootstrap_server_option
@command_config_option
@output_option
def reset_offsets(
    group_arguments: tuple[str, ...],
    group_options: tuple[str, ...],
    all_groups: bool,
    topics: tuple[str, ...],
    all_topics: bool,
    dry_run: bool,
    execute: bool,
    export: bool,
    yes: bool,
    timeout_ms: int | None,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
    **targets: Any,
) -> None:
    """Move the committed offsets of groups without members.

    Pass one target (--to-earliest, --to-latest, --to-current, --to-datetime, --by-duration, --to-offset, --shift-by or
    --from-file), and the topics (--topic or --all-topics). The plan is printed first. On a terminal you are then asked
    to confirm it; elsewhere nothing is changed. --execute and --yes apply the plan without a question.
    """
    from kcli.consumer_groups.reset_file import read_plan, write_plan

    names = named_groups(group_arguments, group_options, all_groups)
    if dry_run and (execute or yes):
        raise UsageFailure("--dry-run cannot be combined with --execute or --yes: remove one")
    if export and output not in (TABLE, KAFKA):
        raise UsageFailure("--export prints a file for --from-file, not JSON: remove -o")
    from_file, target = _target(targets)
    if from_file is None and all_topics == bool(topics):
        raise UsageFailure("pass the topics, with either --topic or --all-topics")
    if from_file is not None and (topics or all_topics):
        raise UsageFailure("--from-file contains the partitions: remove --topic and --all-topics")
    file_plan = None if from_file is None else read_plan(from_file, names)
    with connect_in_time(bootstrap_server, command_config, timeout_ms) as client:
        resetter = Resetter(client, topics, target, file_plan)
        resetter.plan(names)
        rows = resetter.rows()
        is_executed = bool(rows) and not dry_run and _is_agreed(rows, execute or yes, export)
        failures = resetter.failures + (resetter.execute() if is_executed else [])
    if output == KAFKA:
        raise_failures([each for each in failures if isinstance(each, NotThere)])
    if export:
        write_plan(rows, names is not None and len(names) == 1)
        if output == KAFKA:
            click.echo()
    else:
        write_rows(
            [{**row, "executed": is_executed} for row in resetter.rows()], output, _print_plan, _print_plan_as_kafka
        )
    if is_executed and output != KAFKA:
        moved = resetter.rows()
        groups = ", ".join(dict.fromkeys(row["group"] for row in moved))
        partitions = "1 partition" if len(moved) == 1 else f"{len(moved)} partitions"
        complain(f"applied: moved {partitions} of {groups}" if moved else "nothing was applied")
    raise_failures(failures)


def _is_agreed(rows: Iterable[Row], is_said: bool, is_export: bool) -> bool:
    """Whether to apply the plan."""
    if is_said or is_export:
        return is_said
    if not sys.stdin.isatty():
        complain("dry run: nothing was changed. Pass --execute to apply")
        return False
    plan = (f"move group {row['group']}, partition {row['topic']}-{row['partition']} {_move(row)}" for row in rows)
    confirm(plan, unless="nothing was changed")
    return True


def _move(row: Row) -> str:
    start = "" if row["current_offset"] is None else f"from {row['current_offset']} "
    return f"{start}to {row['new_offset']}"


def _print_plan(rows: Iterable[Row]) -> None:
    from kcli.consumer_groups.text import print_table

    listed = list(rows)
    if listed:
        print_table(listed, PLAN_COLUMNS)


def _print_plan_as_kafka(rows: Iterable[Row]) -> None:
    """Kafka's tool prints the heading even without rows."""
    from kcli.consumer_groups.text import print_table

    print_table(list(rows), PLAN_COLUMNS)


def _target(options: Mapping[str, Any]) -> tuple[str | None, ResetTarget]:
    """The one target in the options: a file, or another target."""
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    if len(given) != 1:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in options)
        raise UsageFailure(f"pass exactly one of {names}")
    ((name, value),) = given.items()
    if name == "from_file":
        return value, ResetTarget(TO_CURRENT)
    if name == "to_datetime":
        return None, ResetTarget(TO_TIME, parse_datetime(value))
    if name == "by_duration":
        return None, ResetTarget(TO_TIME, max(0, time.time_ns() // 1_000_000 - parse_duration(value)))
    simple = {
        "to_earliest": ResetTarget(TO_TIME, EARLIEST),
        "to_latest": ResetTarget(TO_TIME, LATEST),
        "to_current": ResetTarget(TO_CURRENT),
    }
    if name in simple:
        return None, simple[name]
    return None, ResetTarget(TO_OFFSET if name == "to_offset" else SHIFT_BY, value)


class Resetter:
    """Plans the new offsets of groups and commits them. `failures` are partitions and groups without a plan."""

    def __init__(
        self, client: ClusterClient, topics: Iterable[str], target: ResetTarget, file_plan: Plan | None
    ) -> None:
        from kcore.client.admin.groups import GroupAdmin
        from kcore.client.admin.records import RecordAdmin
        from kcore.client.admin.topics import TopicAdmin

        self._topic_admin = TopicAdmin(client)
        self._records = RecordAdmin(client)
        self._groups = GroupAdmin(client)
        self._target = target
        self._file_plan = file_plan
        self.failures: list[str | Exception] = []
        self._topics = list(topics)
        self._offsets: dict[str, dict[TopicPartition, int]] = {}
        self._committed: dict[str, dict[TopicPartition, int]] = {}

    def plan(self, names: list[str] | None) -> None:
        """Plans for the named groups, or for all groups."""
        group_ids, unlisted = find_groups(self._groups, names)
        self.failures += unlisted
        partitions, missing = find_partitions(self._topic_admin, self._topics)
        self.failures += missing
        inactive = [
            group_id
            for group_id, group in self._groups.describe_groups(group_ids).items()
            if self._is_inactive(group_id, group)
        ]
        for group_id, offsets in self._groups.committed_offsets(inactive).items():
            if not isinstance(offsets, dict):
                self.failures.append(offsets)
                continue
            committed = {place: entry.offset for place, entry in offsets.items()}
            self._committed[group_id] = committed
            plan = self._plan_group(group_id, partitions if self._topics else list(committed))
            for warning in plan.warnings:
                complain(warning)
            self.failures += [f"group {group_id}: {failure}" for failure in plan.failures]
            self._offsets[group_id] = plan.offsets

    def _is_inactive(self, group_id: str, group: GroupDescription | Exception) -> bool:
        from kcore.client.admin.groups import GROUP_ID_NOT_FOUND, GroupDescription

        if isinstance(group, GroupDescription):
            if group.state not in INACTIVE:
                self.failures.append(
                    Failure(
                        f"group {group_id}: cannot reset offsets while the group has members (state {group.state}). "
                        "Stop its members first",
                        as_kafka=f"Assignments can only be reset if the group '{group_id}' is inactive, but the "
                        f"current state is {group.state}.",
                    )
                )
            return group.state in INACTIVE
        if getattr(group, "code", None) != GROUP_ID_NOT_FOUND:
            self.failures.append(group)
            return False
        return True

    def _plan_group(self, group_id: str, partitions: list[TopicPartition]) -> ResetPlan:
        if self._file_plan is None:
            return plan_reset(self._records, self._target, partitions, self._committed[group_id])
        plan = ResetPlan()
        if group_id not in self._file_plan:
            plan.failures.append("the file has no offsets for this group")
        move_to_offsets(self._records, plan, self._file_plan.get(group_id, {}))
        return plan

    def rows(self) -> list[Row]:
        """The plan, or after `execute` what was applied."""
        return [
            {
                "group": group_id,
                "topic": place.topic,
                "partition": place.partition,
                "current_offset": self._committed[group_id].get(place),
                "new_offset": offset,
            }
            for group_id, offsets in sorted(self._offsets.items())
            for place, offset in sorted(offsets.items())
        ]

    def execute(self) -> list[str | Exception]:
        """Commits the plan. Refused partitions are removed from it, and their errors are returned."""
        refused: list[str | Exception] = []
        for group_id, offsets in self._offsets.items():
            results: Mapping[TopicPartition, KafkaError | Exception | None] = (
                self._groups.alter_offsets(group_id, offsets) if offsets else {}
            )
            for place, error in results.items():
                if error is not None:
                    refused.append(f"group {group_id}, {error}")
                    del offsets[place]
        return refused
