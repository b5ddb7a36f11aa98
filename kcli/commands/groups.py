"""`kcli groups`: what kafka-consumer-groups does, and more. `kcli groups --list` works as `kcli groups list` does."""

from __future__ import annotations

import click

from kcli.action_group import ActionGroup
from kcli.consumer_groups.deletion import delete, delete_offsets
from kcli.consumer_groups.description import describe
from kcli.consumer_groups.listing import list_groups
from kcli.consumer_groups.regex import validate_regex
from kcli.consumer_groups.reset import reset_offsets
from kcli.consumer_groups.watch import watch


@click.group("groups", cls=ActionGroup)
def command() -> None:
    """List, describe and watch consumer groups, reset their offsets and delete them."""


command.add_command(list_groups)
command.add_command(describe)
command.add_command(watch)
command.add_command(reset_offsets)
command.add_command(delete)
command.add_command(delete_offsets)
command.add_command(validate_regex)
