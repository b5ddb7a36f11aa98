"""The metadata of a cluster of one machine, in one SQLite file: `__cluster_metadata.sqlite` in `metadata.log.dir`.

Tables, version 1 (`PRAGMA user_version`; `PRAGMA application_id` tells the file from other SQLite files):

    cluster        cluster_id
    counter        name -> value: controller_epoch, next_broker_epoch, next_producer_id, features_epoch
    topic          topic_id (16 bytes), name
    partition      topic_id, partition -> leader, leader_epoch, partition_epoch, replicas, isr ("1,2,3")
    config         resource_type, resource_name, name -> value
    client_quota   user, client_id, ip, name -> value: NULL for what the entity does not have, '' for its default
    feature        name -> level: features that are finalized
    deleted_topic  topic_id: topics whose directories may still have to be removed

Crash policy: a change is one SQL transaction with `synchronous=FULL`, answered after the fsync of its commit record,
so that kill -9 or loss of power leaves the state before it or after it. The journal is a write-ahead log: one fsync a
change instead of the three or four of a rollback journal. With `locking_mode=EXCLUSIVE` it needs no shared-memory file,
whose mapping a full disk could turn into a SIGBUS; nobody else may open the file meanwhile, and the log directory's
`.lock` forbids a second broker anyway. A damaged file is never repaired or replaced here: it is named, with what can be
done.

The data plane never comes here, and the file is the one thing that is stored without the disk table of
`kcore.platform`: in-memory runs use `MemoryMetadataStore`.
"""

from __future__ import annotations

import os
from errno import EDQUOT, ENOSPC

from kcore import errors
from kcore.controller.local_store import LocalMetadataStore, StoredState
from kcore.controller.metadata_store import (
    MetadataStoreDamagedError,
    MetadataStoreDeniedError,
    MetadataStoreError,
)
from kcore.metadata.image import TOPIC_RESOURCE, MetadataImage, PartitionState, TopicImage
from kcore.metadata.quota_entity import CLIENT_ID, IP, USER, QuotaEntity

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from kcore.controller.local_store import Transaction
    from kcore.metadata.image import MetadataDelta

FILE_NAME = "__cluster_metadata.sqlite"
UNFINISHED_SUFFIX = ".new"
FORMAT_VERSION = 1
# "kmds" in ASCII, in the header of the file.
APPLICATION_ID = 0x6B6D6473
TOPIC_ID_BYTES = 16

_SCHEMA = """
CREATE TABLE cluster (cluster_id TEXT NOT NULL);
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE topic (topic_id BLOB PRIMARY KEY, name TEXT NOT NULL UNIQUE) WITHOUT ROWID;
CREATE TABLE partition (
    topic_id BLOB NOT NULL, partition INTEGER NOT NULL, leader INTEGER NOT NULL,
    leader_epoch INTEGER NOT NULL, partition_epoch INTEGER NOT NULL, replicas TEXT NOT NULL, isr TEXT NOT NULL,
    PRIMARY KEY (topic_id, partition)
) WITHOUT ROWID;
CREATE TABLE config (
    resource_type INTEGER NOT NULL, resource_name TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (resource_type, resource_name, name)
) WITHOUT ROWID;
CREATE TABLE deleted_topic (topic_id BLOB PRIMARY KEY) WITHOUT ROWID;
"""

# Tables and counters that version 1 did not have from the start: made when a store is opened that lacks them.
_ADDED_TABLES = (
    "CREATE TABLE IF NOT EXISTS client_quota"
    " (user TEXT, client_id TEXT, ip TEXT, name TEXT NOT NULL, value REAL NOT NULL)",
    "CREATE TABLE IF NOT EXISTS feature (name TEXT PRIMARY KEY, level INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT OR IGNORE INTO counter VALUES ('features_epoch', 0)",
)


