"""A directory for one log, and short words for what tests do to it."""

from __future__ import annotations

from typing import Any

from kcore.platform.disk import Disk
from kcore.record.decoder import decode_batches
from kcore.record.encoder import RecordBatchBuilder
from kcore.storage.log import AppendInfo, Log
from kcore.storage.log_config import LogConfig
from kcore.storage.log_loader import load_log

LOG_END = 0
HIGH_WATERMARK = 1
COMMITTED = 2
CLIENT = 0
COORDINATOR = 1
REPLICATION = 2
OLD_MS = 1_700_000_000_000


def batch(count: int = 1, *, value: bytes = b"value", timestamp: int = OLD_MS, **fields: Any) -> bytes:
    """`count` records a millisecond apart, keyed by their number."""
    builder = RecordBatchBuilder(**fields)
    for i in range(count):
        builder.append(b"%d" % i, value, timestamp + i)
    return builder.build()


class LogPlace:
    """Opens and reopens the log of one directory."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self.disk = disk
        self.directory = directory
        self.log: Log | None = None

    def open(self, properties: dict[str, object] | None = None, **arguments: Any) -> Log:
        """Loads the log anew; the one opened before is let go as a crash would."""
        self.let_go()
        config = LogConfig.from_properties(properties or {})
        self.log = load_log(self.disk, self.directory, "orders", 0, config, **arguments)
        return self.log

    def let_go(self) -> None:
        self.log = None

    def path(self, name: str) -> str:
        return f"{self.directory}/{name}"

    def read_file(self, name: str) -> bytes:
        return self.disk.read_file(self.path(name))

    def write_file(self, name: str, content: bytes | bytearray) -> None:
        self.disk.write_file_atomically(self.path(name), content)

    def names(self, suffix: str = "") -> list[str]:
        return [name for name in self.disk.listdir(self.directory) if name.endswith(suffix)]


def append_each(log: Log, count: int, **fields: Any) -> list[AppendInfo]:
    """`count` batches of one record; timestamps rise by a millisecond."""
    start = log.end_offset
    timestamp = fields.pop("timestamp", OLD_MS)
    return [log.append(batch(timestamp=timestamp + start + i, **fields)) for i in range(count)]


def read_all(log: Log, isolation: int = LOG_END, max_bytes: int = 2**31 - 1) -> list[tuple[int, bytes | None]]:
    """Every record's offset and value from the log's start, read the way a consumer reads."""
    found: list[tuple[int, bytes | None]] = []
    offset = log.start_offset
    while data := log.read(offset, max_bytes, isolation):
        for record_batch in decode_batches(data):
            found.extend((record.offset, record.value) for record in record_batch if record.offset >= offset)
            offset = record_batch.next_offset
    return found


def file_name(offset: int, suffix: str = ".log") -> str:
    return f"{offset:020d}{suffix}"
