"""Cases of batches that are written: what the columns may be, and where rows go."""

from __future__ import annotations

from tests.spark.comparison import Case
from tests.spark.contents import Topic
from tests.spark.steps import FAILED, ReadBack, Write

TARGETS = (Topic("a", 3), Topic("b", 3))
TO_A = {"topic": "$a"}
BOTH = (ReadBack("a"), ReadBack("b"))
PLACES = ("topic", "partition", "key", "value")


def writing(
    name: str,
    columns: str,
    values: str,
    *,
    back: tuple[ReadBack, ...] = (ReadBack("a"),),
    **options: str,
) -> Case:
    """To topic a, unless the options say otherwise; an empty one takes its place."""
    given = {name.replace("_", "."): text for name, text in options.items()}
    return Case(name, TARGETS, {}, (Write(columns, values, {**TO_A, **given}), *back))


HEADERS = (
    "array(named_struct('key', 'h', 'value', CAST('1' AS BINARY)), "
    "named_struct('key', 'n', 'value', CAST(NULL AS BINARY)))"
)
SINKS = (
    writing("bytes", "key, value", "(X'00ff', X'01'), (X'', X'')"),
    writing("texts", "key, value", "('schlüssel', 'wert'), ('', '')"),
    writing("values alone", "value", "('1'), ('2')"),
    writing("nulls", "key, value", "('k', CAST(NULL AS STRING)), (CAST(NULL AS STRING), 'v')"),
    writing("topics by row", "topic, value", "('$a', 'to a'), ('$b', 'to b'), ('$a', 'to a too')", back=BOTH, topic=""),
    writing("an option that goes before the column", "topic, value", "('$b', 'x'), ('$b', 'y')", back=BOTH),
    writing(
        "partitions by row",
        "partition, key, value",
        "(2, 'a', 'x'), (0, 'a', 'y'), (2, 'b', 'z')",
        back=(ReadBack("a", PLACES),),
    ),
    writing(
        "partitions by key",
        "key, value",
        ", ".join(f"('key {number}', '{number}')" for number in range(60)),
        back=(ReadBack("a", PLACES),),
    ),
    writing(
        "headers by row", "value, headers", f"('x', {HEADERS}), ('y', NULL), ('z', array())", includeHeaders="true"
    ),
    writing("columns that are not the sink's", "value, more", "('x', 1)"),
    writing("compressed", "value", "('x'), ('y')", kafka_compression_type="zstd"),
    writing("no value", "key", "('k')"),
    writing("no topic", "value", "('v')", topic=""),
    writing("a topic that is null", "topic, value", "('$a', 'x'), (CAST(NULL AS STRING), 'y')", topic="", back=()),
    writing("a value of another type", "value", "(1)"),
    writing("a key of another type", "key, value", "(1, 'v')"),
    writing("a topic of another type", "topic, value", "(1, 'v')", topic=""),
    writing("a partition of another type", "partition, value", "('1', 'v')"),
    writing("headers of another type", "headers, value", "('1', 'v')"),
    writing("a serializer of one's own", "value", "('v')", kafka_value_serializer="x"),
    Case("a topic that is to be overwritten", TARGETS, {}, (Write("value", "('v')", TO_A, "overwrite"), ReadBack("a"))),
    # Spark's default mode, in which its own sink appends: sources of Python must be told to append.
    Case(
        "a topic in the default mode",
        TARGETS,
        {},
        (Write("value", "('v')", TO_A, "errorifexists"), ReadBack("a")),
        ours={0: {"error": FAILED}, 1: {"rows": []}},
    ),
    Case(
        "a topic that is to be left alone",
        TARGETS,
        {},
        (Write("value", "('v')", TO_A, "ignore"), ReadBack("a")),
    ),
)
