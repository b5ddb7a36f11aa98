"""Selection of groups and of their partitions.

Groups are named exactly: a group id may contain any character, so there are no patterns. A topic may be followed by
partitions, as in `orders:0,2`; without them, all its partitions are selected.
"""

from __future__ import annotations

import click

from kcli.completion import complete_groups, complete_topics
from kcli.failures import UsageFailure
from kcli.options import connect
from kcli.properties import read_properties
from kcli.ranges import IntegerRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcore.client.admin.groups import GroupAdmin, GroupListing
    from kcore.client.admin.topics import TopicAdmin
    from kcore.client.cluster_client import ClusterClient
    from kcore.client.metadata.cluster import TopicPartition

CONSUMER_PROTOCOL = "consumer"

group_argument = click.argument("group_arguments", metavar="[GROUP]...", nargs=-1, shell_complete=complete_groups)
group_option = click.option(
    "--group",
    "group_options",
    multiple=True,
    metavar="GROUP",
    shell_complete=complete_groups,
    help="Consumer group. May be repeated.",
)
all_groups_option = click.option("--all-groups", is_flag=True, help="All consumer groups.")
topic_option = click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC[:ID,...]",
    shell_complete=complete_topics,
    help="Topic, or partitions of a topic. May be repeated.",
)
timeout_option = click.option(
    "--timeout",
    "timeout_ms",
    type=IntegerRange(1, 2**31 - 1),
    metavar="MS",
    help="Request timeout, in ms. Default: request.timeout.ms of the client (30000).",
)


def connect_in_time(bootstrap_server: str, command_config: str | None, timeout_ms: int | None) -> ClusterClient:
    """A client for the cluster with --timeout as its request timeout."""
    properties = read_properties(command_config)
    if timeout_ms is not None:
        properties["request.timeout.ms"] = str(timeout_ms)
    return connect(bootstrap_server, properties)


def named_groups(arguments: Iterable[str], options: Iterable[str], all_groups: bool) -> list[str] | None:
    """The named groups without repetitions; None for all."""
    names = list(dict.fromkeys([*arguments, *options]))
    if all_groups == bool(names):
        raise UsageFailure("pass either group names or --all-groups")
    for name in names:
        # Bytes on the command line that are not text are surrogates in Python. No request can contain them.
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise UsageFailure(f"--group {name!r}: invalid group id: not UTF-8 text")
    return names or None


def find_groups(admin: GroupAdmin, names: list[str] | None) -> tuple[list[str], list[str | Exception]]:
    """The ids of the selected groups, and errors of brokers whose groups could not be listed."""
    if names is not None:
        return names, []
    listed, failures = admin.list_groups()
    return [group.group_id for group in listed if is_of_consumers(group)], list(failures)


def is_of_consumers(group: GroupListing) -> bool:
    """Whether consumers use the group. A group without a protocol only stores offsets (of simple consumers)."""
    return group.protocol_type in (CONSUMER_PROTOCOL, "")


def find_partitions(admin: TopicAdmin, topics: Iterable[str]) -> tuple[list[TopicPartition], list[str | Exception]]:
    """The selected partitions, sorted, and failures for missing topics."""
    from kcli.topic_selection import not_there
    from kcore.client.admin.results import failures, succeeded
    from kcore.client.metadata.cluster import TopicPartition

    wanted = [parse_topic(text) for text in topics]
    whole = list(dict.fromkeys(topic for topic, numbers in wanted if numbers is None))
    partitions = {TopicPartition(topic, number) for topic, numbers in wanted for number in numbers or ()}
    described = admin.describe_topics(whole)
    for topic in succeeded(described).values():
        partitions.update(TopicPartition(topic.name, info.partition) for info in topic.partitions)
    return sorted(partitions), [not_there(name) for name in failures(described)]


def parse_topic(text: str) -> tuple[str, list[int] | None]:
    """`orders:0,2` is a topic with partitions; `orders` is the topic with all partitions, which are None."""
    topic, colon, numbers = text.partition(":")
    try:
        partitions = [int(number) for number in numbers.split(",")] if colon else None
    except ValueError:
        partitions = [-1]
    if not topic or any(not 0 <= number < 2**31 for number in partitions or ()):
        raise UsageFailure(f"--topic {text!r}: must be a topic, or a topic with partitions, as in orders:0,2")
    return topic, partitions
