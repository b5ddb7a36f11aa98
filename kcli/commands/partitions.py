"""`kcli partitions elect-leaders`: like kafka-leader-election (KIP-460).

A file of partitions is {"partitions": [{"topic": "orders", "partition": 0}]}.
"""

from __future__ import annotations

import click

from kcli.action_group import ActionGroup
from kcli.completion import complete_topics
from kcli.failures import UsageFailure, raise_failures
from kcli.options import bootstrap_server_option, command_config_option, connect
from kcli.output import KAFKA, output_option, write_rows
from kcli.properties import read_properties
from kcli.ranges import IntegerRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcli.output import Row
    from kcore.client.metadata.cluster import TopicPartition

PREFERRED = "preferred"
ELECTION_TYPES = {PREFERRED: 0, "unclean": 1}
ELECTION_NOT_NEEDED = 84


@click.group(
    "partitions",
    cls=ActionGroup,
    examples="""
    # Elect the preferred leaders of all partitions
    kcli partitions elect-leaders --all-topic-partitions
    """,
)
def command() -> None:
    """Elect the leaders of partitions."""


@command.command(
    "elect-leaders",
    examples="""
    # Elect the preferred leaders of all partitions
    kcli partitions elect-leaders --all-topic-partitions
    # Elect a leader for a partition without in-sync replicas, which may lose records
    kcli partitions elect-leaders --election-type unclean --topic orders --partition 0
    """,
)
@click.option(
    "--election-type",
    type=click.Choice(list(ELECTION_TYPES), case_sensitive=False),
    default=PREFERRED,
    show_default=True,
    help="preferred: the first replica. unclean: any replica if none is in sync, which may lose records.",
)
@click.option("--topic", metavar="TOPIC", shell_complete=complete_topics, help="Topic of --partition.")
@click.option("--partition", type=IntegerRange(min=0), metavar="N", help="Partition of --topic.")
@click.option("--path-to-json-file", metavar="FILE", help="JSON file of partitions.")
@click.option("--all-topic-partitions", is_flag=True, help="All partitions of the cluster.")
@bootstrap_server_option
@command_config_option
@output_option
def elect_leaders(
    election_type: str,
    topic: str | None,
    partition: int | None,
    path_to_json_file: str | None,
    all_topic_partitions: bool,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Elect the leaders of one partition, of the partitions in a file, or of all partitions.

    Partitions whose leader is already the right one stay unchanged.
    """
    from kcore.client.admin.partitions import PartitionAdmin

    wanted = _wanted(topic, partition, path_to_json_file, all_topic_partitions)
    with connect(bootstrap_server, read_properties(command_config)) as client:
        outcomes = PartitionAdmin(client).elect_leaders(ELECTION_TYPES[election_type.lower()], wanted)
    failures = {place: error for place, error in outcomes.items() if error is not None and not _is_needless(error)}
    rows = [
        {"topic": place.topic, "partition": place.partition, "elected": error is None}
        for place, error in outcomes.items()
        if place not in failures
    ]
    kind = election_type.upper()
    write_rows(rows, output, print_as_kafka=lambda listed: _print_as_kafka(listed, kind, failures))
    if output == KAFKA and failures:
        raise_failures([f"{len(failures)} replica(s) could not be elected"])
    raise_failures(list(failures.values()))


def _is_needless(error: Exception) -> bool:
    return getattr(error, "code", None) == ELECTION_NOT_NEEDED


def _print_as_kafka(rows: Iterable[Row], kind: str, failures: Mapping[TopicPartition, Exception]) -> None:
    from kcore.client.errors import broker_message

    listed = list(rows)
    elected, needless = (
        ", ".join(f"{row['topic']}-{row['partition']}" for row in listed if row["elected"] is done)
        for done in (True, False)
    )
    if elected:
        click.echo(f"Successfully completed leader election ({kind}) for partitions {elected}")
    if needless:
        click.echo(f"Valid replica already elected for partitions {needless}")
    for place, error in failures.items():
        click.echo(f"Error completing leader election ({kind}) for partition: {place}: {broker_message(error)}")


def _wanted(
    topic: str | None, partition: int | None, path: str | None, everything: bool
) -> list[TopicPartition] | None:
    """The selected partitions; None for all."""
    from kcore.client.metadata.cluster import TopicPartition

    if (topic is not None) + (path is not None) + everything != 1:
        raise UsageFailure("pass exactly one of --topic, --path-to-json-file and --all-topic-partitions")
    if (topic is None) != (partition is None):
        raise UsageFailure("--topic and --partition must be passed together: add the other one")
    if topic is not None and partition is not None:
        return [TopicPartition(topic, partition)]
    return None if path is None else _read(path)


def _read(path: str) -> list[TopicPartition]:
    import json

    from kcore.client.metadata.cluster import TopicPartition

    with click.open_file(path, encoding="utf-8") as file:
        try:
            rows = json.load(file)["partitions"]
            return [TopicPartition(str(row["topic"]), int(row["partition"])) for row in rows]
        except (ValueError, TypeError, KeyError):
            raise UsageFailure(
                f'{path}: not a file of partitions. Expected: {{"partitions": [{{"topic": "orders", "partition": 0}}]}}'
            ) from None
