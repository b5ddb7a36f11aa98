"""`kcli topics`: what kafka-topics does. `kcli topics --list` works as `kcli topics list` does."""

from __future__ import annotations

import fnmatch
import sys

import click

from kcli.failures import Failure, UsageFailure
from kcli.options import bootstrap_server_option, connect, yes_option
from kcli.output import output_option, write_rows
from kcli.properties import parse_properties, read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcli.output import Row
    from kcore.client.admin import Admin
    from kcore.client.cluster import PartitionInfo, TopicDescription

UNKNOWN_TOPIC_OR_PARTITION = 3
TOPIC_ALREADY_EXISTS = 36
ACTIONS = ("create", "list", "describe", "delete")

command_config_option = click.option("--command-config", metavar="FILE", help="Properties of the admin client.")
topic_option = click.option("--topic", "topic_option", metavar="TOPIC", help="The topic, or several: a,b,c.")
exclude_internal_option = click.option("--exclude-internal", is_flag=True, help="Leave out the broker's own topics.")


class KafkaStyleGroup(click.Group):
    """Takes the action as an option too, as kafka-topics has it."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        for position, argument in enumerate(arguments):
            if argument.startswith("--") and argument[2:] in ACTIONS:
                rest = arguments[:position] + arguments[position + 1 :]
                return super().parse_args(context, [argument[2:], *rest])
        return super().parse_args(context, arguments)


@click.group("topics", cls=KafkaStyleGroup)
def command() -> None:
    """Create, list, describe and delete topics."""


@command.command("create")
@click.argument("topic_argument", metavar="[TOPIC]", required=False)
@topic_option
@click.option("--partitions", type=click.IntRange(1, 2**31 - 1), help="Default: num.partitions of the broker.")
@click.option("--replication-factor", type=click.IntRange(1, 2**15 - 1), help="Default: the broker's.")
@click.option("--replica-assignment", metavar="ID:ID,...", help="The brokers of each partition, the leader first.")
@click.option("--config", "configs", multiple=True, metavar="NAME=VALUE", help="A configuration of the topic.")
@click.option("--if-not-exists", is_flag=True, help="Succeed when the topic is there already.")
@bootstrap_server_option
@command_config_option
@output_option
def create(
    topic_argument: str | None,
    topic_option: str | None,
    partitions: int | None,
    replication_factor: int | None,
    replica_assignment: str | None,
    configs: tuple[str, ...],
    if_not_exists: bool,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Create a topic."""
    from kcore.client.admin import Admin, NewTopic

    names = _names(topic_argument, topic_option)
    assignment = _parse_assignment(replica_assignment)
    if assignment and (partitions is not None or replication_factor is not None):
        raise UsageFailure("--replica-assignment says how many partitions and replicas there are; leave those out")
    overrides = parse_properties(configs, "--config")
    topics = [NewTopic(name, partitions or -1, replication_factor or -1, overrides, assignment) for name in names]
    with connect(bootstrap_server, read_properties(command_config)) as client:
        outcomes = Admin(client).create_topics(topics)
    rows = []
    failures = []
    for name in names:
        error = outcomes.get(name)
        exists = error is not None and error.code == TOPIC_ALREADY_EXISTS
        if error is None or (exists and if_not_exists):
            rows.append({"topic": name, "created": error is None})
        elif exists:
            failures.append(f"{error}; choose another name, or add --if-not-exists")
        else:
            failures.append(str(error))
    write_rows(rows, output, _print_created)
    _raise_failures(failures)


def _print_created(rows: Iterable[Row]) -> None:
    for row in rows:
        click.echo(f"Created topic {row['topic']}." if row["created"] else f"Topic {row['topic']} already exists.")


@command.command("list")
@click.option("--topic", "pattern", metavar="PATTERN", help="Only those that match; * and ? as in a shell.")
@exclude_internal_option
@bootstrap_server_option
@command_config_option
@output_option
def list_topics(
    pattern: str | None, exclude_internal: bool, bootstrap_server: str, command_config: str | None, output: str
) -> None:
    """List the topics of the cluster."""
    from kcore.client.admin import Admin
    from kcore.uuid import to_text

    with connect(bootstrap_server, read_properties(command_config)) as client:
        topics = Admin(client).list_topics()
    rows = [
        {
            "topic": topic.name,
            "topic_id": to_text(topic.topic_id),
            "internal": topic.is_internal,
            "partitions": len(topic.partitions),
        }
        for topic in topics
        if not (exclude_internal and topic.is_internal) and fnmatch.fnmatchcase(topic.name, pattern or "*")
    ]
    write_rows(rows, output, lambda listed: click.echo("".join(f"{row['topic']}\n" for row in listed), nl=False))


