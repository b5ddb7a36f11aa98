"""What the codec promises its callers: defaults, nulls, tags, and errors that name message, version, field and byte."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

from kcore import errors
from kcore.protocol import apis
from kcore.protocol.codec import MessageType
from kcore.protocol.protocol_errors import EncodeError, ProtocolError, UnsupportedFieldError
from tests.unit.protocol import samples

SCHEMA = """
name          string     0+
size          int32      1+   default=7
note          string     0+   nullable=1+
items         []         0+
    key       int16      0+
    data      bytes      0+   nullable
extra         int64      2+   ignorable
leader        struct     3+   tag=0
    epoch     int32      3+   default=-1
rack          string     3+   nullable tag=1 default=null
flags         []int8     3+   tag=2
maybe         struct     4+   nullable default=null
    id        uuid       4+
ratio         float64    4+
port          uint16     4+
count         uint32     4+
batches       records    4+   nullable
on            bool       4+
"""
EXAMPLE = MessageType("Example", SCHEMA, latest_version=4, first_flexible=3)


def test_absent_fields_take_their_default() -> None:
    message = EXAMPLE.decode(4, EXAMPLE.encode(4, {"name": "x"}))
    assert message == EXAMPLE(name="x")
    assert (message.size, message.note, message.items, message.extra) == (7, "", [], 0)
    assert (message.leader.epoch, message.rack, message.flags, message.maybe) == (-1, None, [], None)
    assert (message.ratio, message.port, message.count, message.batches, message.on) == (0.0, 0, 0, None, False)


def test_a_version_without_a_field_reads_its_default() -> None:
    message = EXAMPLE.decode(0, EXAMPLE.encode(0, {"name": "x", "note": "y"}))
    assert (message.name, message.note, message.size, message.leader.epoch) == ("x", "y", 7, -1)


def test_every_message_has_its_own_defaults() -> None:
    data = EXAMPLE.encode(3, {})
    first, second = EXAMPLE.decode(3, data), EXAMPLE.decode(3, data)
    first.flags.append(1)
    first.leader.epoch = 5
    first.unknown_tags[9] = b"x"
    assert (second.flags, second.leader.epoch, second.unknown_tags) == ([], -1, {})
    assert first != second
    assert EXAMPLE().items is not EXAMPLE().items


def test_bytes_on_the_wire() -> None:
    fields = {"name": "ab", "note": None, "items": [{"key": 1, "data": None}, {"key": -2, "data": b"z"}]}
    assert EXAMPLE.encode(1, fields).hex(" ") == (
        "00 02 61 62  00 00 00 07  ff ff  00 00 00 02  00 01 ff ff ff ff  ff fe 00 00 00 01 7a".replace("  ", " ")
    )
    tagged = fields | {"leader": {"epoch": 3}, "flags": [1, -1], "unknown_tags": {5: b"?"}}
    assert EXAMPLE.encode(3, tagged).hex(" ") == (
        "03 61 62  00 00 00 07  00  03  00 01 00 00  ff fe 02 7a 00  00 00 00 00 00 00 00 00"
        "  03  00 05 00 00 00 03 00  02 03 03 01 ff  05 01 3f".replace("  ", " ")
    )


def test_a_message_is_as_good_as_a_dictionary() -> None:
    fields = samples.sample(EXAMPLE, 4, "tags")
    data = EXAMPLE.encode(4, fields)
    message = EXAMPLE.decode(4, data)
    assert EXAMPLE.encode(4, message) == data
    assert EXAMPLE.encode(4, message.to_dict()) == data
    assert EXAMPLE.encode(4, fields | {"items": tuple(message.items)}) == data
    assert EXAMPLE.encode(4, fields | {"items": iter(message.items)}) == data
    assert message == EXAMPLE.decode(4, memoryview(data)) == EXAMPLE.decode(4, bytearray(data))


def test_records_are_views_and_may_be_given_as_anything_with_bytes() -> None:
    data = EXAMPLE.encode(4, {"batches": memoryview(b"-batches-")[1:-1]}, b"prefix")
    assert EXAMPLE.encode(4, {"batches": bytearray(b"batches")}, b"prefix") == data
    message = EXAMPLE.decode(4, data, len(b"prefix"))
    assert isinstance(message.batches, memoryview)
    assert bytes(message.batches) == b"batches"
    assert message.batches.obj is data


def test_known_tags_at_their_default_are_not_written() -> None:
    bare = EXAMPLE.encode(3, {})
    assert bare.endswith(b"\x00")
    assert EXAMPLE.encode(3, {"leader": {"epoch": -1}, "rack": None, "flags": []}) == bare
    assert EXAMPLE.encode(3, EXAMPLE()) == bare
    assert EXAMPLE.encode(3, {"leader": {"unknown_tags": {4: b""}}}) != bare


def test_unknown_tags_are_kept_and_written_in_order() -> None:
    data = EXAMPLE.encode(3, {"unknown_tags": {2**32 - 1: b"last", 3: b"first"}, "rack": "r"})
    message = EXAMPLE.decode(3, data)
    assert message.unknown_tags == {3: b"first", 2**32 - 1: b"last"}
    assert EXAMPLE.encode(3, message) == data
    with pytest.raises(EncodeError, match="tag 1 is not an unknown one"):
        EXAMPLE.encode(3, {"unknown_tags": {1: b""}})


@pytest.mark.parametrize(
    ("version", "fields", "complaint"),
    [
        (1, {"name": None}, "Example version 1: name: null is not allowed here"),
        (0, {"note": None}, "Example version 0: note: null is not allowed here"),
        (1, {"items": None}, "items: null is not allowed here"),
        (1, {"items": [{}, None]}, r"items\[1\]: null is not allowed here"),
        (1, {"items": [{}, {"key": 2**15}]}, r"items\[1\]\.key: 32768 is not between -32768 and 32767"),
        (1, {"items": [{"data": "text"}]}, r"items\[0\]\.data: 'text' offers no bytes"),
        (1, {"items": {"key": 1}}, "items: .* is no list"),
        (1, {"items": [7]}, r"items\[0\]: a Example\.items is expected, not 7"),
        (1, {"items": [{"kee": 1}]}, r"items\[0\]: Example\.items has no field 'kee'"),
        (1, {"name": b"x"}, "name: b'x' is no string"),
        (1, {"name": "\ud800"}, "has no UTF-8"),
        (1, {"name": "x" * 2**15}, "a length of 32768 is too large"),
        (1, {"size": "7"}, "size: '7' is no integer"),
        (1, {"size": 1.0}, "size: 1.0 is no integer"),
        (1, {"size": 2**70}, "is not between"),
        (4, {"maybe": {"id": b"short"}}, "maybe.id: a uuid has 16 bytes, not 5"),
        (4, {"port": -1}, "port: -1 is not between 0 and 65535"),
        (4, {"count": 2**32}, "count: 4294967296 is not between 0 and 4294967295"),
        (4, {"ratio": "1"}, "ratio: '1' is no number"),
        (4, {"on": 2}, "on: 2 is not between 0 and 1"),
        (3, {"flags": [300]}, r"flags\[0\]: 300 is not between -128 and 127"),
    ],
)
def test_what_cannot_be_written_is_named(version: int, fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(EncodeError, match=complaint):
        EXAMPLE.encode(version, fields)
    with pytest.raises(EncodeError, match=complaint):
        EXAMPLE.encode(version, dict(fields, unknown_tags={}))


@pytest.mark.parametrize(
    "fields", [{"size": 8}, {"leader": {"epoch": 1}}, {"rack": "r"}, {"flags": [1]}, {"maybe": {}}]
)
def test_a_value_that_the_version_lacks_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedFieldError, match=f"Example version 0: {next(iter(fields))}: ") as raised:
        EXAMPLE.encode(0, fields)
    assert raised.value.code == errors.UnsupportedVersionError.code
    with pytest.raises(UnsupportedFieldError):
        EXAMPLE.encode(0, EXAMPLE(**fields | {"leader": EXAMPLE(**fields).leader}))


def test_a_default_or_an_ignorable_value_that_the_version_lacks_is_dropped() -> None:
    fields = {"extra": 5, "size": 7, "leader": {"epoch": -1}, "rack": None, "flags": [], "maybe": None}
    assert EXAMPLE.encode(0, fields) == EXAMPLE.encode(0, EXAMPLE(extra=5)) == EXAMPLE.encode(0, {})


@pytest.mark.parametrize("version", [-1, 5, 32767])
def test_an_unknown_version_is_refused(version: int) -> None:
    for call in (lambda: EXAMPLE.decode(version, b""), lambda: EXAMPLE.encode(version, {})):
        with pytest.raises(errors.UnsupportedVersionError, match=f"Example has no version {version}: versions 0 to 4"):
            call()


@pytest.mark.parametrize(
    ("version", "data", "field", "position"),
    [
        (0, "0001", "name", 2),
        (0, "ffff", "name", 0),
        (0, "fffe", "name", 0),
        (0, "000161 fff0", "note", 3),
        (0, "000161 0000 00000002 0001ffffffff", "items", 9),
        (0, "000161 0000 7fffffff", "items", 9),
        (0, "000161 0000 ffffffff", "items", 5),
        (0, "000161 0000 00000001 0001 00000009 00", "items[0].data", 15),
        (0, "000161 0000 00000001 0001 fffffffe", "items[0].data", 11),
        (0, "0001ff", "name", 2),
        (3, "ffffffff7f", "name", 0),
        (3, "8080808080", "name", 0),
        (3, "00", "name", 0),
        (3, "0261 00000007 01 01 0000000000000000 01 00 06 00000003 00 ff", "leader", 24),
        (3, "0261 00000007 01 01 0000000000000000 01 00 04 00000003 00", "leader", 23),
        (3, "0261 00000007 01 01 0000000000000000 01 09 05 00000003", "", 19),
        (3, "0261 00000007 01 01 0000000000000000 05", "", 17),
        (3, "0261 00000007 01 01 0000000000000000", "", 16),
        (0, "000161 0000 00000000 99", "", 9),
    ],
)
def test_malformed_bytes_are_named(version: int, data: str, field: str, position: int) -> None:
    with pytest.raises(ProtocolError, match=f"^Example version {version}: ") as raised:
        EXAMPLE.decode(version, bytes.fromhex(data))
    error = raised.value
    assert (error.message_type, error.version, error.code) == ("Example", version, errors.InvalidRequestError.code)
    assert (error.field.split(".epoch")[0], error.position) == (field, position), str(error)


def test_bytes_that_follow_are_an_error_or_left_to_the_caller() -> None:
    data = EXAMPLE.encode(1, {"name": "x"})
    message, end = EXAMPLE.decode_prefix(1, b"ab" + data + b"rest", 2)
    assert (message.name, end) == ("x", 2 + len(data))
    with pytest.raises(ProtocolError, match="4 bytes are left over"):
        EXAMPLE.decode(1, data + b"rest")
    with pytest.raises(ProtocolError, match="0 bytes only"):
        EXAMPLE.decode(1, b"", 1)


def test_messages_can_be_made_compared_and_shown() -> None:
    message = EXAMPLE(name="x", rack="r")
    assert repr(message) == "Example(name='x', rack='r')"
    assert message != EXAMPLE(name="x")
    assert message.to_dict()["leader"] == {"epoch": -1}
    with pytest.raises(TypeError, match="has no field 'nome'"):
        EXAMPLE(nome="x")
    with pytest.raises(AttributeError):
        setattr(message, "nome", "x")  # noqa: B010


def test_a_huge_array_is_refused_before_it_is_allocated() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError):
            apis.METADATA.request.decode(1, (2**31 - 1).to_bytes(4, "big") + b"\x00" * 100)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("flavour", ["largest", "tags"])
def test_nothing_is_leaked(flavour: str) -> None:
    """References are counted by hand in the codec, also where it gives up half-way."""
    api = apis.FETCH
    fields = samples.sample(api.response, 17, flavour)
    data = api.response.encode(17, fields)

    def work() -> None:
        message = api.response.decode(17, data)
        api.response.encode(17, message)
        api.response.encode(17, fields)
        for size in (len(data) // 2, len(data) - 1):
            with pytest.raises(ProtocolError):
                api.response.decode(17, data[:size])
        with pytest.raises(EncodeError):
            api.response.encode(17, fields | {"error_code": "x"})

    for _ in range(3):
        work()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(30):
            work()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()


def test_elements_of_all_arrays_are_bounded_together() -> None:
    fields = {"topics": [{"name": "a"}, {"name": "b"}], "unknown_tags": {77: b"", 78: b""}}
    data = apis.METADATA.request.encode(9, fields)
    message, _ = apis.METADATA.request.decode_prefix(9, data, 0, 4)
    assert [topic.name for topic in message.topics] == ["a", "b"]
    with pytest.raises(ProtocolError, match="more than 3 elements in all"):
        apis.METADATA.request.decode_prefix(9, data, 0, 3)
    with pytest.raises(ProtocolError, match="topics: more than 1 elements in all"):
        apis.METADATA.request.decode_prefix(9, data, 0, 1)
