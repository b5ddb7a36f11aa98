"""`kcli groups watch`: the lag and the throughput of groups, live."""

from __future__ import annotations

from functools import partial

import click

from kcli.broker_connection import wait_for_broker, wait_options
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
from kcli.failures import text_of
from kcli.live_view import interval_option, iterations_option, live_output_option, readings, rows_option, show
from kcli.options import bootstrap_server_option, command_config_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from rich.console import RenderableType

    from kcore.client.cluster_client import ClusterClient


@click.command(
    "watch",
    cls=Command,
    examples="""
    # Watch the lag of all groups
    kcli groups watch
    # Watch each partition of one group, every 5 seconds
    kcli groups watch billing --verbose --interval 5
    """,
)
@group_argument
@group_option
@all_groups_option
@click.option("--verbose", is_flag=True, help="Also show each partition.")
@interval_option
@iterations_option
@rows_option(20)
@timeout_option
@wait_options
@bootstrap_server_option
@command_config_option
@live_output_option
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
    """Show the lag of groups, their throughput, and the estimated time until they have caught up, live.

    Shows all groups, or the named ones. Rates cover the time between two views. Ctrl-C ends it.
    """
    names = named_groups(group_arguments, group_options, all_groups or not (group_arguments or group_options))
    with connect_in_time(bootstrap_server, command_config, timeout_ms) as client:
        wait_for_broker(client)
        views = take_views(client, names, timeout_ms, interval, iterations, verbose)
        show(views, partial(_screen, rows), output, "reading ...")


def take_views(
    client: ClusterClient,
    names: list[str] | None,
    timeout_ms: int | None,
    interval_s: float,
    iterations: int,
    verbose: bool,
) -> Iterator[dict[str, Any]]:
    """A view at the end of each interval. If brokers stop answering, that is reported, and the last view is kept."""
    import time

    from kcli.consumer_groups.progress import ProgressReader
    from kcli.consumer_groups.watch_view import Reading, view
    from kcore.client.errors import BrokerUnreachable, ClientTimeout

    reader = ProgressReader(client, timeout_ms)
    last: Reading | None = None

    def read() -> Reading:
        nonlocal last
        try:
            group_ids, unlisted = find_groups(reader.groups, names)
            groups, failures = reader.read(group_ids)
            last = Reading(groups, [text_of(failure) for failure in unlisted + failures], time.monotonic())
        except (BrokerUnreachable, ClientTimeout) as error:
            if last is None:
                raise
            # Keep the last values until a broker answers again.
            last = Reading(last.groups, [f"no broker answered: {error}"], time.monotonic())
        return last

    for before, after in readings(read, interval_s, iterations):
        yield view(before, after, verbose)


def _screen(rows: int, view: dict[str, Any]) -> RenderableType:
    from kcli.consumer_groups.watch_screen import screen

    return screen(view, rows)
