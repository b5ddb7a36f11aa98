"""`kcli perf-test producer|consumer|e2e`: what Kafka's three perf tools do, and more of it."""

from __future__ import annotations

import click

from kcli.commands.perf_test.consumer import consumer
from kcli.commands.perf_test.e2e import e2e
from kcli.commands.perf_test.producer import producer


@click.group("perf-test")
def command() -> None:
    """Measure how fast a cluster is written and read.

    The summaries are the lines of Kafka's perf tools, or with -o json one object; MB are 2^20 bytes of keys and values.
    On a terminal rates and latencies are shown live, with their curves so far.
    """


command.add_command(producer)
command.add_command(consumer)
command.add_command(e2e)
