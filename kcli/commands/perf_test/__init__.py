"""`kcli perf-test producer|consumer|e2e`: like Kafka's three perf tools, and more."""

from __future__ import annotations

import click

from kcli.command import Group
from kcli.commands.perf_test.consumer import consumer
from kcli.commands.perf_test.e2e import e2e
from kcli.commands.perf_test.producer import producer


@click.group(
    "perf-test",
    cls=Group,
    examples="""
    # Write a million records of 100 bytes
    kcli perf-test producer --topic perf --num-records 1000000 --record-size 100
    # Read them
    kcli perf-test consumer --topic perf --messages 1000000
    """,
)
def command() -> None:
    """Measure throughput and latency.

    Results are printed in the format of Kafka's perf tools, or as one JSON object with -o json. MB are 2^20 bytes of
    keys and values. On a terminal, rates and latencies are shown live.
    """


command.add_command(producer)
command.add_command(consumer)
command.add_command(e2e)
