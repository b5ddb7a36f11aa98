"""The root command: a table of command names, each imported from its own file when it is run.

`kcli --help` reads the table only, so it loads nothing that a command needs.
"""

from __future__ import annotations

import sys
from importlib import import_module

import click

from kcli import failures
from kcli.command import Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "server-start": "Start a broker and serve until it is stopped.",
    "server-stop": "Stop the broker that runs on a data directory.",
    "context": "Manage contexts, which are named clusters.",
    "topics": "Create, alter, list, describe and delete topics.",
    "groups": "Describe, watch, reset and delete consumer groups.",
    "quotas": "Describe and alter client quotas.",
    "records": "Delete records from the start of partitions.",
    "transactions": "Find and abort hanging transactions.",
    "get-offsets": "Print the offsets of partitions.",
    "log-dirs": "Describe the log directories of brokers.",
    "cluster": "Show the cluster id and brokers.",
    "partitions": "Elect the leaders of partitions.",
    "features": "Describe and change finalized features.",
    "broker-api-versions": "Print the API versions that brokers support.",
    "configs": "Describe, alter and look up configurations.",
    "console-producer": "Send lines of standard input to a topic.",
    "console-consumer": "Print the records of a topic.",
    "top": "Show the activity of a broker, live.",
    "perf-test": "Measure throughput and latency.",
    "verifiable-producer": "Send numbers and report each delivery as JSON.",
    "verifiable-consumer": "Read as a group member and report events as JSON.",
    "dump-log": "Print segment, index and snapshot files.",
    "checkpoint": "Print checkpoint and metadata files.",
    "storage": "Generate cluster ids and format log directories.",
    "log": "Import partitions written by Apache Kafka.",
    "completion": "Print the shell completion script.",
    "pipeline": "Run a declared pipeline on Spark.",
    "demo": "Publish a real data set, read it back and show it.",
}


class LazyGroup(Group):
    """A group that has a table of its commands and imports a command when it is used."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = import_module(f"kcli.commands.{name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "KCLI", "max_content_width": 100},
    examples="""
    # Start a broker on 127.0.0.1:9092
    kcli server-start
    # Create a topic and write a record to it
    kcli topics create orders && echo hello | kcli console-producer orders
    # Print the records of the topic
    kcli console-consumer orders --exit-at-end
    """,
)
@click.version_option(package_name="kcore-broker", prog_name="kcli", message="%(prog)s %(version)s")
def kcli() -> None:
    """A log broker that speaks Apache Kafka's protocol, with its clients and tools.

    Output goes to standard output; logs, errors and progress go to standard error. Environment variables set options:
    KCLI_TOPICS_CREATE_PARTITIONS=6 sets --partitions of `kcli topics create`. KCLI_BOOTSTRAP_SERVER sets
    --bootstrap-server of all commands that connect to a cluster. Commands that read files or start and stop a broker
    do not have this option.

    Exit codes: 0 success, 1 failure or partial failure, 2 usage error, 3 unreachable or timed out, 4 denied,
    130 interrupted.
    """


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code."""
    return failures.report(lambda: execute(arguments))


def execute(arguments: Sequence[str]) -> int:
    """Replaces Click's own `main`, which writes an empty line after an interrupt."""
    try:
        with kcli.make_context("kcli", list(arguments)) as context:
            result = kcli.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return error.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else "kcli"
        message = error.format_message()
        print(f"{path}: {message}{'' if message.endswith(('.', '?')) else '.'} See: {path} --help", file=sys.stderr)
        return error.exit_code
    except click.ClickException as error:
        failures.complain(error.format_message())
        return error.exit_code
    except click.Abort:
        return failures.INTERRUPTED
    except BrokenPipeError:
        return _end_without_reader()
    return result if isinstance(result, int) else failures.OK


def _end_without_reader() -> int:
    """Ends without an error when the reader of stdout has gone (`kcli ... | head`)."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return failures.OK
