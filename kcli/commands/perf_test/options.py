"""Options of all measurements."""

from __future__ import annotations

import click

from kcli.broker_connection import wait_options
from kcli.options import bootstrap_server_option
from kcli.output import output_option
from kcli.ranges import IntegerRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from click.decorators import FC


def measuring_options(workers: bool = True) -> Callable[[FC], FC]:
    """Options of all measurements; `workers` if several clients can share the work."""
    options = [
        click.option(
            "--warmup-records",
            type=IntegerRange(min=0),
            default=0,
            show_default=True,
            metavar="N",
            help="Number of first records to report separately.",
        ),
        click.option(
            "--reporting-interval",
            type=IntegerRange(min=1),
            default=5_000,
            show_default=True,
            metavar="MS",
            help="Time between progress lines, in ms.",
        ),
        click.option(
            "--live/--no-live", default=None, help="Show progress live on stderr. Default: if stderr is a terminal."
        ),
        click.option("--result-file", metavar="FILE", help="JSON file for the result and its curve over time."),
        click.option(
            "--against",
            metavar="HOST:PORT",
            help="Bootstrap servers of a second cluster. Both are measured in turn, and ratios are printed.",
        ),
        click.option(
            "--rounds",
            type=IntegerRange(1, 1000),
            metavar="N",
            help="Number of rounds with --against. Default: 3.",
        ),
    ]
    if workers:
        options += [
            click.option(
                "--threads",
                type=IntegerRange(1, 256),
                default=1,
                show_default=True,
                metavar="N",
                help="Number of concurrent clients, each in a thread.",
            ),
            click.option(
                "--processes",
                type=IntegerRange(1, 256),
                default=1,
                show_default=True,
                metavar="N",
                help="Number of concurrent clients, each in a process.",
            ),
        ]

    def decorate(function: FC) -> FC:
        for option in [wait_options, bootstrap_server_option, output_option, *reversed(options)]:
            function = option(function)
        return function

    return decorate
