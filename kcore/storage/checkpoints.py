"""The offset checkpoints of a log directory, in the text format of Kafka's `OffsetCheckpointFile`:

    0                          version
    2                          number of entries
    orders 0 1742              topic, partition, offset
    __consumer_offsets 7 31

Crash policy: a checkpoint is replaced as a whole (temporary file, fsync, rename, fsync of the directory), so that a
reader finds the old one or the new one. The logs have all its information: a missing file counts as empty, and a reader
may treat a damaged file as missing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.platform.disk import Disk

    TopicPartition = tuple[str, int]

RECOVERY_POINT_FILE = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_FILE = "log-start-offset-checkpoint"
HIGH_WATERMARK_FILE = "replication-offset-checkpoint"
# The checkpoints that the log manager writes.
WRITTEN_CHECKPOINTS = (RECOVERY_POINT_FILE, LOG_START_OFFSET_FILE, HIGH_WATERMARK_FILE)

VERSION = 0
LARGEST_OFFSET = 2**63 - 1
LARGEST_PARTITION = 2**31 - 1
SHOWN_CHARACTERS = 80


class CorruptFileError(Exception):
    """A text file of a log directory is invalid. `line` counts from 1; 0 means the whole file."""

    def __init__(self, path: str, line: int, rule: str, remedy: str) -> None:
        where = f"{path}, line {line}" if line else path
        super().__init__(f"{where}: {rule}; {remedy}")
        self.path = path
        self.line = line
        self.rule = rule
        self.remedy = remedy


class OffsetCheckpoint:
    """One checkpoint file in a log directory."""

    __slots__ = ("_disk", "_path")

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path

    def write(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Replaces the file. On an OSError the old file stays."""
        lines = [str(VERSION), str(len(offsets))]
        lines += [f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items())]
        self._disk.write_file_atomically(self._path, ("\n".join(lines) + "\n").encode())

    def read(self) -> dict[TopicPartition, int]:
        """The offsets; empty without a file. CorruptFileError has the invalid line and the reason."""
        try:
            content = self._disk.read_file(self._path)
        except FileNotFoundError:
            return {}
        return parse_checkpoint(self._path, content)


def parse_checkpoint(path: str, content: bytes) -> dict[TopicPartition, int]:
    """Parses the content of a checkpoint file. `path` is for messages."""
    lines = _decoded_lines(path, content)
    _check_version(path, lines)
    count = _number(path, 2, lines[1] if len(lines) > 1 else "", "the number of entries")
    entries = lines[2:]
    if len(entries) != count:
        raise _corrupt(path, 2, f"the file announces {count} entries, but has {len(entries)}")
    offsets: dict[TopicPartition, int] = {}
    for number, line in enumerate(entries, 3):
        key, offset = _parse_entry(path, number, line)
        if key in offsets:
            raise _corrupt(path, number, f"partition {key[0][:SHOWN_CHARACTERS]}-{key[1]} is listed twice")
        offsets[key] = offset
    return offsets


def _decoded_lines(path: str, content: bytes) -> list[str]:
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise _corrupt(path, 0, "the bytes are not UTF-8") from None
    if lines[-1] != "":
        raise _corrupt(path, len(lines), "the last line is incomplete")
    return lines[:-1]


def _check_version(path: str, lines: list[str]) -> None:
    if not lines:
        raise _corrupt(path, 1, "the file is empty")
    version = _number(path, 1, lines[0], "the version")
    if version != VERSION:
        raise _corrupt(path, 1, f"version {version} is not supported; the supported version is {VERSION}")


def _parse_entry(path: str, number: int, line: str) -> tuple[TopicPartition, int]:
    fields = line.split()
    if len(fields) != 3:
        raise _corrupt(path, number, f"{shown(line)} is not a topic, a partition and an offset")
    partition = _number(path, number, fields[1], "the partition", LARGEST_PARTITION)
    offset = _number(path, number, fields[2], "the offset")
    return (fields[0], partition), offset


def _number(path: str, line: int, text: str, meaning: str, largest: int = LARGEST_OFFSET) -> int:
    if not (text.isascii() and text.isdigit()):
        raise _corrupt(path, line, f"{shown(text)} is not {meaning}, a whole number of at least 0")
    number = number_in(text, largest)
    if number is None:
        raise _corrupt(path, line, f"{shown(text)} is larger than {meaning} can be")
    return number


def number_in(text: str, largest: int) -> int | None:
    """The number from 0 to `largest` in ASCII digits, or None."""
    digits = text.lstrip("0") or "0"
    # int() raises for thousands of digits.
    if not (text.isascii() and text.isdigit()) or len(digits) > len(str(largest)):
        return None
    number = int(digits)
    return number if number <= largest else None


def shown(text: str) -> str:
    """Text from a file, quoted and shortened for a message."""
    return repr(text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}...")


def _corrupt(path: str, line: int, rule: str) -> CorruptFileError:
    return CorruptFileError(path, line, rule, "remove the file: it is rebuilt from the logs")