@command.command("describe")
@click.argument("topic_argument", metavar="[TOPIC]", required=False)
@topic_option
@click.option("--under-replicated-partitions", is_flag=True, help="Only partitions that miss a replica.")
@click.option("--unavailable-partitions", is_flag=True, help="Only partitions without a leader.")
@click.option("--topics-with-overrides", is_flag=True, help="Only topics with configurations of their own.")
@exclude_internal_option
@click.option("--if-exists", is_flag=True, help="Succeed when the topic is not there.")
@bootstrap_server_option
@command_config_option
@output_option
def describe(
    topic_argument: str | None,
    topic_option: str | None,
    under_replicated_partitions: bool,
    unavailable_partitions: bool,
    topics_with_overrides: bool,
    exclude_internal: bool,
    if_exists: bool,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Describe topics: id, configurations, and the brokers of each partition."""
    from kcore.client.admin import Admin

    names = _names(topic_argument, topic_option) if topic_argument or topic_option else []
    with connect(bootstrap_server, read_properties(command_config)) as client:
        admin = Admin(client)
        topics, missing = _find(admin, names)
        topics = [topic for topic in topics if not (exclude_internal and topic.is_internal)]
        overrides = _overrides(admin, topics)
        nodes = client.cluster.nodes
    rows = []
    for topic in topics:
        partitions = [
            _partition_row(info)
            for info in topic.partitions
            if not (under_replicated_partitions and len(info.in_sync_replicas) >= len(info.replicas))
            and not (unavailable_partitions and info.leader in nodes)
        ]
        filtered = under_replicated_partitions or unavailable_partitions
        if (topics_with_overrides and not overrides[topic.name]) or (filtered and not partitions):
            continue
        rows.append(_topic_row(topic, overrides[topic.name], partitions))
    write_rows(rows, output, _print_descriptions)
    _raise_failures([] if if_exists else [f"topic {name}: the cluster has no such topic" for name in missing])


def _find(admin: Admin, names: Sequence[str]) -> tuple[list[TopicDescription], list[str]]:
    if not names:
        return admin.list_topics(), []
    described = admin.describe_topics(names)
    found = [topic for topic in described if not topic.error_code]
    return found, [topic.name for topic in described if topic.error_code]


def _overrides(admin: Admin, topics: Sequence[TopicDescription]) -> dict[str, dict[str, str | None]]:
    from kcore.client.admin import DYNAMIC_TOPIC_CONFIG, TOPIC_RESOURCE

    if not topics:
        return {}
    described = admin.describe_configs(TOPIC_RESOURCE, [topic.name for topic in topics])
    return {
        name: {entry.name: entry.value for entry in entries if entry.source == DYNAMIC_TOPIC_CONFIG}
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


@command.command("delete")
@click.argument("topic_argument", metavar="[TOPIC]", required=False)
@topic_option
@click.option("--if-exists", is_flag=True, help="Succeed when the topic is not there.")
@yes_option
@bootstrap_server_option
@command_config_option
@output_option
def delete(
    topic_argument: str | None,
    topic_option: str | None,
    if_exists: bool,
    yes: bool,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Delete topics with everything in them."""
    from kcore.client.admin import Admin

    names = _names(topic_argument, topic_option)
    with connect(bootstrap_server, read_properties(command_config)) as client:
        admin = Admin(client)
        topics, missing = _find(admin, names)
        failures = [] if if_exists else [f"topic {name}: the cluster has no such topic" for name in missing]
        if topics and not yes:
            _ask(topics)
        outcomes = admin.delete_topics([topic.name for topic in topics]) if topics else {}
    failures += [str(error) for error in outcomes.values() if error is not None]
    rows = [{"topic": name, "deleted": True} for name in names if name in outcomes and outcomes[name] is None]
    write_rows(rows, output, _print_deleted)
    _raise_failures(failures)


def _print_deleted(rows: Iterable[Row]) -> None:
    for row in rows:
        click.echo(f"Deleted topic {row['topic']}.")


def _ask(topics: Sequence[TopicDescription]) -> None:
    """The plan goes to stderr, so that what is piped on is only what was done."""
    for topic in topics:
        click.echo(f"delete topic {topic.name}: {len(topic.partitions)} partitions with all their records", err=True)
    if not sys.stdin.isatty():
        raise UsageFailure("topics delete: nobody is there to be asked; add --yes")
    if not click.confirm("Go on?", err=True):
        raise Failure("nothing was deleted")


def _names(argument: str | None, option: str | None) -> list[str]:
    if (argument is None) == (option is None):
        raise UsageFailure("name the topic once, as TOPIC or with --topic")
    names = [name.strip() for name in (argument or option or "").split(",") if name.strip()]
    if not names:
        raise UsageFailure("--topic: the name is empty")
    for name in names:
        # The system's encoding keeps bytes that are no text as surrogates, which no request can carry.
        if not name.isprintable():
            raise UsageFailure(f"--topic {name!r}: a topic's name is of letters, digits, '.', '_' and '-'")
    return names


def _parse_assignment(text: str | None) -> list[list[int]]:
    """`1:2,2:1` is broker 1, then 2 for partition 0, and 2, then 1 for partition 1."""
    if text is None:
        return []
    try:
        return [[int(broker) for broker in partition.split(":")] for partition in text.split(",")]
    except ValueError:
        raise UsageFailure(f"--replica-assignment {text!r}: must be broker ids, as in 0:1,1:0") from None


def _raise_failures(failures: list[str]) -> None:
    """Every failure but the last is printed here; the last one ends the command."""
    for failure in failures[:-1]:
        click.echo(f"kcli: {failure}", err=True)
    if failures:
        raise Failure(failures[-1])
