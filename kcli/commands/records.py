"""`kcli records delete`: like kafka-delete-records.

The file names partitions, and the offset before which records are deleted; -1 deletes all records:

    {"partitions": [{"topic": "orders", "partition": 0, "offset": 1500}], "version": 1}
"""

from __future__ import annotations

import click

from kcli.action_group import ActionGroup
from kcli.confirmation import confirm
from kcli.failures import UsageFailure, raise_failures
from kcli.options import bootstrap_server_option, command_config_option, connect, yes_option
from kcli.output import KAFKA, output_option, write_rows
from kcli.properties import read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from kcli.output import Row
    from kcore.client.metadata.cluster import TopicPartition

FILE_VERSION = 1
MAX_OFFSET = 2**63 - 1
MAX_PARTITION = 2**31 - 1


@click.group(
    "records",
    cls=ActionGroup,
    examples="""
    # Delete the records before the offsets of a file
    kcli records delete --offset-json-file offsets.json
    """,
)
def command() -> None:
    """Delete records from the start of partitions."""


@command.command(
    "delete",
    examples="""
    # Delete the records before the offsets of a file
    kcli records delete --offset-json-file offsets.json
    # Delete all records of a partition, without a question
    echo '{"partitions": [{"topic":"t","partition":0,"offset":-1}]}' | kcli records delete --offset-json-file - -y
    """,
)
@click.option("--offset-json-file", metavar="FILE", required=True, help="JSON file of offsets; - is stdin.")
@yes_option
@bootstrap_server_option
@command_config_option
@output_option
def delete(offset_json_file: str, yes: bool, bootstrap_server: str, command_config: str | None, output: str) -> None:
    """Delete the records before an offset of each partition.

    The file contains {"partitions": [{"topic": "orders", "partition": 0, "offset": 1500}], "version": 1}. Offset -1
    deletes all records that consumers can read.
    """
    from kcore.client.admin.records import RecordAdmin
    from kcore.client.admin.results import failures, succeeded

    offsets = read_offsets(offset_json_file)
    if not yes:
        confirm(map(_plan, offsets.items()))
    with connect(bootstrap_server, read_properties(command_config)) as client:
        results = RecordAdmin(client).delete_records(offsets)
    rows = [
        {"topic": partition.topic, "partition": partition.partition, "low_watermark": low_watermark}
        for partition, low_watermark in succeeded(results).items()
    ]
    refused = failures(results)
    write_rows(rows, output, _print_deleted, lambda listed: _print_as_kafka(listed, refused))
    raise_failures(list(refused.values()) if output != KAFKA else [])


def _plan(item: tuple[TopicPartition, int]) -> str:
    partition, offset = item
    return f"delete from partition {partition}: " + (
        "all records" if offset < 0 else f"the records before offset {offset}"
    )


def _print_deleted(rows: Iterable[Row]) -> None:
    for row in rows:
        click.echo(f"partition: {row['topic']}-{row['partition']}\tlow_watermark: {row['low_watermark']}")


def _print_as_kafka(rows: Iterable[Row], refused: Mapping[TopicPartition, Exception]) -> None:
    """Errors are printed between the results."""
    from kcore.client.errors import broker_message

    click.echo("Executing records delete operation\nRecords delete operation completed:")
    _print_deleted(rows)
    for partition, error in refused.items():
        click.echo(f"partition: {partition.topic}-{partition.partition}\terror: {broker_message(error)}")


def read_offsets(path: str) -> dict[TopicPartition, int]:
    """Reads the offsets of a file. Raises UsageFailure for an invalid file."""
    import json

    from kcore.client.metadata.cluster import TopicPartition

    with click.open_file(path, encoding="utf-8") as file:
        try:
            content = json.load(file)
        except ValueError as error:
            raise UsageFailure(f"{path}: not JSON ({error})") from None
    if not isinstance(content, dict) or content.get("version", FILE_VERSION) != FILE_VERSION:
        raise UsageFailure(f'{path}: wrong format. Expected: {{"partitions": [...], "version": {FILE_VERSION}}}')
    entries = content.get("partitions")
    if not isinstance(entries, list) or not entries:
        raise UsageFailure(f'{path}: "partitions" must be a list that is not empty')
    offsets: dict[TopicPartition, int] = {}
    for entry in entries:
        partition = TopicPartition(
            _field(path, entry, "topic", str), _number(path, entry, "partition", 0, MAX_PARTITION)
        )
        if partition in offsets:
            raise UsageFailure(f"{path}: partition {partition}: given twice; remove one")
        offsets[partition] = _number(path, entry, "offset", -1, MAX_OFFSET)
    return offsets


def _field(path: str, entry: Any, name: str, kind: type) -> Any:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UsageFailure(f"{path}: {entry!r}: must have topic, partition and offset")
    return value


def _number(path: str, entry: Any, name: str, low: int, high: int) -> int:
    value = _field(path, entry, name, int)
    if not low <= value <= high:
        raise UsageFailure(f"{path}: {name} {value}: must be between {low} and {high}")
    return int(value)
