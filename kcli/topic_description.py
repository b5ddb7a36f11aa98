"""`kcli topics describe`: topics with their configurations and the brokers of each partition, as kafka-topics does."""

from __future__ import annotations

import click

from kcli.failures import UsageFailure, raise_failures
from kcli.options import bootstrap_server_option, command_config_option, connect
from kcli.output import output_option, write_rows
from kcli.properties import read_properties
from kcli.topic_selection import TopicSelection, exclude_internal_option, find_topics, not_there, text_of, topics_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcli.output import Row
    from kcore.client.admin import Admin
    from kcore.client.cluster import PartitionInfo, TopicDescription


@click.command("describe")
@click.argument("topic_argument", metavar="[TOPIC]", required=False)
@topics_option
@click.option("--topic-id", metavar="ID", help="The topic by its id.")
@click.option("--under-replicated-partitions", is_flag=True, help="Only partitions that miss a replica.")
@click.option(
    "--under-min-isr-partitions", is_flag=True, help="Only those with fewer in sync than min.insync.replicas."
)
@click.option("--at-min-isr-partitions", is_flag=True, help="Only those with just min.insync.replicas in sync.")
@click.option("--unavailable-partitions", is_flag=True, help="Only partitions without a leader.")
@click.option(
    "--partition-size-limit-per-response",
    "page_size",
    type=click.IntRange(1, 2**31 - 1),
    help="Ask for so many partitions at a time.",
)
@click.option("--topics-with-overrides", is_flag=True, help="Only topics with configurations of their own.")
@exclude_internal_option
@click.option("--if-exists", is_flag=True, help="Succeed when the topic is not there.")
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
    """Describe topics: id, configurations, and the brokers of each partition."""
    from kcore.client.admin import Admin

    if topic_id is not None and (topic_argument or topic_option):
        raise UsageFailure("--topic-id names the topic: leave TOPIC and --topic out")
    selection = TopicSelection(text_of(topic_argument, topic_option)) if topic_argument or topic_option else None
    with connect(bootstrap_server, read_properties(command_config)) as client:
        admin = Admin(client)
        topics, missing = find_topics(admin, selection) if topic_id is None else find_by_id(admin, topic_id)
        if page_size is not None and topics:
            topics = admin.describe_topics_by_page([topic.name for topic in topics], page_size)
        topics = [topic for topic in topics if not (exclude_internal and topic.is_internal)]
        configs = _configs(admin, topics)
        nodes = client.cluster.nodes
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
            and not (unavailable_partitions and info.leader in nodes)
            and not (under_min_isr_partitions and len(info.in_sync_replicas) >= min_in_sync)
            and not (at_min_isr_partitions and len(info.in_sync_replicas) != min_in_sync)
        ]
        if (topics_with_overrides and not overrides) or (filtered and not partitions):
            continue
        rows.append(_topic_row(topic, overrides, partitions))
    write_rows(rows, output, _print_descriptions)
    raise_failures([] if if_exists else [not_there(name) for name in missing])


def find_by_id(admin: Admin, text: str) -> tuple[list[TopicDescription], list[str]]:
    """The topic with an id; the id among those that are missing when there is none."""
    from kcore.uuid import from_text

    try:
        topic_id = from_text(text)
    except ValueError:
        raise UsageFailure(
            f"--topic-id {text!r}: an id is of 22 letters and digits, as `topics list -o json` has it"
        ) from None
    found = [topic for topic in admin.list_topics() if topic.topic_id == topic_id]
    return found, [] if found else [text]


def _configs(admin: Admin, topics: Sequence[TopicDescription]) -> dict[str, tuple[dict[str, str | None], int]]:
    """The overrides of each topic, and its min.insync.replicas, which may be the broker's."""
    from kcore.client.admin import DYNAMIC_TOPIC_CONFIG, TOPIC_RESOURCE

    if not topics:
        return {}
    described = admin.describe_configs(TOPIC_RESOURCE, [topic.name for topic in topics])
    return {
        name: (
            {entry.name: entry.value for entry in entries if entry.source == DYNAMIC_TOPIC_CONFIG},
            next((int(entry.value or 1) for entry in entries if entry.name == "min.insync.replicas"), 1),
        )
        for name, entries in described.items()
    }


def _partition_row(info: PartitionInfo) -> dict[str, object]:
    return {
        "partition": info.partition,
        "leader": None if info.leader < 0 else info.leader,
        "leader_epoch": info.leader_epoch,
        "replicas": info.replicas,
        "isr": info.in_sync_replicas,
        "offline_replicas": info.offline_replicas,
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
    """As kafka-topics prints it, which scripts read."""
    for row in rows:
        configs = ",".join(f"{name}={value}" for name, value in row["configs"].items())
        click.echo(
            f"Topic: {row['topic']}\tTopicId: {row['topic_id']}\tPartitionCount: {row['partition_count']}\t"
            f"ReplicationFactor: {row['replication_factor']}\tConfigs: {configs}"
        )
        for partition in row["partitions"]:
            leader = "none" if partition["leader"] is None else partition["leader"]
            click.echo(
                f"\tTopic: {row['topic']}\tPartition: {partition['partition']}\tLeader: {leader}\t"
                f"Replicas: {_comma_separated(partition['replicas'])}\tIsr: {_comma_separated(partition['isr'])}"
            )


def _comma_separated(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))
