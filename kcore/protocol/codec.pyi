from collections.abc import Mapping
from typing import Any

from kcore.protocol.message import Message
from kcore.protocol.notation import Struct

class MessageType:
    name: str
    oldest_version: int
    latest_version: int
    first_flexible: int
    struct: Struct
    def __init__(
        self, name: str, schema: str, latest_version: int, first_flexible: int = ..., oldest_version: int = 0
    ) -> None: ...
    def __call__(self, **fields: object) -> Message: ...
    def decode(self, version: int, buffer: bytes | bytearray | memoryview, position: int = 0) -> Message: ...
    def decode_prefix(
        self, version: int, buffer: bytes | bytearray | memoryview, position: int = 0, max_elements: int = ...
    ) -> tuple[Message, int]: ...
    def encode(self, version: int, fields: Message | Mapping[str, Any], prefix: bytes = b"") -> bytes: ...
