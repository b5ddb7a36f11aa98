"""Cases of batches: topics of every kind, and every option that says what is read and from where to where."""

from __future__ import annotations

from tests.spark.comparison import Case
from tests.spark.contents import FIRST_TIME_MS, STEP_MS, Record, Topic, numbered, skewed
from tests.spark.steps import FAILED, DeleteRecords, Read

COUNT = 120
THREE = (Topic("a", 3, numbered(COUNT, 3)),)
PAIR = (Topic("a", 2, numbered(40, 2)), Topic("b", 1, numbered(20, first=500)))
SUBSCRIBED = {"subscribe": "$a"}
MIDDLE_MS = FIRST_TIME_MS + 60 * STEP_MS
AFTER_ALL_MS = FIRST_TIME_MS + 10_000_000


def reading(name: str, topics: tuple[Topic, ...] = THREE, **options: str) -> Case:
    """Of topic a, unless the options say otherwise; `_` stands for the point of a name."""
    given = {name.replace("_", "."): text for name, text in options.items()}
    chosen = {"subscribe", "subscribePattern", "assign"} & given.keys()
    return Case(name, topics, given if chosen else {**SUBSCRIBED, **given})


CONTENTS = (
    reading("a topic with keys, tombstones and times"),
    reading("headers, repeated, empty and null", includeHeaders="true"),
    reading("an empty topic", (Topic("a", 2),)),
    reading("partitions of which one is empty", (Topic("a", 3, skewed(30, 0, 10)),)),
    reading("a name of every allowed sign", (Topic("A.b_c-9", 1, numbered(5)),), subscribePattern="$all"),
    reading("very many partitions", (Topic("a", 24, numbered(100, 24)),)),
    reading(
        "all codecs",
        tuple(Topic(codec, 1, numbered(60), codec=codec) for codec in ("gzip", "snappy", "lz4", "zstd")),
        subscribe="$gzip,$snappy,$lz4,$zstd",
    ),
    reading(
        "values larger than a fetch",
        (Topic("a", 1, tuple(Record(0, b"%d" % number * 300_000) for number in range(4))),),
        kafka_max_partition_fetch_bytes="1000",
        kafka_fetch_max_bytes="1000",
    ),
    reading(
        "times that go back and forth",
        (Topic("a", 1, tuple(Record(0, b"v", None, FIRST_TIME_MS + number * 7919 % 1000) for number in range(50))),),
        startingTimestamp=str(FIRST_TIME_MS + 500),
    ),
    Case(
        "times of the broker",
        (Topic("a", 1, numbered(10), settings=(("message.timestamp.type", "LogAppendTime"),)),),
        SUBSCRIBED,
        (Read(query=lambda frame: frame.drop("timestamp")),),
    ),
)

TOPICS = (
    reading("two topics", PAIR, subscribe="$a,$b"),
    reading("topics with spaces between", PAIR, subscribe="$a , $b"),
    reading("a pattern", PAIR, subscribePattern="$all"),
    reading("a pattern that matches a part of names", PAIR, subscribePattern="$all[ac]"),
    reading("a pattern that matches nothing", PAIR, subscribePattern="$none[0-9]"),
    reading("partitions by number", assign='{"$a":[0,2]}'),
    reading("partitions of two topics", PAIR, assign='{"$a":[1],"$b":[0]}'),
    # Spark's connector reads the others and says nothing.
    reading("a partition that is not there", assign='{"$a":[0,7]}')._replace(ours={0: {"error": FAILED}}),
    reading("a topic that is not there", subscribe="$a,$missing"),
    reading("no topics", subscribe=""),
    reading("two ways to name topics", subscribePattern="$all", subscribe="$a"),
    reading("an assignment that is no JSON", assign="$a"),
)

