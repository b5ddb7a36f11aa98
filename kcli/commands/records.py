"""`kcli records delete`: what kafka-delete-records does.

The file says before which offset each partition is emptied, -1 for all that is readable:

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


@click.group("records", cls=ActionGroup)
def command() -> None:
    """Delete records from the start of partitions."""


@command.command("delete")
@click.option("--offset-json-file", metavar="FILE", required=True, help="Partitions and offsets; - is stdin.")
@yes_option
@bootstrap_server_option
@command_config_option
@output_option
def delete(offset_json_file: str, yes: bool, bootstrap_server: str, command_config: str | None, output: str) -> None:
    """Delete the records before an offset of each partition.

    The file holds {"partitions": [{"topic": "orders", "partition": 0, "offset": 1500}], "version": 1}; the offset -1
    stands for everything that consumers can read.
    """
    from kcore.client.admin.records import RecordAdmin
    from kcore.client.admin.results import failures, succeeded

    offsets = read_offsets(offset_json_file)
    if not yes:
        confirm("records delete", map(_plan, offsets.items()))
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
    """What was refused stands among what was done."""
    from kcore.client.errors import broker_message

    click.echo("Executing records delete operation\nRecords delete operation completed:")
    _print_deleted(rows)
    for partition, error in refused.items():
        click.echo(f"partition: {partition.topic}-{partition.partition}\terror: {broker_message(error)}")


def read_offsets(path: str) -> dict[TopicPartition, int]:
    """The offsets of a file; UsageFailure names what is wrong with it."""
    import json

    from kcore.client.metadata.cluster import TopicPartition

    with click.open_file(path, encoding="utf-8") as file:
        try:
            content = json.load(file)
        except ValueError as error:
            raise UsageFailure(f"{path}: not JSON ({error})") from None
    if not isinstance(content, dict) or content.get("version", FILE_VERSION) != FILE_VERSION:
        raise UsageFailure(f'{path}: must be {{"partitions": [...], "version": {FILE_VERSION}}}')
    entries = content.get("partitions")
    if not isinstance(entries, list) or not entries:
        raise UsageFailure(f'{path}: "partitions" must be a list with something in it')
    offsets: dict[TopicPartition, int] = {}
    for entry in entries:
        partition = TopicPartition(
            _field(path, entry, "topic", str), _number(path, entry, "partition", 0, MAX_PARTITION)
        )
        if partition in offsets:
            raise UsageFailure(f"{path}: partition {partition} stands there twice")
        offsets[partition] = _number(path, entry, "offset", -1, MAX_OFFSET)
    return offsets


def _field(path: str, entry: Any, name: str, kind: type) -> Any:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UsageFailure(f"{path}: {entry!r} needs topic, partition and offset")
    return value


def _number(path: str, entry: Any, name: str, low: int, high: int) -> int:
    value = _field(path, entry, name, int)
    if not low <= value <= high:
        raise UsageFailure(f"{path}: {name} {value} must lie between {low} and {high}")
    return int(value)
