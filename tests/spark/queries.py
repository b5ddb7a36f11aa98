"""Streaming queries, begun: Spark gives the Python worker of a stream's source ten seconds to start, which no setting
changes. On a machine that is busy with other things it may need longer, and the query ends before it has read anything.
"""

from __future__ import annotations

import time

from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from kspark.pipeline.run import MOST_LATE_STARTS, WORKER_IS_LATE, is_starting

LOOK_S = 0.02


def begun(writer: DataStreamWriter) -> StreamingQuery:
    """A query whose sources are there, or that has ended; started anew where its worker was late."""
    query = writer.start()
    for _ in range(MOST_LATE_STARTS):
        while is_starting(query):
            time.sleep(LOOK_S)
        if query.isActive or WORKER_IS_LATE not in str(query.exception()):
            break
        query = writer.start()
    return query
