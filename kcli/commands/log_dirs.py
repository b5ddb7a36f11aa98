"""`kcli log-dirs describe`: like kafka-log-dirs."""

from __future__ import annotations

import click

from kcli.action_group import ActionGroup
from kcli.completion import complete_brokers, complete_topics
from kcli.failures import NotThere, UsageFailure, raise_failures
from kcli.options import bootstrap_server_alone_option, command_config_option, connect
from kcli.output import KAFKA, output_option, write_rows
from kcli.properties import read_properties
from kcli.topic_selection import not_there

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcli.output import Row
    from kcore.client.admin.log_dirs import LogDirDescription
    from kcore.client.admin.topics import TopicAdmin
    from kcore.client.metadata.cluster import Node, TopicPartition

UNKNOWN_BYTES = -1


@click.group(
    "log-dirs",
    cls=ActionGroup,
    examples="""
    # Show the log directories of all brokers
    kcli log-dirs describe
    """,
)
def command() -> None:
    """Describe the log directories of brokers."""


@command.command(
    "describe",
    examples="""
    # Show the log directories of all brokers
    kcli log-dirs describe
    # Show the size of a topic's partitions on broker 1 as JSON
    kcli log-dirs describe --broker-list 1 --topic-list orders -o json
    """,
)
@click.option(
    "--broker-list", "broker_ids", metavar="ID,...", shell_complete=complete_brokers, help="Broker ids. Default: all."
)
@click.option("--topic-list", metavar="TOPIC,...", shell_complete=complete_topics, help="Topics. Default: all.")
@bootstrap_server_alone_option
@command_config_option
@output_option
def describe(
    broker_ids: str | None, topic_list: str | None, bootstrap_server: str, command_config: str | None, output: str
) -> None:
    """Describe log directories: size and free space of their volumes, and the size of each partition."""
    from kcore.client.admin.log_dirs import LogDirAdmin
    from kcore.client.admin.results import raise_first, succeeded
    from kcore.client.admin.topics import TopicAdmin

    with connect(bootstrap_server, read_properties(command_config)) as client:
        admin = LogDirAdmin(client)
        brokers = _chosen(admin.brokers(), broker_ids)
        partitions, missing = _partitions(TopicAdmin(client), topic_list)
        described = admin.describe_log_dirs(brokers, partitions)
    raise_first(described)
    found = [directory for directories in succeeded(described).values() for directory in directories]
    write_rows(map(_row, found), output, _print_directories, _print_as_kafka)
    if output != KAFKA:
        raise_failures([*missing, *(directory.error for directory in found if directory.error is not None)])


def _chosen(brokers: list[Node], text: str | None) -> list[Node]:
    if text is None:
        return brokers
    try:
        wanted = {int(broker_id) for broker_id in text.split(",")}
    except ValueError:
        raise UsageFailure(f"--broker-list {text!r}: must be broker ids, as in 1,2") from None
    unknown = sorted(wanted - {broker.id for broker in brokers})
    if unknown:
        known = ", ".join(str(broker.id) for broker in brokers)
        raise UsageFailure(
            f"--broker-list: unknown broker {unknown[0]}. Brokers of the cluster: {known}",
            as_kafka="The given brokers do not exist from --broker-list: "
            f"{','.join(map(str, unknown))}. Current existent brokers: {known.replace(' ', '')}",
        )
    return [broker for broker in brokers if broker.id in wanted]


def _partitions(admin: TopicAdmin, text: str | None) -> tuple[list[TopicPartition] | None, list[NotThere]]:
    """The partitions of the named topics (None for all), and failures for missing topics."""
    from kcore.client.admin.results import failures, succeeded
    from kcore.client.metadata.cluster import TopicPartition

    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    if not names:
        return None, []
    described = admin.describe_topics(names)
    found = succeeded(described).values()
    missing = [not_there(name) for name in failures(described)]
    return [TopicPartition(topic.name, info.partition) for topic in found for info in topic.partitions], missing


def _row(found: LogDirDescription) -> Row:
    return {
        "broker": found.broker,
        "log_dir": found.path,
        "error": None if found.error is None else found.error.name,
        "total_bytes": None if found.total_bytes == UNKNOWN_BYTES else found.total_bytes,
        "usable_bytes": None if found.usable_bytes == UNKNOWN_BYTES else found.usable_bytes,
        "partitions": [
            {
                "topic": replica.partition.topic,
                "partition": replica.partition.partition,
                "size": replica.size_bytes,
                "offset_lag": replica.offset_lag,
                "is_future": replica.is_future,
            }
            for replica in found.replicas
        ],
    }


def _print_directories(rows: Iterable[Row]) -> None:
    for row in rows:
        total, usable = row["total_bytes"], row["usable_bytes"]
        volume = "" if total is None or usable is None else f"\tTotalBytes: {total}\tUsableBytes: {usable}"
        error = "" if row["error"] is None else f"\tError: {row['error']}"
        click.echo(
            f"Broker: {row['broker']}\tLogDir: {row['log_dir']}\tPartitions: {len(row['partitions'])}{volume}{error}"
        )
        for replica in row["partitions"]:
            future = "\tFuture" if replica["is_future"] else ""
            click.echo(
                f"\tTopic: {replica['topic']}\tPartition: {replica['partition']}\tSize: {replica['size']}\t"
                f"OffsetLag: {replica['offset_lag']}{future}"
            )


def _print_as_kafka(rows: Iterable[Row]) -> None:
    """Two lines of text, which scripts cut off, and one line of JSON."""
    from kcli.output import to_json

    brokers: dict[int, list[dict[str, object]]] = {}
    for row in rows:
        partitions = [
            {
                "partition": f"{replica['topic']}-{replica['partition']}",
                "size": replica["size"],
                "offsetLag": replica["offset_lag"],
                "isFuture": replica["is_future"],
            }
            for replica in row["partitions"]
        ]
        directory = {"partitions": partitions, "error": row["error"], "logDir": row["log_dir"]}
        brokers.setdefault(row["broker"], []).append(directory)
    click.echo("Querying brokers for log directories information")
    click.echo(f"Received log directory information from brokers {','.join(map(str, brokers))}")
    listed = [{"broker": broker, "logDirs": directories} for broker, directories in brokers.items()]
    click.echo(to_json({"brokers": listed, "version": 1}))
