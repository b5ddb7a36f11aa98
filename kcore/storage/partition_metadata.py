"""`partition.metadata`: the topic id of a partition's directory (Kafka's `PartitionMetadataFile`).

    version: 0
    topic_id: 0Qftv9yBTAmf2iDPSlIk7g

There is no newline at the end. Crash policy: written once, before the first record, and synced by the first flush of
the log (`sync_birth` in log_flush), so that creating ten thousand partitions costs no sync. If the file is missing,
empty or incomplete, a crash interrupted the creation of the directory (or it is older than topic ids); the file is
written when its topic is next seen.
"""

from __future__ import annotations

from kcore import uuid
from kcore.storage.checkpoints import CorruptFileError, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.platform.disk import Disk

FILE_NAME = "partition.metadata"
VERSION = 0

_REMEDY = "restore the file with the topic's id, or move the partition's directory away"


def write_topic_id(disk: Disk, directory: str, topic_id: bytes) -> None:
    """Writes the file in a partition's directory."""
    disk.write_file(f"{directory}/{FILE_NAME}", content_of(topic_id))


def content_of(topic_id: bytes) -> bytes:
    """The content of the file."""
    return f"version: {VERSION}\ntopic_id: {uuid.to_text(topic_id)}".encode()


def read_topic_id(disk: Disk, directory: str, hosted_id: bytes | None = None) -> bytes | None:
    """The topic id of a partition's directory; None if the file is missing or incomplete.

    `hosted_id` is the id of the topic with the directory's name: an incomplete file is recognized by it.
    CorruptFileError if the file is damaged.
    """
    path = f"{directory}/{FILE_NAME}"
    try:
        content = disk.read_file(path)
    except FileNotFoundError:
        return None
    # After a loss of power, some file systems fill unwritten parts with zeros.
    written = content.rstrip(b"\0")
    if not written or (hosted_id is not None and is_beginning(written, content_of(hosted_id))):
        return None
    return parse_topic_id(path, content)


def is_beginning(part: bytes, whole: bytes) -> bool:
    """Whether the content is an incomplete beginning of the expected one."""
    return len(part) < len(whole) and whole.startswith(part)


def parse_topic_id(path: str, content: bytes) -> bytes:
    """Parses the content of the file. `path` is for messages."""
    lines = content.decode("utf-8", "replace").splitlines()
    version = _field(path, lines, 1, "version")
    if version != str(VERSION):
        raise CorruptFileError(
            path, 1, f"version {shown(version)} is not supported; the supported version is {VERSION}", _REMEDY
        )
    text = _field(path, lines, 2, "topic_id")
    try:
        topic_id = uuid.from_text(text)
    except ValueError as error:
        raise CorruptFileError(path, 2, str(error), _REMEDY) from None
    if topic_id == uuid.ZERO:
        raise CorruptFileError(path, 2, "the topic id is zero", _REMEDY)
    return topic_id


def _field(path: str, lines: list[str], number: int, name: str) -> str:
    line = lines[number - 1] if len(lines) >= number else ""
    found, separator, value = line.partition(":")
    if found != name or not separator:
        raise CorruptFileError(path, number, f"{shown(line)} is not `{name}: ...`", _REMEDY)
    return value.strip()
