"""`kcli top`: what a broker is doing at the moment, out of its metrics."""

from __future__ import annotations

import click

from kcli.output import JSON_LINES, TABLE, write_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

DEFAULT_URL = "http://127.0.0.1:9404/metrics"


@click.command("top")
@click.option(
    "--metrics-url",
    envvar="KCLI_METRICS_URL",
    default=DEFAULT_URL,
    show_default=True,
    metavar="URL",
    help="Where the broker serves its metrics (metrics.host and metrics.port).",
)
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
    "--rows", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="Of each table, on the screen."
)
@click.option(
    "-o",
    "--output",
    type=click.Choice([TABLE, JSON_LINES]),
    default=TABLE,
    show_default=True,
    help="How to print: a live view, or plain ones where the output is no terminal; or one JSON object a line.",
)
def command(metrics_url: str, interval: float, iterations: int, rows: int, output: str) -> None:
    """Show throughput, requests and their times, topics, and consumer groups with their lag, live.

    The broker has to serve metrics: kcli server-start --override metrics.port=9404. Rates and percentiles are those of
    the interval between two readings. Ctrl-C ends it.
    """
    views = take_views(metrics_url, interval, iterations)
    if output == JSON_LINES:
        for view in views:
            write_object(view)
        return
    show(views, metrics_url, rows)


def take_views(url: str, interval_s: float, iterations: int) -> Iterator[dict[str, Any]]:
    """A view at the end of each interval."""
    import time

    from kcli.top.scrape import scrape
    from kcli.top.view import view

    before = scrape(url)
    number = 0
    while iterations == 0 or number < iterations:
        time.sleep(interval_s)
        after = scrape(url)
        yield view(before, after)
        before = after
        number += 1


def show(views: Iterator[dict[str, Any]], url: str, rows: int) -> None:
    """In place on a terminal, one below the other elsewhere."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from kcli.top.screen import screen

    console = Console()
    if not console.is_terminal:
        for view in views:
            console.print(screen(view, url, rows))
            console.print()
        return
    with Live(Text(f"reading {url} ..."), console=console, screen=True, auto_refresh=False) as live:
        for view in views:
            live.update(screen(view, url, rows), refresh=True)
