from typing import Any

from kcore.client.network.network_client import NetworkClient

OK: int
UNSENT: int
DISCONNECTED: int
TIMED_OUT: int
UNSUPPORTED_VERSION: int
UNREADABLE: int
CLOSED: int

class ReplyQueue:
    def take(self) -> list[EncodedRequest]: ...
    def wait(self, timeout_ms: float) -> bool: ...
    @property
    def descriptor(self) -> int: ...
    def wake(self) -> None: ...

class EncodedRequest:
    payload: bytes | None
    tag: Any
    def __init__(self, client: NetworkClient, replies: ReplyQueue, tag: object = None) -> None: ...
    def submit(
        self,
        node: int,
        api_key: int,
        api_version: int,
        payload: bytes,
        timeout_ms: float,
        expects_reply: bool = True,
    ) -> None: ...
    def connect(self, node: int, timeout_ms: float) -> None: ...
    def start(self, node: int, timeout_ms: float) -> None: ...
    @property
    def node(self) -> int: ...
    @property
    def status(self) -> int: ...
    @property
    def frame(self) -> bytes | None: ...
    @property
    def body(self) -> int: ...
    @property
    def failure(self) -> tuple[int, int, int]: ...
