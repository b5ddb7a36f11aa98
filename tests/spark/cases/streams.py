"""Cases of streams: limits, restarts from the checkpoint, and topics that change meanwhile and in between."""

from __future__ import annotations

from pyspark.sql import DataFrame

from tests.spark.cases.batches import MIDDLE_MS, PAIR, SKEW, SUBSCRIBED, THREE
from tests.spark.comparison import Case
from tests.spark.contents import STEP_MS, Topic, numbered
from tests.spark.steps import AddPartitions, Append, Copy, Create, Delete, DeleteRecords, ReadBack, Step, Stream

FROM_EARLIEST = {**SUBSCRIBED, "startingOffsets": "earliest"}
MORE = Append("a", numbered(30, 3, first=1000))
LAST = Append("a", numbered(9, 3, first=2000))


def streaming(name: str, *steps: Step, topics: tuple[Topic, ...] = THREE, **options: str) -> Case:
    """Of topic a from its beginning, unless the options say otherwise; an empty one takes its default's place."""
    chosen = {"subscribe", "subscribePattern", "assign"} & options.keys()
    given = {**({"startingOffsets": "earliest"} if chosen else FROM_EARLIEST), **options}
    return Case(name, topics, given, steps or (Stream(),))


STARTS = (
    streaming("all there is"),
    streaming("headers in a stream", includeHeaders="true"),
    streaming("an empty topic in a stream", topics=(Topic("a", 2),)),
    streaming("from latest, and what comes then", Stream(), MORE, Stream(), startingOffsets=""),
    streaming("from offsets in a stream", startingOffsets='{"$a":{"0":23,"1":-2,"2":-1}}'),
    streaming("from a time in a stream", startingTimestamp=str(MIDDLE_MS)),
    streaming("from a time after all records in a stream", startingTimestamp=str(MIDDLE_MS * 2)),
    streaming(
        "from a time after all records in a stream, or from latest",
        Stream(),
        MORE,
        Stream(),
        startingTimestamp=str(MIDDLE_MS + 10_000 * STEP_MS),
        startingOffsetsByTimestampStrategy="latest",
    ),
    streaming("assigned partitions in a stream", assign='{"$a":[0,2]}'),
    streaming("an end, which streams do not have", endingOffsets="latest"),
    streaming("a topic that is not there in a stream", subscribe="$missing"),
)

LIMITS = (
    streaming("so many offsets a batch", maxOffsetsPerTrigger="50"),
    streaming("so many offsets a batch of skewed partitions", topics=SKEW, maxOffsetsPerTrigger="20"),
    streaming(
        "fewer offsets a batch than partitions",
        maxOffsetsPerTrigger="2",
        topics=(Topic("a", 3, numbered(9, 3)),),
    ),
    streaming("at least so many offsets a batch", minOffsetsPerTrigger="1000"),
    streaming("limits that contradict", minOffsetsPerTrigger="10", maxOffsetsPerTrigger="5"),
    streaming("one batch", Stream(once=True)),
    streaming("one batch, though it was to be limited", Stream(once=True), maxOffsetsPerTrigger="50"),
    streaming("more tasks in a stream", minPartitions="7"),
    streaming("tasks of so many records in a stream", maxRecordsPerPartition="9", topics=SKEW),
    streaming(
        "fewer than at least, which wait",
        Stream(meanwhile=(Append("a", numbered(3, 3, first=1000)), MORE)),
        minOffsetsPerTrigger="20",
        maxTriggerDelay="1h",
    ),
)

RESTARTS = (
    streaming("a restart without anything new", Stream(), Stream()),
    streaming("a restart with more", Stream(), MORE, Stream(), LAST, Stream()),
    streaming("a restart with other limits", Stream(), MORE, Stream({"maxOffsetsPerTrigger": "7"})),
    streaming(
        "a restart that is to begin elsewhere",
        Stream(),
        MORE,
        Stream({"startingOffsets": "latest"}),
    ),
    streaming("while it runs", Stream(meanwhile=(MORE, LAST))),
    streaming("while it runs, and a restart", Stream(meanwhile=(MORE,)), LAST, Stream(meanwhile=(MORE,))),
)

FORGIVING = {"failOnDataLoss": "false"}
CHANGES = (
    streaming(
        "partitions that are added between",
        Stream(),
        AddPartitions("a", 5),
        Append("a", numbered(20, 5, first=1000)),
        Stream(),
    ),
    streaming(
        "partitions that are added meanwhile",
        Stream({"metadataMaxAgeMs": "0"}, meanwhile=(AddPartitions("a", 4), Append("a", numbered(20, 4, first=1000)))),
    ),
    streaming(
        "a topic that a pattern finds later",
        Stream(),
        Create(Topic("later", 1, numbered(10, first=1000))),
        Stream(),
        topics=PAIR,
        subscribePattern="$all",
    ),
    streaming("a topic that is gone", Stream(), Delete("a"), Stream()),
    streaming(
        "a topic of a pattern that is gone", Stream(), Delete("a"), Stream(), topics=PAIR, subscribePattern="$all"
    ),
    streaming(
        "a topic of a pattern that is gone, and not missed",
        Stream(),
        Delete("a"),
        Append("b", numbered(5, first=2000)),
        Stream(FORGIVING),
        topics=PAIR,
        subscribePattern="$all",
    ),
    streaming("records that were deleted unread", Stream(), MORE, DeleteRecords("a", {0: 45}), Stream()),
    streaming(
        "records that were deleted unread, and are not missed",
        Stream(),
        MORE,
        DeleteRecords("a", {0: 45}),
        Stream(FORGIVING),
    ),
    streaming("records that were deleted once read", Stream(), DeleteRecords("a", {0: 20}), MORE, Stream()),
    streaming(
        "a topic that was made anew", Stream(), Delete("a"), Create(Topic("a", 3, numbered(30, 3, first=500))), Stream()
    ),
)


def windowed(frame: DataFrame) -> DataFrame:
    """Windows of 200 ms, which are 20 records, with a watermark behind them."""
    timed = frame.selectExpr("*", "window(timestamp, '200 milliseconds') AS window_of_it")
    counted = timed.withWatermark("timestamp", "100 milliseconds").groupBy("window_of_it", "partition").count()
    return counted.selectExpr("unix_micros(window_of_it.start) AS start", "partition", "count")


QUERIES = (
    streaming(
        "windows with state and a restart",
        Stream(query=windowed, mode="update"),
        MORE,
        Stream(query=windowed, mode="update"),
    ),
    streaming(
        "a filter in a stream", Stream(query=lambda frame: frame.where("partition = 1").select("offset", "value"))
    ),
)

TARGET = Topic("b", 3)
COPIES = (
    streaming("a stream into a topic", Copy("b"), ReadBack("b"), topics=(*THREE, TARGET)),
    streaming(
        "a stream into a topic, and a restart",
        Copy("b"),
        MORE,
        Copy("b"),
        ReadBack("b"),
        topics=(*THREE, TARGET),
        includeHeaders="true",
    ),
)

STREAMS = (*STARTS, *LIMITS, *RESTARTS, *CHANGES, *QUERIES, *COPIES)
