"""`kcli log import`: imports partitions that Apache Kafka, or another kcli broker, wrote."""

from __future__ import annotations

import os

import click

from kcli.action_group import ActionGroup
from kcli.confirmation import confirm
from kcli.failures import DeniedFailure, Failure, UsageFailure
from kcli.options import yes_option
from kcli.output import output_option, write_columns, write_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcli.output import Row
    from kcore.platform.disk import Disk
    from kcore.server.partition_import import Move

LOCK_FILE = ".lock"
COLUMNS = ("topic", "partition", "topic_id", "leader_epoch", "action", "source", "directory", "is_clean")


@click.group(
    "log",
    cls=ActionGroup,
    examples="""
    # Import a topic of two partitions that Apache Kafka wrote
    kcli log import /var/kafka/orders-0 /var/kafka/orders-1
    """,
)
def command() -> None:
    """Import partitions written by Apache Kafka."""


@command.command(
    "import",
    examples="""
    # Import a topic of two partitions that Apache Kafka wrote
    kcli log import /var/kafka/orders-0 /var/kafka/orders-1
    # Import a compacted topic, moving its files instead of copying them
    kcli log import --move --config cleanup.policy=compact /var/kafka/users-0
    # Import into the log directory of a given broker configuration, without confirmation
    kcli log import --server-config server.properties --yes /var/kafka/orders-0
    """,
)
@click.argument("directories", metavar="DIR...", nargs=-1, required=True)
@click.option("--topic-id", metavar="ID", help="Topic id. Default: the id in DIR/partition.metadata.")
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="NAME=VALUE",
    help="Configuration of the topics that are created. May be repeated.",
)
@click.option("--move", is_flag=True, help="Rename the directories instead of copying them.")
@click.option("--server-config", metavar="FILE", help="Properties file of the broker.")
@click.option("--data-dir", metavar="DIR", help="Data directory of the broker.")
@yes_option
@output_option
def import_command(
    directories: tuple[str, ...],
    topic_id: str | None,
    configs: tuple[str, ...],
    move: bool,
    server_config: str | None,
    data_dir: str | None,
    yes: bool,
    output: str,
) -> None:
    """Import partition directories written by Apache Kafka into the log directory of a stopped broker.

    Each DIR is a partition directory, such as /var/kafka/orders-0. Name all partitions of a topic in one command. The
    directories are copied; with --move they are renamed, which is fast within a file system. Topic, topic id, partition
    and leader epoch are registered in the metadata store. Logs without a clean shutdown are recovered. After a crash,
    run the same command again.

    Partition directories do not contain topic configurations. A compacted topic needs --config cleanup.policy=compact.
    After its next start, the broker deletes records that are older than its default retention. To keep them, pass
    --config retention.ms=-1.
    """
    from kcli.properties import parse_properties
    from kcli.server_process import server_properties
    from kcore.config.broker import BrokerConfig
    from kcore.config.definition import ConfigException
    from kcore.config.topic import validate_overrides
    from kcore.controller.embedded_store import FILE_NAME, EmbeddedMetadataStore
    from kcore.platform.real_disk import RealDisk
    from kcore.server.partition_import import PartitionImport

    overrides = dict(parse_properties(configs, "--config"))
    stated_id = _parse_id(topic_id)
    properties = server_properties(server_config, (), data_dir, None)
    try:
        config = BrokerConfig(properties)
    except ConfigException as error:
        raise properties.located(error) from None
    try:
        validate_overrides(overrides)
    except ConfigException as error:
        raise UsageFailure(f"log import --config: {error}") from None
    disk = RealDisk()
    disk.mkdirs(config.metadata_directory)
    store = EmbeddedMetadataStore(f"{config.metadata_directory}/{FILE_NAME}")
    importing = PartitionImport(disk, config, store)
    with Refusals():
        importing.open()
        try:
            parents = sorted({os.path.dirname(os.path.abspath(path)) for path in directories})
            sources = [parent for parent in parents if parent not in config.log_directories]
            locks = [_lock_source(disk, parent) for parent in sources]
            try:
                plan = importing.plan(directories, stated_id, moves=move)
                if not yes:
                    confirm(map(_describe, plan), unless="nothing was imported")
                importing.carry_out(plan, overrides)
            finally:
                for descriptor in locks:
                    if descriptor >= 0:
                        disk.close(descriptor)
        finally:
            importing.close()
    write_rows(map(_row, plan), output, _print_rows)


class Refusals:
    """Turns errors that prevent an import into failures of the command."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from kcore.controller.metadata_store import MetadataStoreDeniedError, MetadataStoreError
        from kcore.server.partition_import import ImportRefused
        from kcore.storage.checkpoints import CorruptFileError
        from kcore.storage.log_dir import LogDirLockedError
        from kcore.storage.log_dirs import LogDirsDeniedError, LogDirsError

        if isinstance(error, MetadataStoreDeniedError | LogDirsDeniedError):
            raise DeniedFailure(str(error)) from None
        if isinstance(error, LogDirLockedError):
            raise Failure(f"the broker is running. Stop it with: kcli server-stop ({str(error).rstrip('.')})") from None
        if isinstance(error, ImportRefused | MetadataStoreError | CorruptFileError | LogDirsError):
            raise Failure(str(error)) from None


def _parse_id(text: str | None) -> bytes | None:
    from kcore import uuid

    if text is None:
        return None
    try:
        topic_id = uuid.from_text(text)
    except ValueError as error:
        raise UsageFailure(f"--topic-id {text!r}: {error}") from None
    if topic_id == uuid.ZERO:
        raise UsageFailure("--topic-id: the zero id is reserved; pass the topic's own id")
    return topic_id


def _lock_source(disk: Disk, parent: str) -> int:
    """Locks the log directory of the source, so that its broker cannot start; -1 if it has no lock file."""
    lock = os.path.join(parent, LOCK_FILE)
    if not disk.exists(lock):
        return -1
    try:
        return disk.lock(lock)
    except BlockingIOError:
        raise Failure(f"cannot import from {parent}: a broker uses it. Stop that broker first") from None


def _describe(move: Move) -> str:
    row = _row(move)
    state = "shut down cleanly" if row["is_clean"] else "to be recovered"
    return (
        f"{row['action']} {row['source']} to {row['directory']}: partition {row['partition']} of topic {row['topic']}, "
        f"topic id {row['topic_id']}, leader epoch {row['leader_epoch']}, {move.candidate.size_bytes} bytes, {state}"
    )


def _row(move: Move) -> Row:
    from kcore import uuid

    candidate = move.candidate
    action = "move" if move.is_rename else "copy"
    if candidate.source == move.target:
        action = "register"
    return {
        "topic": candidate.topic,
        "partition": candidate.partition,
        "topic_id": uuid.to_text(candidate.topic_id),
        "leader_epoch": max(0, candidate.leader_epoch),
        "action": action,
        "source": candidate.source,
        "directory": move.target,
        "is_clean": candidate.is_clean,
    }


def _print_rows(rows: Iterable[Row]) -> None:
    write_columns(rows, COLUMNS)
