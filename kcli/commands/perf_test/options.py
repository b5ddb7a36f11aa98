"""The options that all measurements share."""

from __future__ import annotations

import click

from kcli.broker_connection import wait_options
from kcli.options import bootstrap_server_option
from kcli.output import output_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from click.decorators import FC


def measuring_options(workers: bool = True) -> Callable[[FC], FC]:
    """Options of all measurements; `workers` where several can share the work."""
    options = [
        click.option("--warmup-records", type=click.IntRange(min=0), default=0, help="Count the first ones apart."),
        click.option(
            "--reporting-interval", type=click.IntRange(min=1), default=5_000, show_default=True, help="In ms."
        ),
        click.option("--live/--no-live", default=None, help="Show it live on stderr. Default: on a terminal."),
        click.option("--result-file", metavar="FILE", help="Write everything, with the curve, as JSON to this file."),
        click.option(
            "--against",
            metavar="HOST:PORT",
            help="Measure another cluster in turn, by the same properties, and print ratios.",
        ),
        click.option("--rounds", type=click.IntRange(1, 1000), default=3, show_default=True, help="With --against."),
    ]
    if workers:
        options += [
            click.option(
                "--threads", type=click.IntRange(1, 256), default=1, show_default=True, help="Clients at once."
            ),
            click.option(
                "--processes", type=click.IntRange(1, 256), default=1, help="Clients at once, each in its own process."
            ),
        ]

    def decorate(function: FC) -> FC:
        for option in [wait_options, bootstrap_server_option, output_option, *reversed(options)]:
            function = option(function)
        return function

    return decorate
