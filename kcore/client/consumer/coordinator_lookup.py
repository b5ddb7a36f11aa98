"""Finds the coordinator of a group through any broker, and again after it has moved (FindCoordinator)."""

from __future__ import annotations

from kcore.client.consumer import codes
from kcore.client.consumer.broker_request import NEVER_MS, Backoff, BrokerRequest
from kcore.client.errors import broker_error
from kcore.client.metadata.cluster import Node
from kcore.errors import KafkaError
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kcore.protocol.message import Message

GROUP_KEY_TYPE = 0
# First version with a list of coordinators (KIP-699).
FIRST_VERSION_OF_MANY = 4


class CoordinatorLookup:
    """`node` is None while it is not known. An error that is not retriable stays in `error` until it is taken."""

    def __init__(self, group_id: str, backoff: Backoff) -> None:
        self._group_id = group_id
        self._backoff = backoff
        self._is_asking = False
        self.is_wanted = False
        self.node: Node | None = None
        self.error: Exception | None = None

    def lost(self, node: Node | None) -> None:
        """Forget the coordinator if it is `node`; None: forget it in any case."""
        if node is None or node == self.node:
            self.node = None

    def poll(self, now_ms: float) -> list[BrokerRequest]:
        if self.node is not None or self._is_asking or not self.is_wanted or self._backoff.until_ms > now_ms:
            return []
        self._is_asking = True
        return [BrokerRequest(apis.FIND_COORDINATOR, self._fields, None, self._answered)]

    def wake_ms(self) -> float:
        is_idle = self.node is not None or self._is_asking or not self.is_wanted
        return NEVER_MS if is_idle else self._backoff.until_ms

    def _fields(self, version: int) -> Mapping[str, Any]:
        if version >= FIRST_VERSION_OF_MANY:
            return {"key_type": GROUP_KEY_TYPE, "coordinator_keys": [self._group_id]}
        return {"key_type": GROUP_KEY_TYPE, "key": self._group_id}

    def _answered(self, response: Message | None, error: Exception | None, now_ms: float) -> None:
        self._is_asking = False
        if response is not None:
            many = getattr(response, "coordinators", None)
            found = many[0] if many else response
            code = found.error_code
            if code == codes.NONE:
                self._backoff.succeeded()
                self.node = Node(found.node_id, found.host, found.port)
                return
            error = broker_error(code, f"group {self._group_id}", found.error_message)
        self._backoff.failed(now_ms)
        if isinstance(error, KafkaError) and not error.retriable:
            self.error = error
