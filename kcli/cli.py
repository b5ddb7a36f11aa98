"""The root command: a table of command names, each imported from its own file only when it is run.

Listing the commands reads the table alone, so that `kcli --help` loads nothing that a command needs.
"""

from __future__ import annotations

import sys
from importlib import import_module

import click

from kcli import failures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "server-start": "Start a broker and serve until it is stopped.",
    "server-stop": "Stop the broker that serves a data directory.",
    "context": "Name clusters, and choose which to talk to.",
    "topics": "Create, alter, list, describe and delete topics.",
    "groups": "Describe and watch consumer groups, reset offsets.",
    "quotas": "Describe and alter client quotas.",
    "records": "Delete records from the start of partitions.",
    "transactions": "Find and abort transactions that hang.",
    "get-offsets": "Print an offset of each partition.",
    "log-dirs": "Describe the log directories of brokers.",
    "cluster": "Tell a cluster's id and its brokers.",
    "partitions": "Elect the leaders of partitions.",
    "features": "Describe and change finalized features.",
    "broker-api-versions": "Print which versions of APIs brokers serve.",
    "configs": "Describe, alter and look up configurations.",
    "console-producer": "Send lines of standard input to a topic.",
    "console-consumer": "Print the records of a topic.",
    "top": "Show live what a broker is doing.",
    "perf-test": "Measure how fast a cluster is written and read.",
    "verifiable-producer": "Send numbers, and tell what becomes of each.",
    "verifiable-consumer": "Read as a member of a group, and tell what happens.",
    "dump-log": "Print what segment, index and snapshot files hold.",
    "checkpoint": "Print the small files that stand beside the segments.",
    "storage": "Make cluster ids, format log directories.",
    "log": "Import partitions that Apache Kafka wrote.",
    "completion": "Print the script by which a shell completes.",
    "pipeline": "Run a declared pipeline on Spark.",
    "demo": "Publish a real data set, read it back and show it.",
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is asked for it."""

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
)
@click.version_option(package_name="kcore-broker", prog_name="kcli", message="%(prog)s %(version)s")
def kcli() -> None:
    """A log broker that speaks Apache Kafka's protocol, its clients and its tools.

    Data goes to standard output; logs, errors and progress go to standard error. Every option can be set in the
    environment as KCLI_COMMAND_OPTION, and the bootstrap server as KCLI_BOOTSTRAP_SERVER.

    Exit codes: 0 ok, 1 failed or partly failed, 2 usage, 3 unreachable or timed out, 4 denied, 130 interrupted.
    """


def run(arguments: Sequence[str]) -> int:
    """Runs one command line; the exit code belongs to how it ended."""
    return failures.report(lambda: execute(arguments))


def execute(arguments: Sequence[str]) -> int:
    """What Click's own `main` does, but for its handling of an interrupt, which writes an empty line."""
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
        print(f"{path}: {error.format_message().rstrip('.')} (`{path} --help` tells more)", file=sys.stderr)
        return error.exit_code
    except click.ClickException as error:
        print(f"kcli: {error.format_message()}", file=sys.stderr)
        return error.exit_code
    except click.Abort:
        return failures.INTERRUPTED
    except BrokenPipeError:
        return _end_without_reader()
    return result if isinstance(result, int) else failures.OK


def _end_without_reader() -> int:
    """The reader of our output has gone (`kcli ... | head`): nothing is wrong, and nothing more can be said."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return failures.OK
