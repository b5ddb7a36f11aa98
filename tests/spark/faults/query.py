"""A streaming query as a program of its own, to be killed: python -m tests.spark.faults.query DIRECTORY SERVERS TOPIC

Each batch is written twice: to `batches/<id>`, over what an earlier try of that batch left, and to `tries/<some name>`,
where nothing is overwritten. So `batches` has each record exactly once when the source is at least once and a batch is
the same whenever it is tried, and `tries` shows that no record was passed over. A query that a fault has ended is
started again; with the file `finish` in the directory the program reads what there is and ends.
"""

from __future__ import annotations

import sys
import uuid
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kspark.session import close_session, open_session
from tests.spark.session import modest_settings

# Small batches, so that there are many moments between them.
MOST_OFFSETS = 400
LOOK_S = 0.2
COLUMNS = ("partition", "offset", "value")


def main() -> None:
    directory, servers, topic = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    temporary = directory / "temporary"
    temporary.mkdir(exist_ok=True)
    session = open_session("faults", "local[2]", modest_settings(temporary))
    try:
        while not is_read_to_the_end(session, directory, servers, topic):
            pass
    finally:
        close_session(session)


def is_read_to_the_end(session: SparkSession, directory: Path, servers: str, topic: str) -> bool:
    """Runs the query until a fault ends it, or until it is to finish and has."""
    query = started(session, directory, servers, topic)
    try:
        while not (directory / "finish").exists():
            if query.awaitTermination(LOOK_S):
                return False
        query.processAllAvailable()
        query.stop()
        return True
    except StreamingQueryException as error:
        print(f"the query ended: {error}", file=sys.stderr, flush=True)
        return False


def started(session: SparkSession, directory: Path, servers: str, topic: str) -> StreamingQuery:
    def write(frame: DataFrame, number: int) -> None:
        kept = frame.select(*COLUMNS).persist()
        kept.write.parquet(str(directory / "tries" / f"{number}-{uuid.uuid4().hex}"))
        kept.write.mode("overwrite").parquet(str(directory / "batches" / str(number)))
        kept.unpersist()

    reader = session.readStream.format("kcli").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    frame = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", str(MOST_OFFSETS)).load()
    writer = frame.writeStream.foreachBatch(write).option("checkpointLocation", str(directory / "checkpoint"))
    return writer.start()


if __name__ == "__main__":
    main()
