"""DescribeLogDirs (key 35): this broker's log directories, their partitions, and the size of their volumes (KIP-113).

v2 is flexible, v3 adds a top-level error, v4 total and usable bytes of each volume (KIP-827), -1 if unknown. An offline
directory has the error KAFKA_STORAGE_ERROR and no partitions. Replicas never move between directories here, so
`is_future_key` is always false.
"""

from __future__ import annotations

import os.path

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext
    from kcore.storage.checkpoints import TopicPartition
    from kcore.storage.log import Log
    from kcore.storage.log_dir import LogDir


def handle(context: RequestContext, request: Any) -> Fields:
    """Describes every directory, with the requested partitions, or with all."""
    wanted = (
        None
        if request.topics is None
        else {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    )
    found = context.broker.log_manager.logs_by_directory()
    return {"results": [describe_directory(context, log_dir, logs, wanted) for log_dir, logs in found]}


def describe_directory(
    context: RequestContext, log_dir: LogDir, logs: dict[TopicPartition, Log], wanted: Collection[TopicPartition] | None
) -> Fields:
    """The response of one directory. As in Kafka, its name is the absolute path."""
    path = os.path.abspath(log_dir.path)
    try:
        total, usable = context.broker.disk.space(log_dir.path)
    except OSError:
        total, usable = None, None
    if total is None or not log_dir.is_online:
        return {"error_code": errors.KafkaStorageError.code, "log_dir": path, "topics": []}
    partitions: dict[str, list[Fields]] = {}
    for (topic, index), log in sorted(logs.items()):
        if wanted is None or (topic, index) in wanted:
            partitions.setdefault(topic, []).append(describe_log(index, log))
    return {
        "error_code": errors.NONE,
        "log_dir": path,
        "topics": [{"name": topic, "partitions": rows} for topic, rows in partitions.items()],
        "total_bytes": total,
        "usable_bytes": usable,
    }


def describe_log(index: int, log: Log) -> Fields:
    """One partition. Its offset lag is the high watermark minus the log end offset, or 0."""
    return {
        "partition_index": index,
        "partition_size": log.size_bytes,
        "offset_lag": max(log.high_watermark - log.end_offset, 0),
        "is_future_key": False,
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error."""
    return {"error_code": error.code, "results": []}
