"""`kcli get-offsets`: like kafka-get-offsets, one offset per partition as `topic:partition:offset`."""

from __future__ import annotations

import re

import click

from kcli.command import Command
from kcli.completion import complete_topics
from kcli.failures import NotThere, UsageFailure, raise_failures
from kcli.options import bootstrap_server_option, command_config_option, connect
from kcli.output import KAFKA, output_option, write_rows
from kcli.properties import read_properties
from kcli.topic_selection import TopicSelection, find_topics, not_there, split_pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcli.output import Row
    from kcore.client.admin.topics import TopicAdmin
    from kcore.client.metadata.cluster import TopicPartition

    Wanted = Callable[[str, int], bool]

SPECIAL_TIMES = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}
MAX_TIMESTAMP = 2**63 - 1
# topic, or topic:partitions; partitions are 1, 0-3 (excludes 3), 5-, -3 (excludes 3), or empty for all
PIECE = re.compile(r"(?P<topic>[^:]*)(?::(?P<partitions>\d*|\d*-\d*))?")


@click.command(
    "get-offsets",
    cls=Command,
    examples="""
    # Print the log end offsets of a topic
    kcli get-offsets --topic orders
    # Print the log start offsets of partitions 0 and 2
    kcli get-offsets --topic orders --partitions 0,2 --time earliest
    # Print the offsets of the first records since 2026-01-31 00:00 UTC
    kcli get-offsets --topic orders --time 1769817600000
    """,
)
@click.option(
    "--topic",
    "topic_text",
    metavar="TOPICS",
    shell_complete=complete_topics,
    help="Topic names or patterns: a,b or 'orders-*' or '(a|b)[0-9]+'. Default: all topics.",
)
@click.option("--partitions", "partition_text", metavar="N,...", help="Partitions. Default: all.")
@click.option(
    "--topic-partitions", metavar="TOPIC:PARTITIONS,...", help="Topics with their partitions: a:1,b:0-3,c:5-,:7."
)
@click.option(
    "--time",
    metavar="TIME",
    default="latest",
    show_default=True,
    help=f"Which offset: {', '.join(SPECIAL_TIMES)}, or the first record since a time in ms since 1970.",
)
@click.option("--exclude-internal-topics", is_flag=True, help="Exclude internal topics.")
@bootstrap_server_option
@command_config_option
@output_option
def command(
    topic_text: str | None,
    partition_text: str | None,
    topic_partitions: str | None,
    time: str,
    exclude_internal_topics: bool,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Print an offset of each partition: the log end, the log start, or the first record since a time.

    Partitions without a record since the time are omitted. In JSON, their offset is null.
    """
    from kcore.client.admin.records import RecordAdmin
    from kcore.client.admin.results import failures, succeeded
    from kcore.client.admin.topics import TopicAdmin

    if topic_partitions is not None and (topic_text is not None or partition_text is not None):
        raise UsageFailure("--topic-partitions cannot be combined with --topic or --partitions: remove them")
    timestamp = parse_time(time)
    selection = None if topic_text is None else TopicSelection(topic_text)
    is_wanted = wanted_partitions(topic_partitions) if topic_partitions is not None else _numbers(partition_text)
    with connect(bootstrap_server, read_properties(command_config)) as client:
        partitions, missing = _find(TopicAdmin(client), selection, is_wanted, exclude_internal_topics)
        found = RecordAdmin(client).list_offsets(dict.fromkeys(partitions, timestamp))
    rows = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "offset": None if listed.offset < 0 else listed.offset,
            "timestamp": None if listed.timestamp < 0 else listed.timestamp,
        }
        for partition, listed in succeeded(found).items()
    ]
    write_rows(rows, output, _print_offsets)
    unlisted = [] if output == KAFKA and rows else missing
    raise_failures([*unlisted, *failures(found).values()])


def _find(
    admin: TopicAdmin, selection: TopicSelection | None, is_wanted: Wanted, exclude_internal: bool
) -> tuple[list[TopicPartition], list[NotThere]]:
    """The selected partitions, sorted, and failures for missing topics."""
    from kcore.client.metadata.cluster import TopicPartition

    topics, missing = find_topics(admin, selection)
    partitions = sorted(
        TopicPartition(topic.name, info.partition)
        for topic in topics
        for info in topic.partitions
        if is_wanted(topic.name, info.partition) and not (exclude_internal and topic.is_internal)
    )
    complaints = [not_there(name) for name in missing]
    if not partitions and not complaints:
        complaints.append(NotThere("", "no partition matches. List the partitions with: kcli topics describe '*'"))
    return partitions, complaints


def _print_offsets(rows: Iterable[Row]) -> None:
    for row in rows:
        if row["offset"] is not None:
            click.echo(f"{row['topic']}:{row['partition']}:{row['offset']}")


def parse_time(text: str) -> int:
    """A special time by name or number, or milliseconds since 1970."""
    if text in SPECIAL_TIMES:
        return SPECIAL_TIMES[text]
    try:
        number = int(text)
    except ValueError:
        number = MAX_TIMESTAMP + 1
    if not min(SPECIAL_TIMES.values()) <= number <= MAX_TIMESTAMP:
        raise UsageFailure(f"--time {text!r}: must be {', '.join(SPECIAL_TIMES)}, or milliseconds since 1970")
    return number


def _numbers(text: str | None) -> Wanted:
    """Selects the partitions of any topic, as in `0,2`; all without a text."""
    if text is None:
        return lambda topic, partition: True
    try:
        numbers = {int(number) for number in text.split(",")}
    except ValueError:
        raise UsageFailure(f"--partitions {text!r}: must be partition numbers, as in 0,2") from None
    return lambda topic, partition: partition in numbers


def wanted_partitions(text: str) -> Wanted:
    """Selects partitions, as in `a:1,b:0-3,c:5-,d:-3,e,:7`. The upper end of a range is excluded."""
    filters = [_filter(piece.strip()) for piece in split_pieces(text)]
    return lambda topic, partition: any(is_wanted(topic, partition) for is_wanted in filters)


def _filter(piece: str) -> Wanted:
    parsed = PIECE.fullmatch(piece)
    if parsed is None or not piece.strip(":"):
        raise UsageFailure(f"--topic-partitions {piece!r}: must be like a:1, b:0-3, c:5-, d:-3, e or :7")
    selection = TopicSelection(parsed["topic"], "--topic-partitions") if parsed["topic"] else None
    low, dash, high = (parsed["partitions"] or "-").partition("-")
    first = int(low or 0)
    end = (int(high) if high else MAX_TIMESTAMP) if dash else first + 1

    def is_wanted(topic: str, partition: int) -> bool:
        return (selection is None or selection.includes(topic)) and first <= partition < end

    return is_wanted
