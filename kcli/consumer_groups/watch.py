"""`kcli groups watch`: how far groups are behind and how fast they read, live."""

from __future__ import annotations

import click

from kcli.consumer_groups.selection import (
    all_groups_option,
    connect_in_time,
    find_groups,
    group_argument,
    group_option,
    named_groups,
    timeout_option,
)
from kcli.options import bootstrap_server_option, command_config_option
from kcli.output import JSON_LINES, TABLE, write_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kcore.client.network_client import NetworkClient

# Of views that go to no terminal, whose width nothing limits.
PLAIN_WIDTH = 160


@click.command("watch")
@group_argument
@group_option
@all_groups_option
@click.option("--verbose", is_flag=True, help="Each partition too.")
@click.option(
    "--interval",
    type=click.FloatRange(0.1, 3600),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How long each view is about.",
)
@click.option("--iterations", type=click.IntRange(0), default=0, metavar="N", help="End after N views. Default: never.")
@click.option(
    "--rows", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="Of each table, on the screen."
)
@timeout_option
@bootstrap_server_option
@command_config_option
@click.option(
    "-o",
    "--output",
    type=click.Choice([TABLE, JSON_LINES]),
    default=TABLE,
    show_default=True,
    help="How to print: a live view, or plain ones where the output is no terminal; or one JSON object a line.",
)
def watch(
    group_arguments: tuple[str, ...],
    group_options: tuple[str, ...],
    all_groups: bool,
    verbose: bool,
    interval: float,
    iterations: int,
    rows: int,
    timeout_ms: int | None,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Show live how far groups are behind, how fast they read, and when they will have caught up.

    All groups, or those that are named. Rates are those of the interval between two readings. Ctrl-C ends it.
    """
    names = named_groups(group_arguments, group_options, all_groups or not (group_arguments or group_options))
    with connect_in_time(bootstrap_server, command_config, timeout_ms) as client:
        views = take_views(client, names, timeout_ms, interval, iterations, verbose)
        if output == JSON_LINES:
            for view in views:
                write_object(view)
        else:
            show(views, rows)


def take_views(
    client: NetworkClient,
    names: list[str] | None,
    timeout_ms: int | None,
    interval_s: float,
    iterations: int,
    verbose: bool,
) -> Iterator[dict[str, Any]]:
    """A view at the end of each interval; a broker that does not answer later on is told of and asked again."""
    import time

    from kcli.consumer_groups.progress import ProgressReader
    from kcli.consumer_groups.watch_view import Reading, view
    from kcore.client.errors import BrokerUnreachable, ClientTimeout

    reader = ProgressReader(client, timeout_ms)

    def read() -> Reading:
        group_ids, unlisted = find_groups(reader.groups, names)
        groups, failures = reader.read(group_ids)
        return Reading(groups, unlisted + failures, time.monotonic())

    before = read()
    number = 0
    while iterations == 0 or number < iterations:
        time.sleep(interval_s)
        try:
            after = read()
        except (BrokerUnreachable, ClientTimeout) as error:
            # What was seen last stays, until somebody answers again.
            after = Reading(before.groups, [f"no broker answers: {error}"], time.monotonic())
        yield view(before, after, verbose)
        before = after
        number += 1


def show(views: Iterator[dict[str, Any]], rows: int) -> None:
    """In place on a terminal, one below the other elsewhere."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from kcli.consumer_groups.watch_screen import screen

    console = Console()
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH)
        for view in views:
            console.print(screen(view, rows))
            console.print()
        return
    with Live(Text("reading ..."), console=console, screen=True, auto_refresh=False) as live:
        for view in views:
            live.update(screen(view, rows), refresh=True)