OFFSETS = (
    reading("from offsets", startingOffsets='{"$a":{"0":23,"1":-2,"2":39}}'),
    reading("to offsets", endingOffsets='{"$a":{"0":23,"1":-1,"2":0}}'),
    reading(
        "from offsets to offsets",
        startingOffsets='{"$a":{"0":5,"1":7,"2":9}}',
        endingOffsets='{"$a":{"0":6,"1":7,"2":19}}',
    ),
    reading("words in capitals", startingOffsets="EARLIEST", endingOffsets="Latest"),
    reading(
        "from behind where it ends",
        startingOffsets='{"$a":{"0":30,"1":0,"2":0}}',
        endingOffsets='{"$a":{"0":10,"1":4,"2":4}}',
    ),
    reading("from behind the last record", startingOffsets='{"$a":{"0":1000,"1":0,"2":0}}'),
    reading(
        "to behind the last record",
        endingOffsets='{"$a":{"0":50,"1":4,"2":4}}',
        kafkaConsumer_pollTimeoutMs="1500",
    ),
    reading("from latest", startingOffsets="latest"),
    reading("from latest in one partition", startingOffsets='{"$a":{"0":-1,"1":0,"2":0}}'),
    reading("to earliest", endingOffsets="earliest"),
    reading("to earliest in one partition", endingOffsets='{"$a":{"0":-2,"1":1,"2":1}}'),
    reading("offsets without a partition", startingOffsets='{"$a":{"0":1,"1":1}}'),
    reading("offsets of a partition that is not read", startingOffsets='{"$a":{"0":1,"1":1,"2":1,"3":1}}'),
    reading("offsets that are no JSON", startingOffsets="first"),
    reading("an offset of -3", startingOffsets='{"$a":{"0":-3,"1":1,"2":1}}'),
)

TIMES = (
    reading("from a time", startingTimestamp=str(MIDDLE_MS)),
    reading("to a time", endingTimestamp=str(MIDDLE_MS)),
    reading("from a time to a time", startingTimestamp=str(MIDDLE_MS), endingTimestamp=str(MIDDLE_MS + 305)),
    reading(
        "from times by partition",
        startingOffsetsByTimestamp=f'{{"$a":{{"0":{FIRST_TIME_MS},"1":{MIDDLE_MS},"2":{MIDDLE_MS + 1}}}}}',
    ),
    reading(
        "to times by partition",
        endingOffsetsByTimestamp=f'{{"$a":{{"0":{FIRST_TIME_MS},"1":{MIDDLE_MS},"2":{AFTER_ALL_MS}}}}}',
    ),
    reading("times without a partition", startingOffsetsByTimestamp=f'{{"$a":{{"0":{MIDDLE_MS}}}}}'),
    reading("from a time after all records", startingTimestamp=str(AFTER_ALL_MS)),
    reading(
        "from a time after all records, or from latest",
        startingTimestamp=str(AFTER_ALL_MS),
        startingOffsetsByTimestampStrategy="latest",
    ),
    reading(
        "from a time after the records of a partition, or from latest",
        startingOffsetsByTimestamp=f'{{"$a":{{"0":{AFTER_ALL_MS},"1":{MIDDLE_MS},"2":{MIDDLE_MS}}}}}',
        startingOffsetsByTimestampStrategy="latest",
    ),
    reading("to a time after all records", endingTimestamp=str(AFTER_ALL_MS)),
    reading("from a time in an empty topic", (Topic("a", 2),), startingTimestamp=str(MIDDLE_MS)),
    reading("a strategy of no such name", startingOffsetsByTimestampStrategy="nearest"),
    reading(
        "a time goes before times and offsets",
        startingTimestamp=str(MIDDLE_MS),
        startingOffsetsByTimestamp=f'{{"$a":{{"0":{FIRST_TIME_MS},"1":0,"2":0}}}}',
        startingOffsets="earliest",
    ),
    reading(
        "times go before offsets",
        startingOffsetsByTimestamp=f'{{"$a":{{"0":{MIDDLE_MS},"1":{MIDDLE_MS},"2":{MIDDLE_MS}}}}}',
        startingOffsets="earliest",
    ),
    reading("a time that is no number", startingTimestamp="today"),
)

