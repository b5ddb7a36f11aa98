"""The messages of kafka-consumer-groups after deletions: sentences and one table, where kcli prints a line per item.

Kafka's tool always exits with code 0; errors are part of its output.
"""

from __future__ import annotations

import click

from kcli.consumer_groups.text import MISSING, print_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcore.client.metadata.cluster import TopicPartition

GROUP_ID_NOT_FOUND, INVALID_GROUP_ID = 69, 24
# Java exceptions whose names differ from the protocol's error names.
CLASSES = {"NON_EMPTY_GROUP": "GroupNotEmpty"}
# The messages of Java's client for errors without a message.
MEANINGS = {
    "GROUP_ID_NOT_FOUND": "The group id does not exist.",
    "NON_EMPTY_GROUP": "The group is not empty.",
    "GROUP_SUBSCRIBED_TO_TOPIC": "Deleting offsets of a topic is forbidden while the consumer group is actively "
    "subscribed to it.",
}
NOT_HOSTED = "This server does not host this topic-partition."
STATUS_COLUMNS = {"TOPIC": "topic", "PARTITION": "partition", "STATUS": "status"}


def java_text(error: Exception) -> str:
    """An error as Java prints it: exception class and message."""
    from kcore.errors import KafkaError

    if not isinstance(error, KafkaError):
        return str(error)
    stem = CLASSES.get(error.name) or "".join(word.capitalize() for word in error.name.split("_"))
    return f"org.apache.kafka.common.errors.{stem}Exception: {meaning_of(error)}"


def meaning_of(error: Exception) -> str:
    """The broker's message, or that of Java's client if the broker sent none."""
    from kcore.client.errors import broker_message
    from kcore.errors import KafkaError

    said = broker_message(error)
    if isinstance(error, KafkaError) and said == error.description:
        return MEANINGS.get(error.name, said)
    return said


def print_deleted(outcomes: Mapping[str, Exception | None]) -> None:
    """Prints the outcome of a deletion of groups."""
    done = ", ".join(f"'{group_id}'" for group_id, error in outcomes.items() if error is None)
    failed = {group_id: error for group_id, error in outcomes.items() if error is not None}
    if not failed:
        click.echo(f"Deletion of requested consumer groups ({done}) was successful.")
        return
    click.echo("\nError: Deletion of some consumer groups failed:")
    for group_id, error in failed.items():
        click.echo(f"* Group '{group_id}' could not be deleted due to: {java_text(error)}")
    if done:
        click.echo(f"\nThese consumer groups were deleted successfully: {done}")


def print_deleted_offsets(
    group_id: str, outcomes: Mapping[TopicPartition, Exception | None], unknown: Sequence[str]
) -> None:
    """Prints the outcome of a deletion of offsets. `unknown` are topics that do not exist."""
    errors = [error for error in outcomes.values() if error is not None]
    of_group = [error for error in errors if getattr(error, "code", None) in (GROUP_ID_NOT_FOUND, INVALID_GROUP_ID)]
    if of_group:
        click.echo(f"\nError: {meaning_of(of_group[0])}")
    elif errors:
        click.echo("\nError: Encountered some partition-level error, see the follow-up details.")
    else:
        click.echo(f"Request succeeded for deleting offsets from group {group_id}.")
    click.echo()
    rows: list[dict[str, object]] = [
        {
            "topic": place.topic,
            "partition": place.partition,
            "status": "Successful" if error is None else f"Error: {java_text(error)}",
        }
        for place, error in outcomes.items()
    ]
    missing = "Error: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: " + NOT_HOSTED
    rows += [{"topic": topic, "partition": MISSING, "status": missing} for topic in unknown]
    print_columns(rows, STATUS_COLUMNS)
