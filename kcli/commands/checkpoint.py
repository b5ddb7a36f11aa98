"""`kcli checkpoint show`: prints the small text files of a log directory, each by its kind.

recovery-point-offset-checkpoint, log-start-offset-checkpoint, replication-offset-checkpoint,
cleaner-offset-checkpoint       version | count | topic partition offset, one per line     (version 0)
leader-epoch-checkpoint         version | count | epoch start-offset, one per line         (version 0)
partition.metadata              version: 0 | topic_id: BASE64
meta.properties                 Java properties: version, broker.id or node.id, cluster.id, directory.id
.kafka_cleanshutdown            {"version":0,"brokerEpoch":N}, or empty if written by Kafka with ZooKeeper
"""

from __future__ import annotations

import os

import click

from kcli.command import Group
from kcli.failures import Failure, UsageFailure, complain
from kcli.output import TABLE, output_option, write_columns, write_rows
from kcli.paths import is_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

OFFSET_CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
CHECKPOINT_VERSION = "0"


class MalformedCheckpoint(Exception):
    """A file does not have the format of its kind."""


@click.group(
    "checkpoint",
    cls=Group,
    examples="""
    # Print all checkpoint files of a log directory and its partitions
    kcli checkpoint show ~/.local/share/kcli
    """,
)
def command() -> None:
    """Print the checkpoint and metadata files of log directories."""


@command.command(
    "show",
    examples="""
    # Print all checkpoint files of a log directory and its partitions
    kcli checkpoint show ~/.local/share/kcli
    # Print the leader epochs of one partition as JSON
    kcli checkpoint show /var/kafka/orders-0/leader-epoch-checkpoint -o json
    """,
)
@click.argument("paths", metavar="FILE_OR_DIR...", nargs=-1, required=True)
@output_option
def show(paths: tuple[str, ...], output: str) -> None:
    """Print checkpoint files.

    Supported: recovery-point-offset-checkpoint, log-start-offset-checkpoint, replication-offset-checkpoint,
    cleaner-offset-checkpoint, leader-epoch-checkpoint, partition.metadata, meta.properties and .kafka_cleanshutdown.
    For a directory, its checkpoint files are printed. For a log directory, those of its partitions are printed too.
    """
    by_file: dict[str, list[dict[str, Any]]] = {}
    failures = []
    for path in _expand(paths):
        try:
            by_file[path] = read_checkpoint(path)
        except MalformedCheckpoint as error:
            failures.append(f"{path}: {error}. Delete the file: the broker re-creates it at its next start")
    if output == TABLE:
        _print_tables(by_file)
    else:
        write_rows(({"file": path, **row} for path, rows in by_file.items() for row in rows), output)
    for failure in failures[:-1]:
        complain(str(failure))
    if failures:
        raise Failure(failures[-1])


def read_checkpoint(path: str) -> list[dict[str, Any]]:
    """The entries of one file. Raises MalformedCheckpoint when the content does not fit the file's name."""
    reader = _reader_of(os.path.basename(path))
    if reader is None:
        known = ", ".join((*OFFSET_CHECKPOINTS, LEADER_EPOCHS, PARTITION_METADATA, META_PROPERTIES, CLEAN_SHUTDOWN))
        raise UsageFailure(f"{path}: not a checkpoint file. Supported files: {known}")
    with open(path, encoding="utf-8", errors="replace") as file:
        return list(reader(file.read()))


def _reader_of(name: str) -> Callable[[str], Iterator[dict[str, Any]]] | None:
    if name in OFFSET_CHECKPOINTS:
        return _read_offsets
    readers = {
        LEADER_EPOCHS: _read_leader_epochs,
        PARTITION_METADATA: _read_properties,
        META_PROPERTIES: _read_properties,
        CLEAN_SHUTDOWN: _read_clean_shutdown,
    }
    return readers.get(name)


def _entries(text: str, fields: int) -> Iterator[list[str]]:
    lines = text.splitlines()
    if not lines or lines[0].strip() != CHECKPOINT_VERSION:
        raise MalformedCheckpoint(
            f"unsupported version {lines[0].strip()!r}; only 0 is supported" if lines else "the file is empty"
        )
    if len(lines) < 2 or not lines[1].strip().isdecimal():
        raise MalformedCheckpoint("line 2 must be the number of entries")
    count = int(lines[1])
    entries = [line.split() for line in lines[2:] if line.strip()]
    if len(entries) != count:
        raise MalformedCheckpoint(f"line 2 says {count} entries, but the file has {len(entries)}")
    for number, entry in enumerate(entries, start=3):
        if len(entry) != fields:
            raise MalformedCheckpoint(f"line {number} has {len(entry)} fields; expected {fields}")
        yield entry


def _read_offsets(text: str) -> Iterator[dict[str, Any]]:
    for topic, partition, offset in _entries(text, 3):
        yield {"topic": topic, "partition": _number(partition), "offset": _number(offset)}


def _read_leader_epochs(text: str) -> Iterator[dict[str, Any]]:
    for epoch, start_offset in _entries(text, 2):
        yield {"epoch": _number(epoch), "start_offset": _number(start_offset)}


def _read_properties(text: str) -> Iterator[dict[str, Any]]:
    from kcore.config.properties import parse_properties

    try:
        properties = parse_properties(text)
    except ValueError as error:
        raise MalformedCheckpoint(str(error)) from None
    for name, value in properties.items():
        yield {"property": name, "value": value}


def _read_clean_shutdown(text: str) -> Iterator[dict[str, Any]]:
    import json

    try:
        fields = json.loads(text) if text.strip() else {"version": -1, "brokerEpoch": -1}
    except json.JSONDecodeError as error:
        raise MalformedCheckpoint(f"not JSON ({error})") from None
    for name, value in fields.items():
        yield {"property": name, "value": value}


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise MalformedCheckpoint(f"{text!r} is not a number") from None


def _expand(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if not is_directory(path):
            yield path
            continue
        found = list(_checkpoints_in(path))
        if not found:
            raise UsageFailure(
                f"{path}: no checkpoint files in this directory. Pass a log directory or a partition directory"
            )
        yield from found


def _checkpoints_in(directory: str) -> Iterator[str]:
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from sorted(file.path for file in os.scandir(entry.path) if _reader_of(file.name) is not None)
        elif _reader_of(entry.name) is not None:
            yield entry.path


def _print_tables(by_file: Mapping[str, list[dict[str, Any]]]) -> None:
    """One table per file, under the file's name."""
    for number, (file, rows) in enumerate(by_file.items()):
        click.echo(("\n" if number else "") + file)
        if rows:
            write_columns(rows, list(rows[0]))
        else:
            click.echo("no entries")