BEFORE = DeleteRecords("a", {0: 10, 2: 40})
LOSSES = (
    Case("what was deleted is not missed from earliest", THREE, SUBSCRIBED, (BEFORE, Read())),
    Case(
        "what was deleted is missed at an offset",
        THREE,
        {**SUBSCRIBED, "startingOffsets": '{"$a":{"0":3,"1":3,"2":3}}'},
        (BEFORE, Read(), Read({"failOnDataLoss": "false"})),
    ),
    Case(
        "a range that was deleted as a whole",
        THREE,
        {
            **SUBSCRIBED,
            "startingOffsets": '{"$a":{"0":3,"1":3,"2":3}}',
            "endingOffsets": '{"$a":{"0":8,"1":8,"2":8}}',
        },
        (BEFORE, Read(), Read({"failOnDataLoss": "false"})),
    ),
)

SKEW = (Topic("a", 3, skewed(100, 3, 10)),)


def tasks(name: str, topics: tuple[Topic, ...] = THREE, **options: str) -> Case:
    return Case(name, topics, {**SUBSCRIBED, **options}, (Read(counts_tasks=True),))


TASKS = (
    tasks("a task for each partition"),
    tasks("more tasks than partitions", minPartitions="8"),
    tasks("more tasks than partitions, of which one is large", SKEW, minPartitions="8"),
    tasks("fewer tasks than partitions", minPartitions="2"),
    # Spark's connector leaves ranges whole whose ends it did not have to look up.
    tasks("tasks of so many records", SKEW, maxRecordsPerPartition="25")._replace(ours={0: {"tasks": 6}}),
    tasks("tasks of so many records and at least so many", SKEW, maxRecordsPerPartition="40", minPartitions="9"),
)

QUERIES = (
    Case("a count", THREE, SUBSCRIBED, (Read(query=lambda frame: frame.selectExpr("count(*)")),)),
    Case("one column", THREE, SUBSCRIBED, (Read(query=lambda frame: frame.select("value")),)),
    Case(
        "columns in another order, and twice",
        THREE,
        SUBSCRIBED,
        (Read(query=lambda frame: frame.selectExpr("offset", "key", "offset AS again")),),
    ),
    Case(
        "groups",
        THREE,
        SUBSCRIBED,
        (Read(query=lambda frame: frame.groupBy("partition", "key").count()),),
    ),
    Case(
        "filters on places",
        THREE,
        {**SUBSCRIBED, "pushFilters": "true"},
        (
            Read(query=lambda frame: frame.where("partition = 1 AND offset > 7 AND offset <= 30")),
            Read(query=lambda frame: frame.where("partition IN (0, 2) AND offset = 7")),
            Read(query=lambda frame: frame.where("partition = 0 OR offset < 2")),
        ),
    ),
    Case(
        "filters on times",
        THREE,
        {**SUBSCRIBED, "pushFilters": "true"},
        (
            Read(query=lambda frame: frame.where(f"timestamp >= timestamp_millis({MIDDLE_MS})")),
            Read(query=lambda frame: frame.where(f"timestamp = timestamp_millis({MIDDLE_MS})")),
            Read(query=lambda frame: frame.where(f"timestamp < timestamp_millis({MIDDLE_MS}) AND partition = 1")),
        ),
    ),
    Case(
        "a join of two topics",
        PAIR,
        {"subscribe": "$a,$b"},
        (
            Read(
                query=lambda frame: (
                    frame.where("partition = 0")
                    .alias("l")
                    .join(frame.alias("r"), "offset")
                    .selectExpr("offset", "l.value", "r.value AS other")
                )
            ),
        ),
    ),
)

SETTINGS = (
    reading("a group's name", kafka_group_id="mine"),
    reading("a prefix of groups' names", groupIdPrefix="mine"),
    reading("no servers", kafka_bootstrap_servers=""),
    reading("offset resets of one's own", kafka_auto_offset_reset="earliest"),
    reading("a deserializer of one's own", kafka_value_deserializer="x"),
    reading("automatic commits", kafka_enable_auto_commit="true"),
    reading("an option in capitals", SUBSCRIBE="$a"),
)

BATCHES = (*CONTENTS, *TOPICS, *OFFSETS, *TIMES, *LOSSES, *TASKS, *QUERIES, *SETTINGS)
