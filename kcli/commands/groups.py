"""`kcli groups`: like kafka-consumer-groups, and more. `kcli groups --list` is the same as `kcli groups list`."""

from __future__ import annotations

import click

from kcli.action_group import ActionGroup
from kcli.consumer_groups.deletion import delete, delete_offsets
from kcli.consumer_groups.description import describe
from kcli.consumer_groups.listing import list_groups
from kcli.consumer_groups.regex import validate_regex
from kcli.consumer_groups.reset import reset_offsets
from kcli.consumer_groups.watch import watch


@click.group(
    "groups",
    cls=ActionGroup,
    examples="""
    # Show the lag of a group
    kcli groups describe billing
    # Watch the lag of all groups
    kcli groups watch
    """,
)
def command() -> None:
    """List, describe, watch, reset and delete consumer groups."""


command.add_command(list_groups)
command.add_command(describe)
command.add_command(watch)
command.add_command(reset_offsets)
command.add_command(delete)
command.add_command(delete_offsets)
command.add_command(validate_regex)
