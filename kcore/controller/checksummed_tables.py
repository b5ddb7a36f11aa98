"""The tables of the embedded metadata store, each with a checksum that detects lost, changed and reverted rows.

SQLite checks the structure of its file, but not its content. For every other table, the table `checksum` has the sum,
modulo 2**64, of a 64-bit hash of each row (BLAKE2b of the table's name and the row). The sum does not depend on the
order of rows, and can be updated for an insertion or a deletion without reading other rows. It is written in the same
transaction as the rows, so it does not match a page from before a transaction. The row `format_version` protects
`PRAGMA user_version`, which SQLite does not.

Values must have the type of their column: str for TEXT, int for INTEGER, float for REAL, bytes for BLOB. If SQLite
converted a value, the row that is read would have another hash.

Concurrency: the caller holds the store's lock.
"""

from __future__ import annotations

from _blake2 import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from typing import Any, TypeAlias

    Row: TypeAlias = tuple[Any, ...]

# The columns of every table with a checksum, in the order in which they are hashed.
COLUMNS = {
    "cluster": ("cluster_id",),
    "counter": ("name", "value"),
    "topic": ("topic_id", "name"),
    "partition": ("topic_id", "partition", "leader", "leader_epoch", "partition_epoch", "replicas", "isr"),
    "config": ("resource_type", "resource_name", "name", "value"),
    "client_quota": ("user", "client_id", "ip", "name", "value"),
    "feature": ("name", "level"),
    "deleted_topic": ("topic_id",),
}
CHECKSUM_TABLE = "checksum"
FORMAT_ROW = "format_version"
HASH_BYTES = 8
MODULUS = 1 << 8 * HASH_BYTES


class ContentDamagedError(Exception):
    """The content differs from what was written. The message names the table."""


class ChecksummedTables:
    """Reads and writes the rows, which nothing else may change. `commit` writes the checksums of changed tables."""

    __slots__ = ("_changed", "_connection", "_sums")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._sums = dict.fromkeys(COLUMNS, 0)
        # New checksums of the open transaction.
        self._changed: dict[str, int] = {}

    # --- the whole content ------------------------------------------------------------------------------------------

    def read_all(self) -> dict[str, list[Row]]:
        """Returns the rows of every table, and computes their checksums."""
        content = {}
        for table, columns in COLUMNS.items():
            content[table] = rows = self._connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
            self._sums[table] = sum_of(table, rows)
        return content

    def verify(self, format_version: int) -> None:
        """Compares the checksums of `read_all` with those in the file. Raises ContentDamagedError."""
        stored = dict(self._connection.execute(f"SELECT name, value FROM {CHECKSUM_TABLE}").fetchall())
        expected = {table: packed(value) for table, value in self._sums.items()}
        expected[FORMAT_ROW] = packed(format_version)
        for name in sorted(stored.keys() | expected.keys()):
            if stored.get(name) != expected.get(name):
                raise ContentDamagedError(f"the checksum of {name} does not match its content")

    def create(self, format_version: int) -> None:
        """Writes the checksums of `read_all`, or of empty tables for a new store. Call it in a transaction."""
        self._connection.execute(f"CREATE TABLE {CHECKSUM_TABLE} (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")
        rows = [(FORMAT_ROW, packed(format_version)), *((table, packed(value)) for table, value in self._sums.items())]
        self._connection.executemany(f"INSERT INTO {CHECKSUM_TABLE} VALUES (?, ?)", rows)

    # --- a transaction ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._changed = {}
        self._connection.execute("BEGIN IMMEDIATE")

    def insert(self, table: str, rows: Iterable[Row]) -> None:
        inserted = list(rows)
        places = ", ".join("?" * len(COLUMNS[table]))
        self._connection.executemany(f"INSERT INTO {table} ({', '.join(COLUMNS[table])}) VALUES ({places})", inserted)
        self._add(table, sum_of(table, inserted))

    def delete(self, table: str, condition: str, arguments: Sequence[object]) -> None:
        """Deletes the rows, if any, that match an SQL condition."""
        columns = ", ".join(COLUMNS[table])
        rows = self._connection.execute(f"SELECT {columns} FROM {table} WHERE {condition}", arguments).fetchall()
        if rows:
            self._connection.execute(f"DELETE FROM {table} WHERE {condition}", arguments)
            self._add(table, -sum_of(table, rows))

    def _add(self, table: str, value: int) -> None:
        self._changed[table] = (self._changed.get(table, self._sums[table]) + value) % MODULUS

    def commit(self) -> None:
        rows = [(packed(value), table) for table, value in self._changed.items()]
        self._connection.executemany(f"UPDATE {CHECKSUM_TABLE} SET value = ? WHERE name = ?", rows)
        self._connection.execute("COMMIT")
        self._sums.update(self._changed)

    def roll_back(self) -> None:
        """Rolls back the open transaction, if any."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def sum_of(table: str, rows: Iterable[Row]) -> int:
    """The sum of the hashes of rows. The format `!a` includes the types and is the same in every Python version."""
    total = 0
    for row in rows:
        total += int.from_bytes(blake2b(f"{table}{row!a}".encode("ascii"), digest_size=HASH_BYTES).digest(), "big")
    return total % MODULUS


def packed(value: int) -> bytes:
    """The value in the table's format. Damage may have made a format version negative; this is no error here."""
    return (value % MODULUS).to_bytes(HASH_BYTES, "big")
