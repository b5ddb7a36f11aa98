"""What a client reads of a broker's answer without the codec: the response header, and ApiVersions; the codec judges.

    what uint8 (0 a response header, 1 ApiVersions 0, 2 ApiVersions 3) | of a header: key int16, version int16 | bytes

Natively ApiVersions is read only as far as its ranges, and answers of error 35 only to their error: what follows may be
anything.
"""

from __future__ import annotations

import random
import struct

from kcore.protocol import apis
from kcore.protocol.headers import RESPONSE_HEADER
from kcore.protocol.protocol_errors import ProtocolError
from tests.fuzz.grammar import write_message
from tests.fuzz.mutation import Mutator
from tests.fuzz.targets import Target
from tests.fuzz.targets.batches import exact
from tests.native import build

HEAD = struct.Struct(">Bhh")
HEADER, VERSIONS_0, VERSIONS_3 = range(3)
UNREADABLE = -1000
UNSUPPORTED_VERSION = 35
MOST_KEYS = 256


class BrokerAnswers(Target):
    name = "broker_answers"
    cases_per_seed = 8000

    def __init__(self) -> None:
        self.probe = build.load("client_probe")

    def generate(self, source: random.Random, seed: int) -> bytes:
        what = source.choice((HEADER, VERSIONS_0, VERSIONS_3, VERSIONS_3))
        api = source.choice(list(apis.BY_KEY.values()))
        version = source.randrange(-1, api.latest_version + 2)
        lies = source.choice((0.0, 0.1))
        if what == HEADER:
            flexible = version >= api.first_flexible and api is not apis.API_VERSIONS
            data = write_message(source, RESPONSE_HEADER, int(flexible), lies) + source.randbytes(source.randrange(4))
        else:
            data = write_message(source, apis.API_VERSIONS.response, 0 if what == VERSIONS_0 else 3, lies)
        if source.random() < 0.4:
            data = Mutator(source).mutated(data)
        return HEAD.pack(what, api.key, version) + data

    def check(self, data: bytes) -> None:
        if len(data) < HEAD.size:
            return
        what, key, version = HEAD.unpack_from(data)
        rest = data[HEAD.size :]
        if what % 3 == HEADER:
            self.check_header(key, version, rest)
        else:
            self.check_versions(0 if what % 3 == VERSIONS_0 else 3, rest)

    def check_header(self, key: int, version: int, data: bytes) -> None:
        body = self.probe.body_of(exact(data), key, version)
        api = apis.BY_KEY.get(key)
        try:
            header_version = api.response_header_version(version) if api is not None else 0
            _, position = RESPONSE_HEADER.decode_prefix(header_version, data)
        except ProtocolError:
            # The codec knows rules for tags, which mean nothing here (their order); a byte behind the end it never is.
            assert 0 <= body <= len(data)
            return
        assert body == position

    def check_versions(self, version: int, data: bytes) -> None:
        error, ranges = self.probe.read_versions(exact(data), version)
        try:
            response = apis.API_VERSIONS.response.decode(version, data)
        except ProtocolError:
            assert error == UNREADABLE or error == int.from_bytes(data[:2], "big", signed=True)
            return
        assert error == response.error_code
        if error == UNSUPPORTED_VERSION:
            assert ranges == {}
            return
        told = {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys}
        assert ranges == {key: found for key, found in told.items() if 0 <= key < MOST_KEYS and found[0] <= found[1]}


def make() -> BrokerAnswers:
    return BrokerAnswers()
