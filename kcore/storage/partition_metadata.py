"""`partition.metadata`, which says to which topic a partition's directory belongs (Kafka's `PartitionMetadataFile`):

    version: 0
    topic_id: 0Qftv9yBTAmf2iDPSlIk7g

There is no newline at the end. Crash policy: written once, before the first record, and on the device before a flush
of the log counts (`LocalLog.sync_birth`), so that making ten thousand partitions costs no sync. A directory without it,
or with an empty one or the beginning of one, is one whose creation was cut short (or older than topic ids) and gets it
when its topic is next seen.
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
    """Makes a partition's directory one of this topic."""
    disk.write_file(f"{directory}/{FILE_NAME}", content_of(topic_id))


def content_of(topic_id: bytes) -> bytes:
    """The file's bytes."""
    return f"version: {VERSION}\ntopic_id: {uuid.to_text(topic_id)}".encode()


def read_topic_id(disk: Disk, directory: str, hosted_id: bytes | None = None) -> bytes | None:
    """The id of the topic that a directory belongs to; None without the file, or before all of it was written.

    `hosted_id` is that of the topic which the directory is named by: what is torn is known by it. CorruptFileError
    when the file is damaged.
    """
    path = f"{directory}/{FILE_NAME}"
    try:
        content = disk.read_file(path)
    except FileNotFoundError:
        return None
    # Some file systems fill with zeros what a loss of power kept from being written.
    written = content.rstrip(b"\0")
    if not written or (hosted_id is not None and is_beginning(written, content_of(hosted_id))):
        return None
    return parse_topic_id(path, content)


def is_beginning(part: bytes, whole: bytes) -> bool:
    """Whether it is one, and not the whole."""
    return len(part) < len(whole) and whole.startswith(part)


def parse_topic_id(path: str, content: bytes) -> bytes:
    """The topic id in the file's bytes; `path` is for messages."""
    lines = content.decode("utf-8", "replace").splitlines()
    version = _field(path, lines, 1, "version")
    if version != str(VERSION):
        raise CorruptFileError(path, 1, f"version {shown(version)} is unknown, only {VERSION} is known", _REMEDY)
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
