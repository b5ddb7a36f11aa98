"""Live views: refreshed at each interval, on a screen, as plain text, or as one JSON object per line."""

from __future__ import annotations

import sys

import click

from kcli.output import JSON_LINES, TABLE, write_object
from kcli.ranges import IntegerRange, NumberRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeVar

    from rich.console import RenderableType

    Reading = TypeVar("Reading")
    Command = TypeVar("Command", bound=Callable[..., Any])

# Width of views that are not printed to a terminal.
PLAIN_WIDTH = 160

interval_option = click.option(
    "--interval",
    type=NumberRange(0.1, 3600),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between two views, in seconds.",
)
iterations_option = click.option(
    "--iterations",
    type=IntegerRange(0),
    default=0,
    metavar="N",
    help="Number of views. Default: until Ctrl-C.",
)
live_output_option = click.option(
    "-o",
    "--output",
    type=click.Choice([TABLE, JSON_LINES]),
    default=TABLE,
    show_default=True,
    help="Output format: live tables (plain text if stdout is not a terminal), or one JSON object per line.",
)


def rows_option(default: int) -> Callable[[Command], Command]:
    """An option for the number of rows."""
    return click.option(
        "--rows",
        type=IntegerRange(1),
        default=default,
        show_default=True,
        metavar="N",
        help="Maximum number of rows per table.",
    )


def readings(read: Callable[[], Reading], interval_s: float, iterations: int) -> Iterator[tuple[Reading, Reading]]:
    """Pairs of consecutive readings, one pair per interval. `iterations` of 0 never ends."""
    import time

    before = read()
    number = 0
    while iterations == 0 or number < iterations:
        time.sleep(interval_s)
        after = read()
        yield before, after
        before = after
        number += 1


def show(
    views: Iterable[dict[str, Any]],
    screen: Callable[[dict[str, Any]], RenderableType],
    output: str,
    waiting: str,
    *,
    below_output: bool = False,
) -> None:
    """Shows views in place on a terminal (`waiting` before the first one), and below each other elsewhere.

    A view takes the whole screen. With `below_output` it takes the last lines only, below all that is printed through
    `sys.stdout` and `sys.stderr` by any thread. That output and the last view stay on the terminal.
    """
    if output == JSON_LINES:
        for view in views:
            write_object(view)
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH)
        for view in views:
            console.print(screen(view))
            console.print()
        return
    live_view = Live(
        Text(waiting),
        console=console,
        screen=not below_output,
        auto_refresh=False,
        # If stderr is a file, its lines must go to that file.
        redirect_stderr=sys.stderr.isatty(),
    )
    with live_view as live:
        for view in views:
            live.update(screen(view), refresh=True)
