"""`kcli transactions`: like kafka-transactions, for producers and hanging transactions (KIP-664).

A transaction hangs in a partition if no coordinator will end it. Consumers with isolation.level=read_committed then
read nothing after its first record, and the log cannot be compacted after it.
"""

from __future__ import annotations

import time

import click

from kcli.action_group import ActionGroup
from kcli.completion import complete_topics
from kcli.confirmation import confirm
from kcli.failures import Failure, UsageFailure, raise_failures
from kcli.options import bootstrap_server_option, command_config_option, connect, yes_option
from kcli.output import output_option, write_rows
from kcli.properties import read_properties
from kcli.ranges import IntegerRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.admin.producers import ProducerAdmin, ProducerState
    from kcore.client.cluster_client import ClusterClient
    from kcore.client.metadata.cluster import TopicPartition

DEFAULT_MAX_TRANSACTION_TIMEOUT_MINUTES = 15
MS_PER_MINUTE = 60_000
MAX_PARTITION = 2**31 - 1
# If a partition has no marker yet, the abort marker gets this coordinator epoch, as from Kafka's tool.
FIRST_COORDINATOR_EPOCH = 0

topic_option = click.option(
    "--topic", required=True, metavar="TOPIC", shell_complete=complete_topics, help="Topic of the partition."
)
partition_option = click.option(
    "--partition", required=True, type=IntegerRange(0, MAX_PARTITION), metavar="N", help="Number of the partition."
)


@click.group(
    "transactions",
    cls=ActionGroup,
    examples="""
    # Find hanging transactions in all topics
    kcli transactions find-hanging
    """,
)
def command() -> None:
    """Describe the producers of a partition, and find and abort hanging transactions."""


@command.command(
    "describe-producers",
    examples="""
    # Describe the producers of a partition
    kcli transactions describe-producers --topic orders --partition 0
    # Describe them as JSON
    kcli transactions describe-producers --topic orders --partition 0 -o json
    """,
)
@topic_option
@partition_option
@bootstrap_server_option
@command_config_option
@output_option
def describe_producers(
    topic: str, partition: int, bootstrap_server: str, command_config: str | None, output: str
) -> None:
    """Describe the idempotent and transactional producers of a partition."""
    from kcore.client.admin.producers import ProducerAdmin

    with connect(bootstrap_server, read_properties(command_config)) as client:
        producers = _producers(ProducerAdmin(client), _place(topic, partition))
    write_rows(map(_producer_row, producers), output)


