"""`kcli log import`: takes over partitions that Apache Kafka, or another broker of ours, wrote."""

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


@click.group("log", cls=ActionGroup)
def command() -> None:
    """Take over the logs of partitions that another broker wrote."""


@command.command("import")
@click.argument("directories", metavar="DIR...", nargs=-1, required=True)
@click.option("--topic-id", metavar="ID", help="The topic's id, where DIR has no partition.metadata.")
@click.option(
    "--config", "configs", multiple=True, metavar="NAME=VALUE", help="A configuration of a topic that is made."
)
@click.option("--move", is_flag=True, help="Rename the directories instead of copying them.")
@click.option("--server-config", metavar="FILE", help="The properties file that the broker is started with.")
@click.option("--data-dir", metavar="DIR", help="The directory that the broker is started with.")
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

    Each DIR is one partition's, such as /var/kafka/orders-0; name those of all partitions of a topic in one command.
    They are copied, and stay as they are; with --move they are renamed, which takes a moment on the same file system.
    Topic, topic id, partition and leader epoch are registered in the metadata store. What Apache Kafka did not shut
    down cleanly is recovered on the way. After a crash the same command can be given again.

    Configurations of topics do not lie in their directories: a compacted topic needs --config cleanup.policy=compact,
    and records older than retention.ms are deleted by the next start unless --config retention.ms says otherwise.
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
                    confirm("log import", map(_describe, plan), unless="nothing was imported")
                importing.carry_out(plan, overrides)
            finally:
                for descriptor in locks:
                    if descriptor >= 0:
                        disk.close(descriptor)
        finally:
            importing.close()
    write_rows(map(_row, plan), output, _print_rows)


class Refusals:
    """Turns what forbids an import into a failure of the command, in its own words."""

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
            raise Failure(f"the broker has to be stopped (kcli server-stop): {error}") from None
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
        raise UsageFailure("--topic-id: the zero id is no topic's")
    return topic_id


def _lock_source(disk: Disk, parent: str) -> int:
    """Keeps the broker that a log directory belongs to from running meanwhile; -1 where there is none."""
    lock = os.path.join(parent, LOCK_FILE)
    if not disk.exists(lock):
        return -1
    try:
        return disk.lock(lock)
    except BlockingIOError:
        raise Failure(f"a broker uses {parent}: stop it before a directory of its is imported") from None


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
