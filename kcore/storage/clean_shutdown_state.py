"""`kcli-clean-logs`: the state of each log after a clean shutdown, so that the next start need not open the logs.

    1                                      version
    1                                      number of entries
    1284404863                             CRC-32 of the lines of the entries
    orders 0 1742 1200 65536 1763750000000 1763740000000 1763749999000 1741

An entry is topic, partition and log end offset; then, of the last segment: base offset, bytes, time of modification,
the largest timestamp of the first batch, the largest timestamp and its offset. The file is beside
`.kafka_cleanshutdown` in a log directory. Apache Kafka ignores it and opens each log.

Crash policy: written before the marker and removed with it. An entry is used only if the last segment still has this
size and time of modification: when Apache Kafka or a person changed the files, the log is read again. All logs are read
when the file is missing or its checksum is wrong.
"""

from __future__ import annotations

from zlib import crc32

from kcore.logger import get_logger
from kcore.storage.checkpoints import LARGEST_OFFSET, LARGEST_PARTITION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.platform.disk import Disk
    from kcore.storage.checkpoints import TopicPartition

    # The seven numbers of an entry, in order.
    CleanState = tuple[int, ...]

log = get_logger(__name__)

FILE_NAME = "kcli-clean-logs"
VERSION = b"1"
HEAD_LINES = 3
NUMBERS = 7


def write_clean_state(disk: Disk, directory: str, logs: Mapping[TopicPartition, CleanState]) -> None:
    """Replaces the file in a log directory."""
    disk.write_file_atomically(f"{directory}/{FILE_NAME}", format_clean_state(logs))


def take_clean_state(disk: Disk, directory: str) -> dict[TopicPartition, CleanState]:
    """Reads the file and removes it. Empty when it is missing or damaged."""
    path = f"{directory}/{FILE_NAME}"
    try:
        content = disk.read_file(path)
    except FileNotFoundError:
        return {}
    disk.unlink(path)
    logs = parse_clean_state(content)
    if logs is None:
        log.warn("Ignored the damaged file %s. The start takes longer, because it opens and reads every log", path)
    return logs or {}


def format_clean_state(logs: Mapping[TopicPartition, CleanState]) -> bytes:
    """The file's bytes."""
    entries = "".join(
        f"{topic} {partition} {' '.join(map(str, left))}\n" for (topic, partition), left in logs.items()
    ).encode()
    return b"%s\n%d\n%d\n%s" % (VERSION, len(logs), crc32(entries), entries)


def parse_clean_state(content: bytes) -> dict[TopicPartition, CleanState] | None:
    """The entries in the file's bytes; None when they break a rule of the format."""
    head = content.split(b"\n", HEAD_LINES)
    if len(head) <= HEAD_LINES or head[0] != VERSION:
        return None
    lines = head[HEAD_LINES].split(b"\n")
    logs: dict[TopicPartition, CleanState] = {}
    try:
        # A wrong log end offset would assign offsets twice.
        if int(head[2]) != crc32(head[HEAD_LINES]) or lines[-1] != b"":
            return None
        for line in lines[:-1]:
            topic, partition, *numbers = line.split(b" ")
            key = topic.decode(), int(partition)
            left = tuple(map(int, numbers))
            if len(left) != NUMBERS or not 0 <= key[1] <= LARGEST_PARTITION:
                return None
            if min(left) < -1 or max(left) > LARGEST_OFFSET:
                return None
            logs[key] = left
        return logs if len(logs) == int(head[1]) else None
    except ValueError:
        return None