@command.command(
    "find-hanging",
    examples="""
    # Find hanging transactions in all topics
    kcli transactions find-hanging
    # Find those in one topic that had no record for an hour
    kcli transactions find-hanging --topic orders --max-transaction-timeout 60
    """,
)
@click.option("--topic", metavar="TOPIC", shell_complete=complete_topics, help="Topic. Default: every topic.")
@click.option(
    "--partition",
    type=IntegerRange(0, MAX_PARTITION),
    metavar="N",
    help="Partition of --topic. Default: every partition.",
)
@click.option(
    "--max-transaction-timeout",
    type=IntegerRange(0),
    default=DEFAULT_MAX_TRANSACTION_TIMEOUT_MINUTES,
    show_default=True,
    metavar="MINUTES",
    help="Minutes since the last record of an open transaction after which it may hang.",
)
@bootstrap_server_option
@command_config_option
@output_option
def find_hanging(
    topic: str | None,
    partition: int | None,
    max_transaction_timeout: int,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Find open transactions that no coordinator will end.

    A transaction is reported if its last record is older than --max-transaction-timeout, and no broker coordinates an
    open transaction of its producer that includes the partition.
    """
    if partition is not None and topic is None:
        raise UsageFailure("--partition needs --topic: partitions are numbered within a topic. Add --topic TOPIC.")
    with connect(bootstrap_server, read_properties(command_config)) as client:
        rows, failures = _hanging(client, topic, partition, max_transaction_timeout * MS_PER_MINUTE)
    write_rows(rows, output)
    raise_failures(failures)


@command.command(
    "abort",
    examples="""
    # Abort the transaction that starts at offset 1500
    kcli transactions abort --topic orders --partition 0 --start-offset 1500
    # Abort the transaction of a producer
    kcli transactions abort --topic orders --partition 0 --producer-id 7 --producer-epoch 0 --coordinator-epoch 3
    """,
)
@topic_option
@partition_option
@click.option(
    "--start-offset", type=IntegerRange(0), metavar="OFFSET", help="First offset of the transaction to abort."
)
@click.option("--producer-id", type=IntegerRange(0), metavar="ID", help="Producer id, instead of --start-offset.")
@click.option(
    "--producer-epoch",
    type=IntegerRange(0, 2**15 - 1),
    metavar="N",
    help="Epoch of the producer, from describe-producers. Required with --producer-id.",
)
@click.option(
    "--coordinator-epoch",
    type=IntegerRange(-1, 2**31 - 1),
    metavar="N",
    help="Epoch of the transaction coordinator, from describe-producers; -1 if unknown. Required with --producer-id.",
)
@yes_option
@bootstrap_server_option
@command_config_option
def abort(
    topic: str,
    partition: int,
    start_offset: int | None,
    producer_id: int | None,
    producer_epoch: int | None,
    coordinator_epoch: int | None,
    yes: bool,
    bootstrap_server: str,
    command_config: str | None,
) -> None:
    """Abort a transaction that hangs in a partition.

    The partition's leader writes an abort marker. Consumers with isolation.level=read_committed then skip the records
    of the transaction and continue. With --producer-id a marker is written even if no transaction is open.
    """
    from kcore.client.admin.producers import ProducerAdmin, TransactionToAbort

    named = (producer_id, producer_epoch, coordinator_epoch)
    if start_offset is not None and producer_id is not None:
        raise UsageFailure("--start-offset and --producer-id cannot be combined: pass one of them")
    if start_offset is None and None in named:
        raise UsageFailure(
            "no transaction given: pass --start-offset, or --producer-id with --producer-epoch and --coordinator-epoch"
        )
    place = _place(topic, partition)
    with connect(bootstrap_server, read_properties(command_config)) as client:
        admin = ProducerAdmin(client)
        if start_offset is not None:
            found = _open_at(_producers(admin, place), place, start_offset)
            named = (found.producer_id, found.producer_epoch, found.coordinator_epoch)
        if not yes:
            confirm(
                [f"abort the transaction of producer {named[0]}, epoch {named[1]}, in partition {place}"],
                "nothing was aborted",
            )
        identity, epoch, coordinator = (int(number or 0) for number in named)
        admin.abort_transaction(TransactionToAbort(place, identity, epoch, max(coordinator, FIRST_COORDINATOR_EPOCH)))
    click.echo(f"Aborted the transaction of producer {identity}, epoch {epoch}, in partition {place}.")


def _place(topic: str, partition: int) -> TopicPartition:
    from kcore.client.metadata.cluster import TopicPartition

    return TopicPartition(topic, partition)


def _producers(admin: ProducerAdmin, place: TopicPartition) -> list[ProducerState]:
    from kcore.client.admin.results import only

    return only(admin.describe_producers([place]))


def _open_at(producers: list[ProducerState], place: TopicPartition, start_offset: int) -> ProducerState:
    for producer in producers:
        if producer.transaction_start_offset == start_offset:
            return producer
    raise Failure(
        f"no open transaction of partition {place} starts at offset {start_offset}. "
        f"List them with: kcli transactions describe-producers --topic {place.topic} --partition {place.partition}",
        as_kafka=f"Could not find any open transactions starting at offset {start_offset} in partition {place}",
    )


def _known(number: int) -> int | None:
    return None if number < 0 else number


def _producer_row(producer: ProducerState) -> dict[str, int | None]:
    return {
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "coordinator_epoch": _known(producer.coordinator_epoch),
        "last_sequence": _known(producer.last_sequence),
        "last_timestamp": _known(producer.last_timestamp),
        "transaction_start_offset": _known(producer.transaction_start_offset),
    }


def _hanging(
    client: ClusterClient, topic: str | None, partition: int | None, timeout_ms: int
) -> tuple[list[dict[str, object]], list[Exception]]:
    """Rows of hanging transactions, and errors of partitions and coordinators that did not answer."""
    from kcore.client.admin.producers import ProducerAdmin
    from kcore.client.admin.results import failures, succeeded

    described = ProducerAdmin(client).describe_producers(_partitions(client, topic, partition))
    now_ms = int(time.time() * 1000)
    candidates = [
        (place, producer)
        for place, producers in succeeded(described).items()
        for producer in producers
        if producer.transaction_start_offset >= 0 and now_ms - producer.last_timestamp >= timeout_ms
    ]
    coordinated, unasked = _coordinated(client, {producer.producer_id for _, producer in candidates})
    rows: list[dict[str, object]] = [
        {
            "topic": place.topic,
            "partition": place.partition,
            "producer_id": producer.producer_id,
            "producer_epoch": producer.producer_epoch,
            "coordinator_epoch": _known(producer.coordinator_epoch),
            "start_offset": producer.transaction_start_offset,
            "last_timestamp": producer.last_timestamp,
            "minutes": (now_ms - producer.last_timestamp) // MS_PER_MINUTE,
        }
        for place, producer in sorted(candidates)
        if (producer.producer_id, place) not in coordinated
    ]
    return rows, [*failures(described).values(), *unasked]


def _partitions(client: ClusterClient, topic: str | None, partition: int | None) -> list[TopicPartition]:
    from kcore.client.admin.results import only
    from kcore.client.admin.topics import TopicAdmin

    if topic is not None and partition is not None:
        return [_place(topic, partition)]
    admin = TopicAdmin(client)
    topics = admin.list_topics() if topic is None else [only(admin.describe_topics([topic]))]
    return [_place(description.name, info.partition) for description in topics for info in description.partitions]


def _coordinated(
    client: ClusterClient, producer_ids: set[int]
) -> tuple[set[tuple[int, TopicPartition]], list[Exception]]:
    """Producer id and partition of every open transaction of a coordinator."""
    from kcore.client.admin.results import failures, succeeded
    from kcore.client.admin.transactions import TransactionAdmin

    if not producer_ids:
        return set(), []
    admin = TransactionAdmin(client)
    listed, unasked = admin.list_transactions(producer_ids=sorted(producer_ids))
    described = admin.describe_transactions([listing.transactional_id for listing in listed])
    found = {
        (transaction.producer_id, place)
        for transaction in succeeded(described).values()
        for place in transaction.partitions
    }
    return found, [*unasked, *failures(described).values()]
