"""Every case there is, and which of them every CI run plays."""

from __future__ import annotations

from tests.spark.cases.batches import BATCHES
from tests.spark.cases.kafkas import KAFKAS
from tests.spark.cases.sinks import SINKS
from tests.spark.cases.streams import STREAMS

CASES = (*BATCHES, *STREAMS, *SINKS, *KAFKAS)

# Of every kind one or two: each takes a second or two, a stream a few.
QUICK_NAMES = (
    "headers, repeated, empty and null",
    "partitions of which one is empty",
    "all codecs",
    "values larger than a fetch",
    "two topics",
    "a pattern",
    "partitions by number",
    "a topic that is not there",
    "from offsets to offsets",
    "from behind where it ends",
    "from latest",
    "from a time to a time",
    "from times by partition",
    "from a time after all records, or from latest",
    "what was deleted is missed at an offset",
    "more tasks than partitions, of which one is large",
    "a count",
    "filters on places",
    "so many offsets a batch of skewed partitions",
    "a restart with more",
    "a topic of a pattern that is gone, and not missed",
    "records that were deleted unread, and are not missed",
    "a topic that was made anew",
    "bytes",
    "topics by row",
    "partitions by key",
    "headers by row",
    "a value of another type",
)
# And of these the ones of the small size of the suite (tests/plan/suites.py).
SMALL_NAMES = (
    "headers, repeated, empty and null",
    "two topics",
    "from offsets to offsets",
    "a count",
    "a restart with more",
    "topics by row",
    "transactions",
)
QUICK = [case for case in CASES if case.name in QUICK_NAMES]
# And these before Apache Kafka.
QUICK_BEFORE_KAFKA_NAMES = ("what was deleted is missed at an offset", "transactions", "a transaction that is open")
QUICK_BEFORE_KAFKA = [case for case in CASES if case.name in QUICK_BEFORE_KAFKA_NAMES]
