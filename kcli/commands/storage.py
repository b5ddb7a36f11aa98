"""`kcli storage`: like kafka-storage, cluster ids and `meta.properties` in log directories.

A broker formats its log directories at its first start. Format them before to choose the cluster id.
"""

from __future__ import annotations

import os

import click

from kcli.action_group import ActionGroup
from kcli.failures import Failure, UsageFailure
from kcli.output import KAFKA, TABLE, output_option, write_object, write_rows
from kcli.properties import read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcli.output import Row
    from kcore.storage.meta_properties import MetaProperties

UUID_BYTES = 16

config_option = click.option("-c", "--config", metavar="FILE", required=True, help="Properties file of the broker.")


@click.group(
    "storage",
    cls=ActionGroup,
    examples="""
    # Format the log directories of a broker with a new cluster id
    kcli storage format --config server.properties --cluster-id "$(kcli storage random-uuid)"
    """,
)
def command() -> None:
    """Generate cluster ids, and format and inspect log directories."""


@command.command(
    "random-uuid",
    examples="""
    # Print a new cluster id
    kcli storage random-uuid
    # Print it as JSON
    kcli storage random-uuid -o json
    """,
)
@output_option
def random_uuid(output: str) -> None:
    """Print a new cluster id."""
    from kcore import uuid

    text = "-"
    while text.startswith("-"):  # would look like an option on a command line
        text = uuid.to_text(os.urandom(UUID_BYTES))
    if output in (TABLE, KAFKA):
        click.echo(text)
    else:
        write_object({"uuid": text})


@command.command(
    "info",
    examples="""
    # Show how the log directories of a broker are formatted
    kcli storage info --config server.properties
    # Show it as JSON
    kcli storage info --config server.properties -o json
    """,
)
@config_option
@output_option
def info(config: str, output: str) -> None:
    """Show the cluster id and the broker id of log directories.

    The exit code is 1 if a directory is not formatted, or if the directories belong to different clusters.
    """
    directories = log_directories(config)
    found = {directory: _read(directory) for directory in directories}
    problems = _problems(found)
    rows = [_row(directory, meta) for directory, meta in found.items()]
    write_rows(rows, output, print_as_kafka=lambda listed: _print_as_kafka(found, problems))
    if problems and output != KAFKA:
        raise Failure("\n".join(problems), problems)
    if problems:
        click.get_current_context().exit(1)


def _row(directory: str, meta: MetaProperties | None) -> Row:
    return {
        "directory": directory,
        "formatted": meta is not None,
        "cluster_id": None if meta is None else meta.cluster_id,
        "node_id": None if meta is None else meta.node_id,
    }


def _problems(found: dict[str, MetaProperties | None]) -> list[str]:
    problems = [f"{directory} is not formatted." for directory, meta in found.items() if meta is None]
    clusters = {meta.cluster_id for meta in found.values() if meta is not None}
    if len(clusters) > 1:
        problems.append(
            f"The log directories belong to different clusters: {', '.join(map(str, sorted(map(str, clusters))))}."
        )
    return problems


def _print_as_kafka(found: dict[str, MetaProperties | None], problems: list[str]) -> None:
    click.echo("Found log director" + ("y:" if len(found) == 1 else "ies:"))
    for directory in sorted(found):
        click.echo(f"  {directory}")
    click.echo("")
    known = next((meta for meta in found.values() if meta is not None), None)
    if known is not None:
        pairs = ", ".join(f"{name}={value}" for name, value in sorted(known.properties().items()))
        click.echo(f"Found metadata: {{{pairs}}}\n")
    if problems:
        click.echo("Found problem" + (":" if len(problems) == 1 else "s:"))
        for problem in problems:
            click.echo(f"  {problem}")
        click.echo("")


@command.command(
    "format",
    examples="""
    # Format the log directories of a broker with a new cluster id
    kcli storage format --config server.properties --cluster-id "$(kcli storage random-uuid)"
    # Format a log directory that was added to the configuration
    kcli storage format --config server.properties --cluster-id ZmFrZWNsdXN0ZXJpZDAwMA --ignore-formatted
    """,
)
@config_option
@click.option(
    "-t", "--cluster-id", required=True, metavar="ID", help="Cluster id, as printed by `kcli storage random-uuid`."
)
@click.option("-g", "--ignore-formatted", is_flag=True, help="Skip directories that are already formatted.")
@output_option
def format_directories(config: str, cluster_id: str, ignore_formatted: bool, output: str) -> None:
    """Format the log directories of a broker before its first start."""
    from kcore import uuid
    from kcore.platform.real_disk import RealDisk
    from kcore.storage.meta_properties import MetaProperties, write_meta_properties

    try:
        uuid.from_text(cluster_id)
    except ValueError:
        raise Failure(f"Cluster ID string {cluster_id} does not appear to be a valid UUID") from None
    directories = log_directories(config)
    formatted = [directory for directory in directories if _read(directory) is not None]
    if formatted and not ignore_formatted:
        raise Failure(
            f"Log directory {formatted[0]} is already formatted. Use --ignore-formatted to ignore this directory and "
            "format the others."
        )
    node_id = _node_id(read_properties(config))
    rows: list[Row] = []
    disk = RealDisk()
    for directory in directories:
        if directory not in formatted:
            disk.mkdirs(directory)
            write_meta_properties(disk, directory, MetaProperties(cluster_id, node_id, os.urandom(UUID_BYTES)))
            rows.append({"directory": directory, "cluster_id": cluster_id, "node_id": node_id})
    if not rows and output == KAFKA:
        click.echo("All of the log directories are already formatted.")
    write_rows(rows, output, print_as_kafka=lambda listed: _print_formatted(listed))


def _print_formatted(rows: object) -> None:
    assert isinstance(rows, list)
    for row in rows:
        click.echo(f"Formatting {row['directory']}.")


def _node_id(properties: dict[str, str]) -> int:
    text = properties.get("node.id", properties.get("broker.id", "1"))
    if not text.strip().isdecimal():
        raise UsageFailure(f"node.id={text}: must be a whole number that is not negative")
    return int(text)


def log_directories(config: str) -> list[str]:
    """The log directories in a properties file, or the default data directory."""
    from kcli.data_directory import default_data_directory

    properties = read_properties(config)
    stated = properties.get("log.dirs") or properties.get("log.dir") or default_data_directory()
    return [os.path.abspath(directory.strip()) for directory in stated.split(",") if directory.strip()]


def _read(directory: str) -> MetaProperties | None:
    from kcore.platform.real_disk import RealDisk
    from kcore.storage.meta_properties import read_meta_properties

    return read_meta_properties(RealDisk(), directory)
