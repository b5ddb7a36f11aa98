"""`kcli top`: the activity of a broker, from its metrics."""

from __future__ import annotations

from functools import partial

import click

from kcli.broker_connection import wait_options, wait_s
from kcli.command import Command
from kcli.live_view import interval_option, iterations_option, live_output_option, readings, rows_option, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from rich.console import RenderableType

DEFAULT_URL = "http://127.0.0.1:9404/metrics"


@click.command(
    "top",
    cls=Command,
    examples="""
    # Show the activity of a broker that was started with --override metrics.port=9404
    kcli top
    # Print one view as JSON, over 10 seconds
    kcli top --interval 10 --iterations 1 -o jsonl
    # Show another broker, with up to 30 topics and groups
    kcli top --metrics-url http://kafka:9404/metrics --rows 30
    """,
)
@click.option(
    "--metrics-url",
    envvar="KCLI_METRICS_URL",
    default=DEFAULT_URL,
    show_default=True,
    metavar="URL",
    help="URL of the broker's metrics (metrics.host and metrics.port).",
)
@wait_options
@interval_option
@iterations_option
@rows_option(10)
@live_output_option
def command(metrics_url: str, interval: float, iterations: int, rows: int, output: str) -> None:
    """Show the activity of a broker, live: throughput, request times, topics, and the lag of consumer groups.

    The broker must serve metrics: kcli server-start --override metrics.port=9404. A view is one
    refresh of the screen. Its rates and percentiles cover the time since the previous view. Ctrl-C ends the command.
    """
    show(
        take_views(metrics_url, interval, iterations),
        partial(_screen, metrics_url, rows),
        output,
        f"reading {metrics_url} ...",
    )


def take_views(url: str, interval_s: float, iterations: int) -> Iterator[dict[str, Any]]:
    """A view at the end of each interval."""
    from kcli.top.scrape import ScrapeReader
    from kcli.top.view import view

    for before, after in readings(ScrapeReader(url, wait_s()).read, interval_s, iterations):
        yield view(before, after)


def _screen(url: str, rows: int, view: dict[str, Any]) -> RenderableType:
    from kcli.top.screen import screen

    return screen(view, url, rows)
