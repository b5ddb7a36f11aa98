"""The metadata of a cluster of one machine, in one SQLite file: `__cluster_metadata.sqlite` in `metadata.log.dir`.

Tables, version 2 (`PRAGMA user_version`; `PRAGMA application_id` tells the file from other SQLite files):

    cluster        cluster_id
    counter        name -> value: controller_epoch, next_broker_epoch, next_producer_id, features_epoch
    topic          topic_id (16 bytes), name
    partition      topic_id, partition -> leader, leader_epoch, partition_epoch, replicas, isr ("1,2,3")
    config         resource_type, resource_name, name -> value
    client_quota   user, client_id, ip, name -> value: NULL if the entity lacks the type, '' for the default entity
    feature        name -> level: finalized features
    deleted_topic  topic_id: topics whose directories may not be removed yet
    checksum       name -> value: a checksum of the rows of each other table (`checksummed_tables.py`)

Version 1 had no checksums. They are added when such a store is opened.

Crash policy: a change is one SQL transaction with `synchronous=FULL`. It is answered after the fsync of its commit
record, so a kill -9 or a power loss leaves the state before or after it. The journal is a write-ahead log, with one
fsync per change instead of the three or four of a rollback journal. With `locking_mode=EXCLUSIVE` SQLite needs no
shared-memory file, whose mapping could raise SIGBUS on a full disk. No other process may open the file meanwhile; the
log directory's `.lock` excludes a second broker anyway.

A damaged file is never repaired or replaced here: the error names it and the remedies. When the store is opened, SQLite
checks the structure of the file (`PRAGMA integrity_check`), the rows are compared with their checksums, and a
write-ahead log left by a crash is checked for damaged frames. So damage is found before the broker serves anything.

The data plane does not use this store. Its file is the only one that does not go through the disk table of
`kcore.platform`: runs in memory use `MemoryMetadataStore`.
"""

from __future__ import annotations

import os
from errno import EDQUOT, ENOSPC

from kcore import errors
from kcore.controller.checksummed_tables import (
    CHECKSUM_TABLE,
    FORMAT_ROW,
    ChecksummedTables,
    ContentDamagedError,
    packed,
)
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
    from collections.abc import Iterable, Mapping, Sequence

    from kcore.controller.checksummed_tables import Row
    from kcore.controller.local_store import Transaction
    from kcore.metadata.image import MetadataDelta

FILE_NAME = "__cluster_metadata.sqlite"
UNFINISHED_SUFFIX = ".new"
FORMAT_VERSION = 2
# "kmds" in ASCII, stored in the header of the file.
APPLICATION_ID = 0x6B6D6473
TOPIC_ID_BYTES = 16
# The same mode as `kcore.platform.disk` uses for all other files.
FILE_MODE = 0o600

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

# Tables that were added to version 1 later.
_ADDED_TABLES = (
    "CREATE TABLE IF NOT EXISTS client_quota"
    " (user TEXT, client_id TEXT, ip TEXT, name TEXT NOT NULL, value REAL NOT NULL)",
    "CREATE TABLE IF NOT EXISTS feature (name TEXT PRIMARY KEY, level INTEGER NOT NULL) WITHOUT ROWID",
)
_COUNTERS = ("controller_epoch", "next_broker_epoch", "next_producer_id", "features_epoch")
# Bytes in the header of a SQLite file: write and read format versions, 1, or 2 with a write-ahead log.
_FILE_FORMATS = slice(18, 20)
_VALID_FILE_FORMATS = (b"\1\1", b"\2\2")


