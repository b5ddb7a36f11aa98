"""`kcli topics describe`: like kafka-topics, topics with their configurations and the brokers of each partition."""

from __future__ import annotations

from functools import partial

import click

from kcli.command import Command
from kcli.completion import complete_topics
from kcli.failures import UsageFailure, raise_failures
from kcli.options import bootstrap_server_option, command_config_option, connect
from kcli.output import KAFKA, output_option, write_rows
from kcli.properties import read_properties
from kcli.ranges import IntegerRange
from kcli.topic_selection import TopicSelection, exclude_internal_option, find_topics, not_there, text_of, topics_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcli.output import Row
    from kcore.client.admin.configs import ConfigAdmin
    from kcore.client.admin.topics import TopicAdmin
    from kcore.client.cluster_client import ClusterClient
    from kcore.client.metadata.cluster import PartitionInfo, TopicDescription


@click.command(
    "describe",
    cls=Command,
    examples="""
    # Describe a topic
    kcli topics describe orders
    # Describe all topics whose names start with orders-, as JSON
    kcli topics describe 'orders-*' -o json
    # Show partitions with missing in-sync replicas
    kcli topics describe '*' --under-replicated-partitions
    """,
)
@click.argument("topic_argument", metavar="[TOPIC]", required=False, shell_complete=complete_topics)
@topics_option
@click.option("--topic-id", metavar="ID", help="Topic id, instead of a name.")
@click.option("--under-replicated-partitions", is_flag=True, help="Only partitions with replicas out of sync.")
@click.option(
    "--under-min-isr-partitions",
    is_flag=True,
    help="Only partitions below min.insync.replicas.",
)
@click.option("--at-min-isr-partitions", is_flag=True, help="Only partitions exactly at min.insync.replicas.")
@click.option("--unavailable-partitions", is_flag=True, help="Only partitions without a live leader.")
@click.option(
    "--partition-size-limit-per-response",
    "page_size",
    type=IntegerRange(1, 2**31 - 1),
    metavar="N",
    help="Maximum number of partitions per response of the broker.",
)
@click.option("--topics-with-overrides", is_flag=True, help="Only topics with their own configurations.")
@exclude_internal_option
@click.option("--if-exists", is_flag=True, help="Succeed if the topic does not exist.")
@bootstrap_server_option
@command_config_option
@output_option
def describe(
    topic_argument: str | None,
    topic_option: str | None,
    topic_id: str | None,
    under_replicated_partitions: bool,
    under_min_isr_partitions: bool,
    at_min_isr_partitions: bool,
    unavailable_partitions: bool,
    page_size: int | None,
    topics_with_overrides: bool,
    exclude_internal: bool,
    if_exists: bool,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Describe topics: id, configurations, and the replicas of each partition."""
    from kcore.client.admin.configs import ConfigAdmin
    from kcore.client.admin.topics import TopicAdmin

    if topic_id is not None and (topic_argument or topic_option):
        raise UsageFailure("--topic-id cannot be combined with a topic name: remove one")
    selection = TopicSelection(text_of(topic_argument, topic_option)) if topic_argument or topic_option else None
    with connect(bootstrap_server, read_properties(command_config)) as client:
        admin = TopicAdmin(client)
        topics, missing = find_topics(admin, selection) if topic_id is None else find_by_id(admin, topic_id)
        if topics and (page_size is not None or output == KAFKA):
            topics = _by_page(admin, topics, page_size)
        topics = [topic for topic in topics if not (exclude_internal and topic.is_internal)]
        configs = _configs(ConfigAdmin(client), topics, with_inherited=output == KAFKA)
        live = _live_brokers(client) if unavailable_partitions else frozenset()
    filtered = (
        under_replicated_partitions or unavailable_partitions or under_min_isr_partitions or at_min_isr_partitions
    )
    rows = []
    for topic in topics:
        overrides, min_in_sync = configs[topic.name]
        partitions = [
            _partition_row(info)
            for info in topic.partitions
            if not (under_replicated_partitions and len(info.in_sync_replicas) >= len(info.replicas))
            and not (unavailable_partitions and info.leader in live)
            and not (under_min_isr_partitions and len(info.in_sync_replicas) >= min_in_sync)
            and not (at_min_isr_partitions and len(info.in_sync_replicas) != min_in_sync)
        ]
        if (topics_with_overrides and not overrides) or (filtered and not partitions):
            continue
        rows.append(_topic_row(topic, overrides, partitions))
    shown_as_kafka = partial(_print_as_kafka, with_topics=not filtered, with_partitions=not topics_with_overrides)
    write_rows(rows, output, _print_descriptions, shown_as_kafka)
    raise_failures([] if if_exists else [not_there(name) for name in missing])


def _by_page(admin: TopicAdmin, topics: list[TopicDescription], page_size: int | None) -> list[TopicDescription]:
    """Adds what only DescribeTopicPartitions returns. If the broker is too old for it, topics stay as they are, unless
    `page_size` requires it."""
    from kcore.client.admin.topics import PAGE_PARTITIONS
    from kcore.client.errors import UnsupportedByBroker

    try:
        return admin.describe_topics_by_page([topic.name for topic in topics], page_size or PAGE_PARTITIONS)
    except UnsupportedByBroker:
        if page_size is not None:
            raise
        return topics


def find_by_id(admin: TopicAdmin, text: str) -> tuple[list[TopicDescription], list[str]]:
    """The topic with an id, or the id as missing."""
    from kcore.client.admin.results import succeeded
    from kcore.uuid import from_text

    try:
        topic_id = from_text(text)
    except ValueError:
        raise UsageFailure(
            f"--topic-id {text!r}: invalid topic id. List the ids with: kcli topics list -o json"
        ) from None
    found = list(succeeded(admin.describe_topics_by_id([topic_id])).values())
    return found, [] if found else [text]


def _configs(
    admin: ConfigAdmin, topics: Sequence[TopicDescription], with_inherited: bool
) -> dict[str, tuple[dict[str, str | None], int]]:
    """The overrides of each topic, and its min.insync.replicas, which may come from the broker.

    For kafka-topics, what is set on a broker or for all brokers is an override too.
    """
    from kcore.client.admin.configs import TOPIC_RESOURCE, ConfigResource
    from kcore.client.admin.results import raise_first, succeeded

    def is_override(source: str) -> bool:
        return source == "DYNAMIC_TOPIC_CONFIG" or (with_inherited and source != "DEFAULT_CONFIG")

    if not topics:
        return {}
    resources = [ConfigResource(TOPIC_RESOURCE, topic.name) for topic in topics]
    described = admin.describe_configs(resources, include_synonyms=False)
    raise_first(described)
    return {
        resource.name: (
            {entry.name: entry.value for entry in entries if is_override(entry.source)},
            next((int(entry.value or 1) for entry in entries if entry.name == "min.insync.replicas"), 1),
        )
        for resource, entries in succeeded(described).items()
    }


def _live_brokers(client: ClusterClient) -> frozenset[int]:
    """Live brokers. DescribeTopicPartitions may return a leader that has just left the cluster."""
    from kcore.client.admin.clusters import ClusterAdmin

    return frozenset(node.id for node in ClusterAdmin(client).describe_cluster().brokers)


def _partition_row(info: PartitionInfo) -> dict[str, object]:
    return {
        "partition": info.partition,
        "leader": None if info.leader < 0 else info.leader,
        "leader_epoch": info.leader_epoch,
        "replicas": info.replicas,
        "isr": info.in_sync_replicas,
        "offline_replicas": info.offline_replicas,
        "eligible_leader_replicas": info.eligible_leader_replicas,
        "last_known_elr": info.last_known_elr,
    }


def _topic_row(
    topic: TopicDescription, configs: dict[str, str | None], partitions: list[dict[str, object]]
) -> dict[str, object]:
    from kcore.uuid import to_text

    return {
        "topic": topic.name,
        "topic_id": to_text(topic.topic_id),
        "internal": topic.is_internal,
        "partition_count": len(topic.partitions),
        "replication_factor": len(topic.partitions[0].replicas) if topic.partitions else 0,
        "configs": configs,
        "partitions": partitions,
    }


def _print_descriptions(rows: Iterable[Row]) -> None:
    """In the format of kafka-topics, which scripts read."""
    for row in rows:
        click.echo(_topic_line(row))
        for partition in row["partitions"]:
            click.echo(_partition_line(row, partition))


def _topic_line(row: Row) -> str:
    configs = ",".join(f"{name}={value}" for name, value in row["configs"].items())
    return (
        f"Topic: {row['topic']}\tTopicId: {row['topic_id']}\tPartitionCount: {row['partition_count']}\t"
        f"ReplicationFactor: {row['replication_factor']}\tConfigs: {configs}"
    )


def _partition_line(row: Row, partition: Row) -> str:
    leader = "none" if partition["leader"] is None else partition["leader"]
    return (
        f"\tTopic: {row['topic']}\tPartition: {partition['partition']}\tLeader: {leader}\t"
        f"Replicas: {_comma_separated(partition['replicas'])}\tIsr: {_comma_separated(partition['isr'])}"
    )


def _print_as_kafka(rows: Iterable[Row], with_topics: bool, with_partitions: bool) -> None:
    """kafka-topics omits parts depending on its options, and prints two more columns since KIP-966."""
    for row in rows:
        if with_topics:
            click.echo(_topic_line(row))
        for partition in row["partitions"] if with_partitions else ():
            elr, last_known_elr = (partition[key] for key in ("eligible_leader_replicas", "last_known_elr"))
            click.echo(
                f"{_partition_line(row, partition)}\tElr: {_replicas(elr)}\tLastKnownElr: {_replicas(last_known_elr)}"
            )


def _replicas(numbers: Iterable[int] | None) -> str:
    return "N/A" if numbers is None else _comma_separated(numbers)


def _comma_separated(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))
