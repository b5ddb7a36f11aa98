"""`kcli groups list`: the groups of the cluster, with states and types."""

from __future__ import annotations

import click

from kcli.command import Command
from kcli.consumer_groups.selection import connect_in_time, is_of_consumers, timeout_option
from kcli.failures import UsageFailure, raise_failures
from kcli.options import bootstrap_server_option, command_config_option
from kcli.output import KAFKA, TABLE, output_option, write_rows

STATES = ("Stable", "PreparingRebalance", "CompletingRebalance", "Empty", "Dead", "Assigning", "Reconciling")
TYPES = ("Classic", "Consumer")


@click.command(
    "list",
    cls=Command,
    examples="""
    # List the consumer groups
    kcli groups list
    # List the groups that are stable or empty, with their states
    kcli groups list --state stable,empty
    # List all groups with states and types as JSON
    kcli groups list -o json
    """,
)
@click.option(
    "--state",
    is_flag=False,
    flag_value="",
    metavar="[STATE,...]",
    help="Show the states of groups. With a value, list only groups in these states.",
)
@click.option(
    "--type",
    "type_text",
    is_flag=False,
    flag_value="",
    metavar="[TYPE,...]",
    help="Show the types of groups. With a value (classic, consumer), list only groups of these types.",
)
@click.option("--protocol", metavar="TYPE", help="Protocol type, such as connect. Default: consumer.")
@timeout_option
@bootstrap_server_option
@command_config_option
@output_option
def list_groups(
    state: str | None,
    type_text: str | None,
    protocol: str | None,
    timeout_ms: int | None,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """List consumer groups."""
    from kcli.consumer_groups.text import print_columns
    from kcore.client.admin.groups import GroupAdmin

    states = parse_choices("--state", state, STATES)
    types = parse_choices("--type", type_text, TYPES)
    with connect_in_time(bootstrap_server, command_config, timeout_ms) as client:
        listed, failures = GroupAdmin(client).list_groups(states, types)
    rows = [
        {"group": group.group_id, "protocol_type": group.protocol_type, "state": group.state, "type": group.type}
        for group in listed
        if (is_of_consumers(group) if protocol is None else group.protocol_type == protocol)
    ]
    if output not in (TABLE, KAFKA):
        write_rows(rows, output)
    elif state is None and type_text is None:
        click.echo("".join(f"{row['group']}\n" for row in rows), nl=False)
    else:
        shown = {"TYPE": "type"} if type_text is not None else {}
        print_columns(rows, {"GROUP": "group", **shown, **({"STATE": "state"} if state is not None else {})})
    raise_failures(failures)


def parse_choices(option: str, text: str | None, known: tuple[str, ...]) -> list[str]:
    """Comma-separated names in any case, as Kafka's names."""
    names = {name.lower(): name for name in known}
    chosen = [] if not text else [names.get(piece.strip().lower(), "") for piece in text.split(",")]
    if "" in chosen:
        raise UsageFailure(f"{option} {text!r}: unknown value. Valid values: {', '.join(known)}")
    return chosen
