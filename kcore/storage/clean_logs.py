"""`kcli-clean-logs`: how a clean shutdown left each log, so that the next start need not open any of them.

    1                                      version
    1                                      number of entries
    1284404863                             CRC-32 of the lines of the entries
    orders 0 1742 1200 65536 1763750000000 1763740000000 1763749999000 1741

An entry is topic, partition, log end offset; of the last segment its base offset, bytes, time of modification, the
first batch's largest timestamp, the largest timestamp and its offset. It stands beside `.kafka_cleanshutdown` in a log
directory; Apache Kafka, which opens each log instead, takes no notice of it.

Crash policy: written before the marker and removed with it. An entry counts only where the last segment still has this
size and time of modification, so that whoever touched the files meanwhile, Apache Kafka or a hand, has the log read
again; without the file, or with one whose checksum is wrong, every log is.
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

    # The seven numbers of an entry, in their order.
    CleanLog = tuple[int, ...]

log = get_logger(__name__)

FILE_NAME = "kcli-clean-logs"
VERSION = b"1"
HEAD_LINES = 3
NUMBERS = 7


def write_clean_logs(disk: Disk, directory: str, logs: Mapping[TopicPartition, CleanLog]) -> None:
    """Replaces the file of a log directory."""
    disk.write_file_atomically(f"{directory}/{FILE_NAME}", format_clean_logs(logs))


def take_clean_logs(disk: Disk, directory: str) -> dict[TopicPartition, CleanLog]:
    """Reads the file and removes it; nothing where there is none, or it is damaged."""
    path = f"{directory}/{FILE_NAME}"
    try:
        content = disk.read_file(path)
    except FileNotFoundError:
        return {}
    disk.unlink(path)
    logs = parse_clean_logs(content)
    if logs is None:
        log.warn("Ignored %s, which is damaged: every log is opened and read", path)
    return logs or {}


def format_clean_logs(logs: Mapping[TopicPartition, CleanLog]) -> bytes:
    """The file's bytes."""
    entries = "".join(
        f"{topic} {partition} {' '.join(map(str, left))}\n" for (topic, partition), left in logs.items()
    ).encode()
    return b"%s\n%d\n%d\n%s" % (VERSION, len(logs), crc32(entries), entries)


def parse_clean_logs(content: bytes) -> dict[TopicPartition, CleanLog] | None:
    """The entries in the file's bytes; None when they break a rule of the format."""
    head = content.split(b"\n", HEAD_LINES)
    if len(head) <= HEAD_LINES or head[0] != VERSION:
        return None
    lines = head[HEAD_LINES].split(b"\n")
    logs: dict[TopicPartition, CleanLog] = {}
    try:
        # A log end that is off by one bit would have offsets given out twice.
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
