"""The names of partition directories (Kafka's `LocalLog`) and their suffixes.

<topic>-<partition>                        a log
<topic>-<partition>.<32 hex>-delete        deleted; removed after file.delete.delay.ms
<topic>-<partition>.<32 hex>-stray         set aside: not a topic of this cluster; a broker never removes it
<topic>-<partition>.<32 hex>-future        an unfinished move between log directories; set aside
"""

from __future__ import annotations

import os

DELETE_SUFFIX = "-delete"
STRAY_SUFFIX = "-stray"
FUTURE_SUFFIX = "-future"

MAX_NAME_BYTES = 255
_UNIQUE_ID_BYTES = 16


def directory_name(topic: str, partition: int) -> str:
    """The name of a partition's directory."""
    return f"{topic}-{partition}"


def renamed(topic: str, partition: int, suffix: str) -> str:
    """A unique name for a directory that is deleted or set aside. Long topic names are cut to fit a file name."""
    tail = f"-{partition}.{os.urandom(_UNIQUE_ID_BYTES).hex()}{suffix}"
    return topic[: MAX_NAME_BYTES - len(tail)] + tail


def parse_directory_name(name: str) -> tuple[str, int] | None:
    """Topic and partition of a log's directory; None for any other name."""
    topic, separator, partition = name.rpartition("-")
    if not (separator and topic and partition.isascii() and partition.isdigit()):
        return None
    # Reject a number that is written differently, as in "orders-007".
    return (topic, int(partition)) if str(int(partition)) == partition else None