class EmbeddedMetadataStore(LocalMetadataStore):
    """The metadata store in the SQLite file `path`, whose directory must exist."""

    __slots__ = ("_connection", "_path", "_tables")

    is_of_one_broker = True

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._tables: ChecksummedTables | None = None

    @property
    def name(self) -> str:
        return f"The metadata store {self._path}"

    def _load(self) -> StoredState | None:
        # Imports take half of the start of a small process. Only brokers with this store import SQLite, and only the C
        # module without the Python wrapper `sqlite3`.
        import _sqlite3 as sqlite3

        exists = os.path.exists(self._path)
        try:
            if exists:
                self._check_files()
            else:
                self._make_file()
            self._connection = connection = sqlite3.connect(
                self._path, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=32
            )
            self._tables = ChecksummedTables(connection)
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            version = self._check_format(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            return self._read_verified(connection, self._tables, version) if version else None
        except (sqlite3.Error, OSError) as error:
            raise self._explained(error, is_new=not exists) from error
        except ContentDamagedError as error:
            raise self._damaged(str(error)) from error
        except (ValueError, TypeError, KeyError) as error:
            raise self._damaged(f"its content is not valid: {error!r}") from error

    def _check_files(self) -> None:
        """Checks what SQLite does not: it treats the first damaged frame as the end of the write-ahead log."""
        with open(self._path, "rb") as file:
            formats = file.read(_FILE_FORMATS.stop)[_FILE_FORMATS]
        if formats and formats not in _VALID_FILE_FORMATS:
            raise ContentDamagedError("it is not a SQLite database")
        if not os.path.exists(self._path + "-wal"):
            return
        # A crash left this file: a clean shutdown removes it.
        from kcore.controller.write_ahead_log import damage_in

        with open(self._path + "-wal", "rb") as file:
            damage = damage_in(file.read())
        if damage is not None:
            raise ContentDamagedError(damage)

    def _read_verified(self, connection: sqlite3.Connection, tables: ChecksummedTables, version: int) -> StoredState:
        (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise ContentDamagedError(found)
        if version == FORMAT_VERSION:
            content = tables.read_all()
            tables.verify(version)
        else:
            content = self._add_checksums(connection, tables)
        return _state_of(content)

    def _add_checksums(self, connection: sqlite3.Connection, tables: ChecksummedTables) -> dict[str, list[Row]]:
        tables.begin()
        try:
            _add_tables(connection)
            content = tables.read_all()
            tables.create(FORMAT_VERSION)
            connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            tables.commit()
        except BaseException:
            tables.roll_back()
            raise
        return content

    def _make_file(self) -> None:
        """Creates an empty database with a write-ahead log. After a crash it is complete or does not exist.

        SQLite would sync a rollback journal four times for this, which protects nothing yet. The directory is synced
        with the first change, before that is answered.
        """
        import _sqlite3 as sqlite3

        unfinished = self._path + UNFINISHED_SUFFIX
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        # SQLite creates the journal with the mode of the database.
        os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
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
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if CHECKSUM_TABLE in tables:
            self._check_marks(connection, version, application)
        elif version == FORMAT_VERSION or (tables and not version and application == APPLICATION_ID):
            raise ContentDamagedError(f"it has format version {version} and the tables of another one")
        if tables and application != APPLICATION_ID:
            raise MetadataStoreError(f"{self.name} is a SQLite file of another program. Move it to another directory")
        if version > FORMAT_VERSION:
            raise MetadataStoreError(
                f"{self.name} has format version {version}, but this release supports versions up to {FORMAT_VERSION}. "
                "Start the release that wrote it, or a newer one"
            )
        return version

    def _check_marks(self, connection: sqlite3.Connection, version: int, application: int) -> None:
        """Checks the two numbers in the file's header that SQLite does not protect."""
        query = f"SELECT value FROM {CHECKSUM_TABLE} WHERE name = '{FORMAT_ROW}'"
        (stored,) = connection.execute(query).fetchone() or (None,)
        if stored != packed(version) or application != APPLICATION_ID:
            raise ContentDamagedError(f"its header has format version {version} and application id {application:#x}")

    def _explained(self, error: sqlite3.Error | OSError, *, is_new: bool) -> MetadataStoreError:
        denied = self._denied_path(error)
        if denied is None:
            return self._explained_by_text(error, is_new)
        return MetadataStoreDeniedError(
            f"{self.name} cannot be opened (permission denied: {denied}); change its owner or mode, or run the broker "
            "as its owner"
        )

    def _explained_by_text(self, error: sqlite3.Error | OSError, is_new: bool) -> MetadataStoreError:
        text = str(error)
        if "locked" in text:
            return MetadataStoreError(f"{self.name} is in use by another process. Stop that process first")
        if "unable to open" in text or "readonly" in text or isinstance(error, FileNotFoundError | PermissionError):
            return MetadataStoreError(
                f"{self.name} cannot be opened for writing ({text}). Check its directory and permissions"
            )
        if "is full" in text or (isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT)):
            return MetadataStoreError(
                f"cannot {'create' if is_new else 'write'} the metadata store {self._path}: no space left on device. "
                f"Free space{', or set metadata.log.dir,' * is_new} and start the broker again"
            )
        if "disk I/O error" in text or isinstance(error, OSError):
            return MetadataStoreError(f"{self.name} cannot be read or written ({text}). Check its disk")
        return self._damaged(text)

    def _denied_path(self, error: sqlite3.Error | OSError) -> str | None:
        """The file or directory without permission, or None. SQLite's errors do not name it."""
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
            f"{self.name} is damaged ({reason}). Restore the file from a backup, or start with --rebuild-metadata, "
            "which renames it and rebuilds topics, but not their configurations, from the log directories"
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
        import _sqlite3 as sqlite3

        try:
            self._create_tables(cluster_id)
        except (sqlite3.Error, OSError) as error:
            raise self._explained(error, is_new=True) from error

    def _create_tables(self, cluster_id: str) -> None:
        connection, tables = self._opened_file()
        # An empty store need not survive a crash. The first change syncs the log, including this transaction.
        connection.execute("PRAGMA synchronous = OFF")
        tables.begin()
        try:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            for statement in _ADDED_TABLES:
                connection.execute(statement)
            tables.create(FORMAT_VERSION)
            tables.insert("cluster", [(cluster_id,)])
            tables.insert("counter", [(name, 0) for name in _COUNTERS])
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            tables.commit()
        except BaseException:
            tables.roll_back()
            raise
        finally:
            connection.execute("PRAGMA synchronous = FULL")

    def _opened_file(self) -> tuple[sqlite3.Connection, ChecksummedTables]:
        if self._connection is None or self._tables is None:
            raise MetadataStoreError(f"{self.name} is not open")
        return self._connection, self._tables

    def _write(self, transaction: Transaction) -> None:
        import _sqlite3 as sqlite3

        connection, tables = self._opened_file()
        try:
            tables.begin()
            _check_epoch(connection, transaction.expected_epoch)
            _write_counters(tables, transaction)
            _write_topics(tables, transaction.delta)
            _write_partitions(connection, tables, transaction.delta)
            _write_configs(tables, transaction.delta)
            _write_quotas(tables, transaction.delta)
            _write_features(tables, transaction.delta)
            for topic_id in transaction.topics_forgotten:
                tables.delete("deleted_topic", "topic_id = ?", (topic_id,))
            tables.commit()
        except sqlite3.Error as error:
            tables.roll_back()
            raise errors.KafkaStorageError(f"{self.name} cannot be written ({error}). Check its disk") from error
        except BaseException:
            tables.roll_back()
            raise

    def _release(self) -> None:
        connection, self._connection, self._tables = self._connection, None, None
        if connection is not None:
            connection.close()


def _add_tables(connection: sqlite3.Connection) -> None:
    """Adds what a store of version 1 may lack."""
    for statement in _ADDED_TABLES:
        connection.execute(statement)
    connection.execute("INSERT OR IGNORE INTO counter VALUES ('features_epoch', 0)")


def _check_epoch(connection: sqlite3.Connection, expected: int | None) -> None:
    if expected is None:
        return
    (stored,) = connection.execute("SELECT value FROM counter WHERE name = 'controller_epoch'").fetchone()
    if stored != expected:
        raise errors.StaleControllerEpochError(f"Controller epoch {expected} was followed by {stored}.")


def _write_counters(tables: ChecksummedTables, transaction: Transaction) -> None:
    for name in ("controller_epoch", "next_broker_epoch", "next_producer_id"):
        value = getattr(transaction, name)
        if value is not None:
            _set_counter(tables, name, value)


def _set_counter(tables: ChecksummedTables, name: str, value: int) -> None:
    tables.delete("counter", "name = ?", (name,))
    tables.insert("counter", [(name, value)])


def _write_topics(tables: ChecksummedTables, delta: MetadataDelta) -> None:
    for topic in delta.topics_deleted:
        tables.delete("partition", "topic_id = ?", (topic.topic_id,))
        tables.delete("topic", "topic_id = ?", (topic.topic_id,))
        tables.delete("config", "resource_type = ? AND resource_name = ?", (TOPIC_RESOURCE, topic.name))
    tables.insert("deleted_topic", [(topic.topic_id,) for topic in delta.topics_deleted])
    tables.insert("topic", [(topic.topic_id, topic.name) for topic in delta.topics_created])


def _write_partitions(connection: sqlite3.Connection, tables: ChecksummedTables, delta: MetadataDelta) -> None:
    topic_ids: dict[str, bytes] = {}

    def row_of(state: PartitionState) -> Row:
        if state.topic not in topic_ids:
            query = "SELECT topic_id FROM topic WHERE name = ?"
            (topic_ids[state.topic],) = connection.execute(query, (state.topic,)).fetchone()
        leadership = (state.leader, state.leader_epoch, state.partition_epoch)
        return (topic_ids[state.topic], state.partition, *leadership, _join(state.replicas), _join(state.isr))

    changed = [row_of(state) for state in delta.changed_partitions()]
    for row in changed:
        tables.delete("partition", "topic_id = ? AND partition = ?", row[:2])
    tables.insert("partition", [*changed, *map(row_of, delta.created_partitions())])


def _write_configs(tables: ChecksummedTables, delta: MetadataDelta) -> None:
    for change in delta.configs_changed:
        resource = (change.resource_type, change.name)
        tables.delete("config", "resource_type = ? AND resource_name = ?", resource)
        tables.insert("config", [(*resource, name, value) for name, value in change.overrides.items()])


def _write_quotas(tables: ChecksummedTables, delta: MetadataDelta) -> None:
    for change in delta.quotas_changed:
        parts = dict(change.entity.parts)
        entity = tuple((parts[kind] or "") if kind in parts else None for kind in (USER, CLIENT_ID, IP))
        tables.delete("client_quota", "user IS ? AND client_id IS ? AND ip IS ?", entity)
        # SQLite stores a float, and drops the sign of zero.
        tables.insert("client_quota", [(*entity, name, float(value) + 0.0) for name, value in change.quotas.items()])


def _write_features(tables: ChecksummedTables, delta: MetadataDelta) -> None:
    for change in delta.features_changed:
        tables.delete("feature", "name = ?", (change.name,))
        if change.level:
            tables.insert("feature", [(change.name, change.level)])
    if delta.features_epoch is not None:
        _set_counter(tables, "features_epoch", delta.features_epoch)


def _state_of(content: Mapping[str, Sequence[Row]]) -> StoredState:
    ((cluster_id,),) = content["cluster"]
    counters: dict[str, int] = dict(content["counter"])
    configs: dict[tuple[int, str], dict[str, str]] = {}
    for kind, resource, name, value in content["config"]:
        configs.setdefault((kind, resource), {})[name] = value
    image = MetadataImage(
        cluster_id,
        topics=_topics_of(content["topic"], content["partition"]),
        configs=configs,
        client_quotas=_quotas_of(content["client_quota"]),
        features=dict(content["feature"]),
        features_epoch=counters.pop("features_epoch"),
    )
    return StoredState(image, **counters, deleted_topic_ids=frozenset(row[0] for row in content["deleted_topic"]))


def _topics_of(topics: Sequence[Row], partitions: Sequence[Row]) -> dict[str, TopicImage]:
    names: dict[bytes, str] = dict(topics)
    states: dict[bytes, list[PartitionState]] = {topic_id: [] for topic_id in names}
    for topic_id, partition, *leadership, replicas, isr in partitions:
        name = names[topic_id]
        if len(topic_id) != TOPIC_ID_BYTES or not isinstance(name, str) or not all(map(_is_whole, leadership)):
            raise ValueError(f"topic {name!r} with id {topic_id!r}, led by {leadership}")
        states[topic_id].append(PartitionState(name, partition, _split(replicas), _split(isr), *leadership))
    for topic_id, name in names.items():
        # Rows are in the order of the primary key: topic id and partition.
        if [state.partition for state in states[topic_id]] != list(range(len(states[topic_id]))) or not states[
            topic_id
        ]:
            raise ValueError(f"topic {name!r} lacks some of its partitions")
    return {
        name: TopicImage(name, topic_id, states[topic_id])
        for name, topic_id in sorted((name, topic_id) for topic_id, name in names.items())
    }


def _is_whole(value: object) -> bool:
    return isinstance(value, int)


def _quotas_of(rows: Iterable[Row]) -> dict[QuotaEntity, dict[str, float]]:
    client_quotas: dict[QuotaEntity, dict[str, float]] = {}
    for user, client_id, ip, name, value in rows:
        stored = ((USER, user), (CLIENT_ID, client_id), (IP, ip))
        entity = QuotaEntity({kind: text or None for kind, text in stored if text is not None})
        client_quotas.setdefault(entity, {})[name] = value
    return client_quotas


def _join(broker_ids: Iterable[int]) -> str:
    return ",".join(map(str, broker_ids))


def _split(text: str) -> tuple[int, ...]:
    return tuple(int(broker_id) for broker_id in text.split(",")) if text else ()
