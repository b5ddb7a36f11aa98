"""The request header, by the native reader and by the codec: both take the same bytes and see the same in them.

the header's bytes, and whatever follows
"""

from __future__ import annotations

import random
import struct

from kcore.network.dispatch import DispatchTable
from kcore.protocol import apis
from kcore.protocol.headers import REQUEST_HEADER
from kcore.protocol.protocol_errors import ProtocolError
from tests.fuzz.grammar import write_message
from tests.fuzz.mutation import Mutator
from tests.fuzz.targets import Target
from tests.fuzz.targets.apis import assert_named
from tests.native import build

KEYS = (*sorted(apis.BY_KEY), -1, 4, 127, 128, 32767)
KNOWN_BY_TABLE = 128


class Headers(Target):
    name = "headers"
    cases_per_seed = 10_000

    def __init__(self) -> None:
        self.probe = build.load("decoder_probe")
        self.table = DispatchTable()
        for api in apis.BY_KEY.values():
            self.table.set_first_flexible(api.key, api.first_flexible)

    def generate(self, source: random.Random, seed: int) -> bytes:
        key = source.choice(KEYS)
        version = source.choice((0, 1, source.randrange(20), -1, 32767))
        header = write_message(source, REQUEST_HEADER, source.choice((1, 2)), source.choice((0.0, 0.1)))
        header = struct.pack(">hh", key, version) + header[4:]
        if source.random() < 0.6:
            header = Mutator(source).mutated(header)
        return header + source.randbytes(source.randrange(3))

    def check(self, data: bytes) -> None:
        found = self.probe.request_header(data, self.table)
        expected = None
        if len(data) >= 4:
            key, version = struct.unpack_from(">hh", data)
            expected = decoded(data, header_version(key, version))
        if expected is None:
            # A client id that is not UTF-8 is no reason to refuse: it is shown with replacement characters.
            assert found is None or (found[3] is not None and not is_text(found[3]))
            return
        assert found is not None
        message, position = expected
        client_id = None if message.client_id is None else message.client_id.encode()
        fields = message.request_api_key, message.request_api_version, message.correlation_id
        assert found == (*fields, client_id, position)


def header_version(key: int, version: int) -> int:
    """Of an API that nobody knows, it is closed with a word about its key whatever its header's form."""
    api = apis.BY_KEY.get(key)
    if api is not None:
        return api.request_header_version(version)
    return 2 if 0 <= key < KNOWN_BY_TABLE and version == apis.NEVER_FLEXIBLE else 1


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def decoded(data: bytes, version: int):  # type: ignore[no-untyped-def]
    try:
        return REQUEST_HEADER.decode_prefix(version, data)
    except ProtocolError as error:
        assert_named(error, REQUEST_HEADER, len(data))
        return None


def make() -> Headers:
    return Headers()
