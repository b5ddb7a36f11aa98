"""Cases of topics that only Apache Kafka has until ours does: compacted ones, and those of transactions."""

from __future__ import annotations

from tests.spark.cases.batches import SUBSCRIBED
from tests.spark.comparison import Case
from tests.spark.contents import Record, Topic, Transaction, numbered
from tests.spark.steps import Append, Compacted, Read, Step, Stream

COMMITTED = {"kafka.isolation.level": "read_committed"}
FROM_EARLIEST = {**SUBSCRIBED, "startingOffsets": "earliest"}
MIXED = Topic(
    "a",
    2,
    (
        *numbered(20, 2),
        Transaction(numbered(10, 2, first=100), True),
        Transaction(numbered(10, 2, first=200), False),
        *numbered(4, 2, first=300),
        Transaction(numbered(6, 2, first=400), True),
        Transaction(numbered(6, 2, first=500), False),
    ),
)
OPEN = Topic("a", 1, (*numbered(5), Transaction(numbered(5, first=100), None), *numbered(5, first=200)))
# The last segment is never compacted: the last records, of later, are in one of their own.
ROLLING = (
    ("cleanup.policy", "compact"),
    ("segment.ms", "100"),
    ("min.cleanable.dirty.ratio", "0.001"),
    ("segment.bytes", "1048576"),
)
COMPACTED = Topic("a", 1, tuple(Record(0, b"%d" % number, b"key %d" % (number % 7)) for number in range(100)), ROLLING)


def mixed(name: str, *steps: Step, topic: Topic = MIXED, **options: str) -> Case:
    given = {name.replace("_", "."): text for name, text in options.items()}
    return Case(name, (topic,), {**FROM_EARLIEST, **given}, steps or (Read(),), needs_kafka=True)


KAFKAS = (
    mixed("transactions", Read(), Read(COMMITTED)),
    mixed(
        "transactions in a stream",
        Stream(COMMITTED),
        Append("a", (Transaction(numbered(6, 2, first=600), False), Transaction(numbered(6, 2, first=700), True))),
        Stream(COMMITTED),
    ),
    mixed("transactions in a stream with limits", Stream(COMMITTED), maxOffsetsPerTrigger="9"),
    mixed("transactions cut into tasks", Read({**COMMITTED, "minPartitions": "9"})),
    mixed(
        "a range of offsets that begins and ends in gaps",
        Read({**COMMITTED, "startingOffsets": '{"$a":{"0":19,"1":15}}', "endingOffsets": '{"$a":{"0":22,"1":26}}'}),
    ),
    mixed("a transaction that is open", Read(), Read(COMMITTED), topic=OPEN),
    mixed("a transaction that is open in a stream", Stream(COMMITTED), topic=OPEN),
    mixed("a compacted topic", Compacted("a"), Read(), topic=COMPACTED),
    mixed("a compacted topic cut into tasks", Compacted("a"), Read({"minPartitions": "6"}), topic=COMPACTED),
    mixed(
        "a compacted topic from within a gap",
        Compacted("a"),
        Read({"startingOffsets": '{"$a":{"0":11}}'}),
        topic=COMPACTED,
    ),
    mixed(
        "a compacted topic in a stream with limits",
        Compacted("a"),
        Stream(),
        topic=COMPACTED,
        maxOffsetsPerTrigger="30",
    ),
)