class EmbeddedMetadataStore(LocalMetadataStore):
    """`path` is the file; its directory has to exist."""

    __slots__ = ("_connection", "_path")

    is_of_one_broker = True

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._connection: sqlite3.Connection | None = None

    @property
    def name(self) -> str:
        return f"The metadata store {self._path}"

    def _load(self) -> StoredState | None:
        # Half of a light process's start is imports: only a broker that uses this store pays for SQLite, and none for
        # what the module `sqlite3` puts around it.
        import _sqlite3 as sqlite3

        try:
            if not os.path.exists(self._path):
                self._make_file()
            self._connection = connection = sqlite3.connect(
                self._path, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=32
            )
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            version = self._check_format(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            if not version:
                return None
            _add_tables(connection)
            return self._read_state(connection)
        except (sqlite3.Error, OSError) as error:
            raise self._explained(error) from error

    def _read_state(self, connection: sqlite3.Connection) -> StoredState:
        try:
            return _read_state(connection)
        except (ValueError, TypeError, KeyError) as error:
            raise self._damaged(f"it holds what no broker wrote: {error!r}") from error

    def _make_file(self) -> None:
        """An empty database with a write-ahead log, complete under its name or not there at all.

        Left to SQLite it costs four syncs of a rollback journal, which protects nothing yet. The directory is synced
        with the first change, before anybody is told of it.
        """
        import _sqlite3 as sqlite3

        unfinished = self._path + UNFINISHED_SUFFIX
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        connection = sqlite3.connect(unfinished, timeout=0, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
        descriptor = os.open(unfinished, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(unfinished, self._path)

    def _check_format(self, connection: sqlite3.Connection) -> int:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        application = int(connection.execute("PRAGMA application_id").fetchone()[0])
        tables = int(connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])
        if tables and application != APPLICATION_ID:
            raise MetadataStoreError(f"{self.name} is a SQLite file of another program: move it out of the way")
        if version > FORMAT_VERSION:
            raise MetadataStoreError(
                f"{self.name} has format version {version}, and this release knows versions up to {FORMAT_VERSION}: "
                "start the release that wrote it, or a newer one"
            )
        return version

    def _explained(self, error: sqlite3.Error | OSError) -> MetadataStoreError:
        denied = self._denied_path(error)
        if denied is None:
            return self._explained_by_text(error)
        return MetadataStoreDeniedError(
            f"{self.name} cannot be opened (permission denied: {denied}); change its owner or mode, or run the broker "
            "as its owner"
        )

    def _explained_by_text(self, error: sqlite3.Error | OSError) -> MetadataStoreError:
        text = str(error)
        if "locked" in text:
            return MetadataStoreError(f"{self.name} is in use by another process: stop it first")
        if "unable to open" in text or "readonly" in text:
            return MetadataStoreError(
                f"{self.name} cannot be opened for writing ({text}): check its directory and permissions"
            )
        if "is full" in text or (isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT)):
            return MetadataStoreError(f"{self.name} has no room on its disk ({text}): make some, and start again")
        if "disk I/O error" in text or isinstance(error, OSError):
            return MetadataStoreError(f"{self.name} cannot be read or written ({text}): check its disk")
        return self._damaged(text)

    def _denied_path(self, error: sqlite3.Error | OSError) -> str | None:
        """The file or directory that access is denied to; SQLite's errors say nothing about that."""
        if isinstance(error, OSError):
            return self._path if isinstance(error, PermissionError) else None
        directory = os.path.dirname(self._path)
        if os.path.isdir(directory) and not os.access(directory, os.W_OK | os.X_OK):
            return directory
        if os.path.exists(self._path) and not os.access(self._path, os.R_OK | os.W_OK):
            return self._path
        return None

    def _damaged(self, reason: str) -> MetadataStoreDamagedError:
        return MetadataStoreDamagedError(
            f"{self.name} is damaged ({reason}): restore the file from a backup, or start with --rebuild-metadata, "
            "which keeps it aside and makes topics known again from the log directories, but not their configurations"
        )

    def set_aside(self) -> str:
        self.close()
        target, number = f"{self._path}.corrupt", 0
        while os.path.exists(target):
            number += 1
            target = f"{self._path}.corrupt.{number}"
        for suffix in ("-wal", "-journal", ""):
            if os.path.exists(self._path + suffix):
                os.rename(self._path + suffix, target + suffix)
        return target

    def _create(self, cluster_id: str) -> None:
        connection = self._open_connection()
        # Until the first change, which is synced and takes this along, an empty store is as good as none.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            _add_tables(connection)
            connection.execute("INSERT INTO cluster VALUES (?)", (cluster_id,))
            counters = ("controller_epoch", "next_broker_epoch", "next_producer_id")
            connection.executemany("INSERT INTO counter VALUES (?, 0)", ((name,) for name in counters))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            connection.execute("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise
        finally:
            connection.execute("PRAGMA synchronous = FULL")

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise MetadataStoreError(f"{self.name} is not open")
        return self._connection

    def _write(self, transaction: Transaction) -> None:
        import _sqlite3 as sqlite3

        connection = self._open_connection()
        try:
            connection.execute("BEGIN IMMEDIATE")
            _check_epoch(connection, transaction.expected_epoch)
            _write_counters(connection, transaction)
            _write_topics(connection, transaction.delta)
            _write_partitions(connection, transaction.delta)
            _write_configs(connection, transaction.delta)
            _write_quotas(connection, transaction.delta)
            _write_features(connection, transaction.delta)
            forgotten = ((topic_id,) for topic_id in transaction.topics_forgotten)
            connection.executemany("DELETE FROM deleted_topic WHERE topic_id = ?", forgotten)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            _roll_back(connection)
            raise errors.KafkaStorageError(f"{self.name} could not be written: {error}") from error
        except BaseException:
            _roll_back(connection)
            raise

    def _release(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _add_tables(connection: sqlite3.Connection) -> None:
    for statement in _ADDED_TABLES:
        connection.execute(statement)


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _check_epoch(connection: sqlite3.Connection, expected: int | None) -> None:
    if expected is None:
        return
    (stored,) = connection.execute("SELECT value FROM counter WHERE name = 'controller_epoch'").fetchone()
    if stored != expected:
        raise errors.StaleControllerEpochError(f"Controller epoch {expected} was followed by {stored}.")


def _write_counters(connection: sqlite3.Connection, transaction: Transaction) -> None:
    for name in ("controller_epoch", "next_broker_epoch", "next_producer_id"):
        value = getattr(transaction, name)
        if value is not None:
            connection.execute("UPDATE counter SET value = ? WHERE name = ?", (value, name))


def _write_topics(connection: sqlite3.Connection, delta: MetadataDelta) -> None:
    for topic in delta.topics_deleted:
        connection.execute("DELETE FROM partition WHERE topic_id = ?", (topic.topic_id,))
        connection.execute("DELETE FROM topic WHERE topic_id = ?", (topic.topic_id,))
        connection.execute(
            "DELETE FROM config WHERE resource_type = ? AND resource_name = ?", (TOPIC_RESOURCE, topic.name)
        )
        connection.execute("INSERT INTO deleted_topic VALUES (?)", (topic.topic_id,))
    for topic in delta.topics_created:
        connection.execute("INSERT INTO topic VALUES (?, ?)", (topic.topic_id, topic.name))


def _write_partitions(connection: sqlite3.Connection, delta: MetadataDelta) -> None:
    for statement, states in (
        (
            "INSERT INTO partition (topic_id, partition, leader, leader_epoch, partition_epoch, replicas, isr)"
            " SELECT topic_id, :partition, :leader, :leader_epoch, :partition_epoch, :replicas, :isr"
            " FROM topic WHERE name = :topic",
            delta.created_partitions(),
        ),
        (
            "UPDATE partition SET leader = :leader, leader_epoch = :leader_epoch, partition_epoch = :partition_epoch,"
            " replicas = :replicas, isr = :isr"
            " WHERE partition = :partition AND topic_id = (SELECT topic_id FROM topic WHERE name = :topic)",
            delta.changed_partitions(),
        ),
    ):
        connection.executemany(statement, (_partition_row(state) for state in states))


def _partition_row(state: PartitionState) -> dict[str, object]:
    return {
        "topic": state.topic,
        "partition": state.partition,
        "leader": state.leader,
        "leader_epoch": state.leader_epoch,
        "partition_epoch": state.partition_epoch,
        "replicas": _join(state.replicas),
        "isr": _join(state.isr),
    }


def _write_configs(connection: sqlite3.Connection, delta: MetadataDelta) -> None:
    for change in delta.configs_changed:
        resource = (change.resource_type, change.name)
        connection.execute("DELETE FROM config WHERE resource_type = ? AND resource_name = ?", resource)
        rows = ((*resource, name, value) for name, value in change.overrides.items())
        connection.executemany("INSERT INTO config VALUES (?, ?, ?, ?)", rows)


def _write_quotas(connection: sqlite3.Connection, delta: MetadataDelta) -> None:
    for change in delta.quotas_changed:
        parts = dict(change.entity.parts)
        entity = tuple((parts[kind] or "") if kind in parts else None for kind in (USER, CLIENT_ID, IP))
        connection.execute("DELETE FROM client_quota WHERE user IS ? AND client_id IS ? AND ip IS ?", entity)
        rows = ((*entity, name, value) for name, value in change.quotas.items())
        connection.executemany("INSERT INTO client_quota VALUES (?, ?, ?, ?, ?)", rows)


def _write_features(connection: sqlite3.Connection, delta: MetadataDelta) -> None:
    for change in delta.features_changed:
        connection.execute("DELETE FROM feature WHERE name = ?", (change.name,))
        if change.level:
            connection.execute("INSERT INTO feature VALUES (?, ?)", (change.name, change.level))
    if delta.features_epoch is not None:
        connection.execute("UPDATE counter SET value = ? WHERE name = 'features_epoch'", (delta.features_epoch,))


def _read_state(connection: sqlite3.Connection) -> StoredState:
    (cluster_id,) = connection.execute("SELECT cluster_id FROM cluster").fetchone()
    counters = dict(connection.execute("SELECT name, value FROM counter").fetchall())
    deleted = frozenset(row[0] for row in connection.execute("SELECT topic_id FROM deleted_topic"))
    configs: dict[tuple[int, str], dict[str, str]] = {}
    for kind, resource, name, value in connection.execute(
        "SELECT resource_type, resource_name, name, value FROM config"
    ):
        configs.setdefault((kind, resource), {})[name] = value
    image = MetadataImage(
        cluster_id,
        topics=_read_topics(connection),
        configs=configs,
        client_quotas=_read_quotas(connection),
        features=dict(connection.execute("SELECT name, level FROM feature").fetchall()),
        features_epoch=counters.pop("features_epoch"),
    )
    return StoredState(image, **counters, deleted_topic_ids=deleted)


def _read_topics(connection: sqlite3.Connection) -> dict[str, TopicImage]:
    rows = connection.execute(
        "SELECT topic_id, name, partition, replicas, isr, leader, leader_epoch, partition_epoch"
        " FROM topic JOIN partition USING (topic_id) ORDER BY name, partition"
    )
    states: dict[tuple[str, bytes], list[PartitionState]] = {}
    for topic_id, name, partition, replicas, isr, *leadership in rows:
        state = PartitionState(name, partition, _split(replicas), _split(isr), *leadership)
        if len(topic_id) != TOPIC_ID_BYTES or not isinstance(name, str) or not all(map(_is_whole, leadership)):
            raise ValueError(f"topic {name!r} with id {topic_id!r}, led by {leadership}")
        states.setdefault((name, topic_id), []).append(state)
    for (name, _), partitions in states.items():
        if [state.partition for state in partitions] != list(range(len(partitions))):
            raise ValueError(f"topic {name!r} lacks some of its partitions")
    return {name: TopicImage(name, topic_id, partitions) for (name, topic_id), partitions in states.items()}


def _is_whole(value: object) -> bool:
    return isinstance(value, int)


def _read_quotas(connection: sqlite3.Connection) -> dict[QuotaEntity, dict[str, float]]:
    client_quotas: dict[QuotaEntity, dict[str, float]] = {}
    for user, client_id, ip, name, value in connection.execute("SELECT * FROM client_quota"):
        stored = ((USER, user), (CLIENT_ID, client_id), (IP, ip))
        entity = QuotaEntity({kind: text or None for kind, text in stored if text is not None})
        client_quotas.setdefault(entity, {})[name] = value
    return client_quotas


def _join(broker_ids: Iterable[int]) -> str:
    return ",".join(map(str, broker_ids))


def _split(text: str) -> tuple[int, ...]:
    return tuple(int(broker_id) for broker_id in text.split(",")) if text else ()
