"""The notation of schemas: what it says, and what it refuses."""

from __future__ import annotations

import pytest

from kcore.protocol.notation import NEWEST, NO_VERSION, SchemaError, parse_schema, parse_versions

SCHEMA = """
define Partition
    index              int32        0+

throttle_time_ms       int32        3+    ignorable
topics                 []           0+    nullable=1+
    name               string       0-12
    partitions         []Partition  0+
leader                 struct       10+   tag=1
    epoch              int32        10+   default=-1
cluster_id             string       12+   nullable tag=0 tagged=12 default=null
gone                   []Partition  2
"""


def test_a_schema_says_what_stands_in_it() -> None:
    root = parse_schema("Example", SCHEMA)
    throttle, topics, leader, cluster_id, gone = root.fields
    assert [field.name for field in root.fields] == ["throttle_time_ms", "topics", "leader", "cluster_id", "gone"]
    assert (throttle.element, throttle.is_array, throttle.versions, throttle.ignorable) == (
        "int32",
        False,
        (3, NEWEST),
        True,
    )
    assert (topics.is_array, topics.nullable, topics.tagged) == (True, (1, NEWEST), NO_VERSION)
    assert topics.struct is not None
    assert topics.struct.name == "Example.topics"
    name, partitions = topics.struct.fields
    assert name.versions == (0, 12)
    assert partitions.struct is gone.struct
    assert (leader.tag, leader.tagged, leader.has_fresh_default) == (1, (10, NEWEST), True)
    assert leader.struct is not None
    assert leader.struct.fields[0].default == -1
    assert (cluster_id.nullable, cluster_id.tagged, cluster_id.default) == ((12, NEWEST), (12, 12), None)
    assert gone.versions == (2, 2)


@pytest.mark.parametrize(
    ("text", "versions"), [("3", (3, 3)), ("3+", (3, NEWEST)), ("3-5", (3, 5)), ("0+", (0, NEWEST))]
)
def test_versions(text: str, versions: tuple[int, int]) -> None:
    assert parse_versions(text) == versions


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        ("name  string", "needs a name, a type and versions"),
        ("name  text  0+", "unknown type 'text'"),
        ("name  string  zero+", "no range of versions"),
        ("name  string  0+  optional", "unknown attribute 'optional'"),
        ("names  []string  0+  default=x", "has no default"),
        ("  name  string  0+", "wrong indentation"),
        ("name  string  0+\n    inner  int8  0+", "wrong indentation"),
        ("topics  []Topic  0+", "unknown type 'Topic'"),
    ],
)
def test_what_is_not_written_in_the_notation_is_refused(schema: str, complaint: str) -> None:
    with pytest.raises(SchemaError, match=complaint):
        parse_schema("Example", schema)
