"""`kcli server-stop`: asks the broker of a data directory to stop, and waits until it has stopped.

The process is opened as a pidfd before its identity is checked, so that the signal cannot reach another process.
"""

from __future__ import annotations

import os
import select
import signal

import click

from kcli.command import Command
from kcli.data_directory import default_data_directory, read_serving_pid
from kcli.failures import UnreachableFailure
from kcli.output import TABLE, output_option, write_object
from kcli.properties import read_properties
from kcli.ranges import NumberRange


@click.command(
    "server-stop",
    cls=Command,
    examples="""
    # Stop the broker of the default data directory
    kcli server-stop
    # Stop the broker of another directory, and wait for up to five minutes
    kcli server-stop --data-dir /tmp/kcli --timeout 300
    """,
)
@click.argument("properties_file", metavar="[SERVER.PROPERTIES]", required=False)
@click.option("--data-dir", metavar="DIR", help="Data directory of the broker. Default: as for server-start.")
@click.option(
    "--timeout",
    type=NumberRange(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Maximum wait for the broker's end, in seconds.",
)
@output_option
def command(properties_file: str | None, data_dir: str | None, timeout: float, output: str) -> None:
    """Stop the broker that runs on a data directory.

    The broker completes requests in flight, flushes and closes its logs. The command returns when the broker has ended.
    It also succeeds if no broker is running on the directory.
    """
    directory = directory_of(properties_file, data_dir)
    pid = stop_broker(directory, timeout)
    if output != TABLE:
        write_object({"data_dir": directory, "pid": pid, "stopped": pid is not None})
    elif pid is None:
        click.echo(f"no broker is running on {directory}")
    else:
        click.echo(f"stopped the broker of {directory} (pid {pid})")


def directory_of(properties_file: str | None, data_dir: str | None) -> str:
    """The data directory of the arguments."""
    if data_dir is not None:
        return os.path.abspath(data_dir)
    properties = read_properties(properties_file)
    stated = properties.get("log.dirs") or properties.get("log.dir")
    return os.path.abspath(stated.split(",")[0].strip()) if stated else default_data_directory()


def stop_broker(directory: str, timeout_s: float) -> int | None:
    """Stops the broker of the directory and returns its process id; None if there is no broker."""
    pid = read_serving_pid(directory)
    if pid is None:
        return None
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    try:
        if read_serving_pid(directory) != pid:
            return None
        signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        if not poller.poll(timeout_s * 1000):
            raise UnreachableFailure(
                f"{directory}: the broker (pid {pid}) did not stop within {timeout_s:g} s. Wait longer with --timeout, "
                f"or end it with: kill -9 {pid} (it recovers its logs at the next start)"
            )
    finally:
        os.close(descriptor)
    return pid
