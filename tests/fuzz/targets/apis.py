"""The codec of each API: requests and responses in all versions, and what is kept in records.

    kind uint8 (0 request, 1 response, 2 kept in records) | key or number uint8 | version uint8 | the message's bytes

Produce and Fetch are read by the native readers too, and must be taken or refused as the codec does.
"""

from __future__ import annotations

import ctypes
import random

from kcore.protocol import apis, records
from kcore.protocol.codec import MessageType
from kcore.protocol.message import Message
from kcore.protocol.protocol_errors import ProtocolError
from kcore.server.fast_path.fetch_request import parse_fetch_request
from kcore.server.fast_path.produce_request import parse_produce_request
from tests.fuzz.grammar import write_message
from tests.fuzz.mutation import Mutator
from tests.fuzz.targets import Target
from tests.native import build
from tests.unit.protocol.samples import FLAVOURS, sample

HEAD = 3
KEPT = [kept for kept in vars(records).values() if isinstance(kept, records.VersionedType)]
KEYS = sorted(apis.BY_KEY)
# What is tried in turn: each API, then what is kept in records.
SUBJECTS = [*((0, key) for key in KEYS), (2, len(KEPT))]
SHORTEST_EXACT = 16


def exact(data: bytes) -> ctypes.Array[ctypes.c_ubyte]:
    """`data` behind SHORTEST_EXACT bytes, in memory that ends where it ends: ctypes keeps small arrays elsewhere."""
    padded = bytes(SHORTEST_EXACT) + data
    return (ctypes.c_ubyte * len(padded)).from_buffer_copy(padded)


def message_type_of(kind: int, number: int) -> MessageType:
    if kind == 2:
        return KEPT[number % len(KEPT)].message_type
    api = apis.BY_KEY[KEYS[number % len(KEYS)]] if number not in apis.BY_KEY else apis.BY_KEY[number]
    return api.response if kind == 1 else api.request


class Apis(Target):
    name = "apis"
    cases_per_seed = 2000

    def __init__(self) -> None:
        self.probe = build.load("decoder_probe")

    def generate(self, source: random.Random, seed: int) -> bytes:
        kind, number = SUBJECTS[seed % len(SUBJECTS)]
        if kind == 2:
            number = source.randrange(number)
        else:
            kind = source.randrange(2)
        message_type = message_type_of(kind, number)
        version = source.randint(message_type.oldest_version, message_type.latest_version)
        return bytes((kind, number, version)) + self.body(source, message_type, version)

    def body(self, source: random.Random, message_type: MessageType, version: int) -> bytes:
        chosen = source.random()
        if chosen < 0.35:
            return write_message(source, message_type, version, source.choice((0.0, 0.02, 0.1)))
        if chosen < 0.40:
            return source.randbytes(source.randrange(120))
        if chosen < 0.55:
            flavour = source.choice(tuple(flavour for flavour in FLAVOURS if flavour != "largest"))
            valid = message_type.encode(version, sample(message_type, version, flavour, seed=source.randrange(50)))
        else:
            valid = write_message(source, message_type, version)
        other = write_message(source, message_type, version)
        return Mutator(source).mutated(valid, (other,))

    def check(self, data: bytes) -> None:
        if len(data) < HEAD:
            return
        kind, number, body = data[0] % 3, data[1], data[HEAD:]
        message_type = message_type_of(kind, number)
        span = message_type.latest_version - message_type.oldest_version + 1
        version = message_type.oldest_version + (data[2] - message_type.oldest_version) % span
        message, end = decoded(message_type, version, body)
        if message is not None:
            check_round_trip(message_type, version, message, body[:end])
        if kind == 0 and message_type.name in ("ProduceRequest", "FetchRequest"):
            self.check_native(message_type.name, version, body, message if end == len(body) else None)

    def check_native(self, name: str, version: int, body: bytes, message: Message | None) -> None:
        """The native reader takes what the codec takes, and sees the same; what it leaves goes to the codec."""
        if name == "ProduceRequest":
            if 3 <= version <= 11:
                assert parse_produce_request(body, version) == expected_produce(message)
                assert self.probe.takes_produce_request(body, version) == (message is not None)
        elif version >= 4:
            assert parse_fetch_request(body, version) == expected_fetch(message, version)
            assert self.probe.takes_fetch_request(body, version) == (message is not None)


def decoded(message_type: MessageType, version: int, body: bytes) -> tuple[Message | None, int]:
    """The message and where it ends; None after a clean error. `decode` and `decode_prefix` agree."""
    buffer = exact(body)
    try:
        message, end = message_type.decode_prefix(version, buffer, SHORTEST_EXACT)
    except ProtocolError as error:
        assert_named(error, message_type, len(buffer))
        return None, 0
    try:
        assert are_same(message_type.decode(version, body), message)
    except ProtocolError as error:
        assert_named(error, message_type, len(body))
        assert end != len(buffer)
    return message, end - SHORTEST_EXACT


def assert_named(error: ProtocolError, message_type: MessageType, size: int) -> None:
    """The error says which message, which place and what is wrong."""
    assert error.message_type == message_type.name
    assert error.reason
    assert error.position in range(size + 1)
    assert len(str(error)) < 1000


def are_same(message: Message, other: Message) -> bool:
    """Equal; a float that is no number is not equal to itself, and looks the same."""
    return message == other or repr(message) == repr(other)


def check_round_trip(message_type: MessageType, version: int, message: Message, body: bytes) -> None:
    """decode(encode(x)) == x, and encode gives the same bytes again, never more than a liar's own."""
    encoded = message_type.encode(version, message)
    again = message_type.decode(version, encoded)
    assert are_same(again, message)
    assert message_type.encode(version, again) == encoded


def expected_produce(message: Message | None) -> object:
    if message is None:
        return None
    topics = [
        (
            topic.name.encode(),
            [(row.index, None if row.records is None else bytes(row.records)) for row in topic.partition_data],
        )
        for topic in message.topic_data
    ]
    return message.transactional_id is not None, message.acks, message.timeout_ms, topics


def expected_fetch(message: Message | None, version: int) -> object:
    if message is None:
        return None

    def name(topic: Message) -> bytes:
        return topic.topic_id if version >= 13 else topic.topic.encode()

    return {
        "replica_id": message.replica_state.replica_id if version >= 15 else message.replica_id,
        "max_wait_ms": message.max_wait_ms,
        "min_bytes": message.min_bytes,
        "max_bytes": message.max_bytes,
        "isolation_level": message.isolation_level,
        "session_id": message.session_id,
        "session_epoch": message.session_epoch,
        "topics": [
            (
                name(topic),
                [
                    (
                        row.partition,
                        row.current_leader_epoch,
                        row.fetch_offset,
                        row.last_fetched_epoch,
                        row.partition_max_bytes,
                    )
                    for row in topic.partitions
                ],
            )
            for topic in message.topics
        ],
        "forgotten_topics": [(name(topic), list(topic.partitions)) for topic in message.forgotten_topics_data],
    }


def make() -> Apis:
    return Apis()
