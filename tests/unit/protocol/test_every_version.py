"""Every message in every version: what is written is read back, and no cut or damaged byte string does harm."""

from __future__ import annotations

import functools
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kcore.protocol import apis
from kcore.protocol.codec import MessageType
from kcore.protocol.headers import REQUEST_HEADER, RESPONSE_HEADER
from kcore.protocol.protocol_errors import ProtocolError
from tests.unit.protocol import samples

MESSAGE_TYPES = [*samples.message_types(), REQUEST_HEADER, RESPONSE_HEADER]
EVERY_MESSAGE = pytest.mark.parametrize("message_type", MESSAGE_TYPES, ids=lambda message_type: message_type.name)


@EVERY_MESSAGE
def test_what_is_written_is_read_back(message_type: MessageType) -> None:
    for version in samples.versions_of(message_type):
        for flavour in samples.FLAVOURS:
            fields = samples.sample(message_type, version, flavour)
            data = message_type.encode(version, fields)
            message = message_type.decode(version, data)
            assert message_type.encode(version, message) == data
            assert message == message_type.decode(version, message_type.encode(version, message.to_dict()))
            assert reads(message.to_dict(), fields)


def reads(read: Any, written: Any) -> bool:
    """Whether everything that was written is there; fields that the version lacks were not."""
    if isinstance(written, dict):
        return all(reads(read[name], value) for name, value in written.items())
    if isinstance(written, list):
        return len(read) == len(written) and all(map(reads, read, written))
    return bool(read == written)


@EVERY_MESSAGE
def test_every_truncation_is_a_clean_error(message_type: MessageType) -> None:
    for version in samples.versions_of(message_type):
        for flavour in ("smallest", "tags"):
            data = message_type.encode(version, samples.sample(message_type, version, flavour, seed="cut"))
            for size in range(len(data)):
                with pytest.raises(ProtocolError) as raised:
                    message_type.decode(version, data[:size])
                assert raised.value.position is not None
                assert 0 <= raised.value.position <= size


@EVERY_MESSAGE
def test_damaged_bytes_are_read_or_refused(message_type: MessageType) -> None:
    damage = random.Random(message_type.name)
    for version in samples.versions_of(message_type):
        data = message_type.encode(version, samples.sample(message_type, version, "random"))
        for _ in range(40):
            damaged = bytearray(data or b"\x00")
            for _ in range(damage.choice((1, 2, 8))):
                damaged[damage.randrange(len(damaged))] = damage.choice((0, 1, 0x7F, 0x80, 0xFF, damage.randrange(256)))
            try:
                message = message_type.decode(version, bytes(damaged))
            except ProtocolError:
                continue
            message_type.decode(version, message_type.encode(version, message))


def test_apis_are_what_kafka_calls_them() -> None:
    for key, api in apis.BY_KEY.items():
        assert getattr(apis, constant_of(api.name)) is api
        assert api.key == key
        assert 0 <= api.min_version <= api.max_version <= api.latest_version
        assert (api.request.latest_version, api.response.latest_version) == (api.latest_version, api.latest_version)


def test_threads_that_ask_at_once_get_the_same_types_and_classes() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            api = apis.Api(3, "Metadata", 0, 13, 9)
            start = threading.Barrier(6)
            with ThreadPoolExecutor(6) as threads:
                answers = set(threads.map(functools.partial(types_and_classes, api, start), range(8, 14)))
            assert len(answers) == 1
    finally:
        sys.setswitchinterval(interval)


def types_and_classes(api: apis.Api, start: threading.Barrier, version: int) -> tuple[object, ...]:
    start.wait(10)
    message = api.response.decode(version, api.response.encode(version, {"topics": [{}]}))
    return api.request, api.response, type(message), type(message.topics[0])


def constant_of(name: str) -> str:
    return "".join(f"_{letter}" if letter.isupper() else letter.upper() for letter in name).removeprefix("_")
