"""The names of partition directories (Kafka's `LocalLog`), and what their suffixes mean.

<topic>-<partition>                        a log
<topic>-<partition>.<32 hex>-delete        to be removed once nobody reads from it any more
<topic>-<partition>.<32 hex>-stray         set aside: no topic of this cluster; never removed by a broker
<topic>-<partition>.<32 hex>-future        a move between log directories that was not finished; set aside
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
    """A name of its own for a directory that goes; a long topic is cut to what a file name may have."""
    tail = f"-{partition}.{os.urandom(_UNIQUE_ID_BYTES).hex()}{suffix}"
    return topic[: MAX_NAME_BYTES - len(tail)] + tail


def parse_directory_name(name: str) -> tuple[str, int] | None:
    """Topic and partition of a log's directory; None for a name that is no log's."""
    topic, separator, partition = name.rpartition("-")
    if not (separator and topic and partition.isascii() and partition.isdigit()):
        return None
    # A name that would be written otherwise ("orders-007") is not ours.
    return (topic, int(partition)) if str(int(partition)) == partition else None
