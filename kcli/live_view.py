"""Live views: what a command shows anew at each interval, on a screen, as plain text, or as one JSON object a line."""

from __future__ import annotations

import sys

import click

from kcli.output import JSON_LINES, TABLE, write_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeVar

    from rich.console import RenderableType

    Reading = TypeVar("Reading")
    Command = TypeVar("Command", bound=Callable[..., Any])

# Of views that go to no terminal, whose width nothing limits.
PLAIN_WIDTH = 160

interval_option = click.option(
    "--interval",
    type=click.FloatRange(0.1, 3600),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How long each view is about.",
)
iterations_option = click.option(
    "--iterations", type=click.IntRange(0), default=0, metavar="N", help="End after N views. Default: never."
)
live_output_option = click.option(
    "-o",
    "--output",
    type=click.Choice([TABLE, JSON_LINES]),
    default=TABLE,
    show_default=True,
    help="How to print: a live view, or plain ones where the output is no terminal; or one JSON object a line.",
)


def rows_option(default: int) -> Callable[[Command], Command]:
    """How many rows of each table there are."""
    return click.option(
        "--rows",
        type=click.IntRange(1),
        default=default,
        show_default=True,
        metavar="N",
        help="Of each table, on the screen.",
    )


def readings(read: Callable[[], Reading], interval_s: float, iterations: int) -> Iterator[tuple[Reading, Reading]]:
    """The readings before and after each interval; `iterations` of them, or, with 0, as long as somebody looks."""
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
    """In place on a terminal, which says `waiting` before the first view; one below the other elsewhere.

    A view has the whole screen, or, where it is `below_output`, the lines below all that is printed meanwhile through
    `sys.stdout` and `sys.stderr`, by whichever thread. That output and the last view remain on the terminal.
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
        # A file takes the lines of stderr as it would without a view.
        redirect_stderr=sys.stderr.isatty(),
    )
    with live_view as live:
        for view in views:
            live.update(screen(view), refresh=True)
