"""Exchange: one request of Python code, until its response.

    node's versions known?      --no-->  connect  --> encode --> submit --> decode --> callback
                                yes ----------------^  ^-- the broker has changed its versions meanwhile

A request is encoded when the broker's versions are known. Otherwise a connection is opened first. If the broker was
replaced in between and no longer supports the version, the request is encoded again (KIP-35).
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.clock import now_ms
from kcore.client.errors import BrokerUnreachable, ClientError, InvalidSetting, UnsupportedByBroker
from kcore.client.network import encoded_request
from kcore.client.network.encoded_request import EncodedRequest
from kcore.client.network.failures import request_error
from kcore.protocol import apis, headers
from kcore.protocol.protocol_errors import MessageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from kcore.client.network.encoded_request import ReplyQueue
    from kcore.client.network.requester import Requester
    from kcore.protocol.apis import Api
    from kcore.protocol.message import Message

    OnResponse = Callable[[Message | None, ClientError | None], None]
    Fields = Mapping[str, Any] | Callable[[int], Mapping[str, Any]]

# Above these versions messages have topic ids or several groups, or are for brokers. A caller may ask for them.
VERSION_CAPS = {
    apis.PRODUCE.key: 11,
    apis.FETCH.key: 12,
    apis.FIND_COORDINATOR.key: 3,
    apis.OFFSET_COMMIT.key: 8,
    apis.OFFSET_FETCH.key: 7,
    apis.DELETE_TOPICS.key: 5,
    apis.ADD_PARTITIONS_TO_TXN.key: 3,
}
ANY_NODE = -1
# How often a request is encoded for a broker whose versions change.
MAX_ENCODINGS = 3


class Question(NamedTuple):
    """A request. `fields` may be a function of the version. The caller may limit the versions."""

    api: Api
    fields: Fields
    expects_reply: bool = True
    min_version: int | None = None
    max_version: int | None = None

    def version_for(self, spoken: tuple[int, int] | None, server: str) -> int:
        """Return the newest version that both sides support. The broker supports the range `spoken`."""
        api = self.api
        if spoken is None or spoken[0] > spoken[1]:
            raise UnsupportedByBroker(f"{server}: the broker does not support {api.name}")
        lowest = api.min_version if self.min_version is None else self.min_version
        highest = VERSION_CAPS.get(api.key, api.max_version) if self.max_version is None else self.max_version
        version = min(spoken[1], highest)
        if version < max(spoken[0], lowest):
            raise UnsupportedByBroker(
                f"{server}: the broker supports {api.name} {spoken[0]} to {spoken[1]}, the client {lowest} to {highest}"
            )
        return version

    def encoded(self, version: int, client_id: str) -> bytes:
        """Return the request's header and body."""
        fields = self.fields(version) if callable(self.fields) else self.fields
        return headers.encode_request(self.api, version, 0, client_id, fields)


class Exchange:
    """One request until its response. It opens a connection first if the broker's versions are not known."""

    __slots__ = (
        "_deadline_ms",
        "_encodings",
        "_on_response",
        "_question",
        "_request",
        "_requester",
        "_version",
        "node",
    )

    def __init__(
        self,
        requester: Requester,
        replies: ReplyQueue,
        question: Question,
        timeout_ms: float,
        on_response: OnResponse,
    ) -> None:
        self._requester = requester
        self._request = EncodedRequest(requester.network, replies, self)
        self._question = question
        self._deadline_ms = now_ms() + timeout_ms
        self._on_response = on_response
        self._version = -1
        self._encodings = 0
        self.node = ANY_NODE

    def start(self, node: int) -> None:
        """Submit the request, or end it at once if the broker cannot serve it."""
        self.node = node
        if node == ANY_NODE or self._spoken_by(node) is None:
            self._request.connect(node, self._deadline_ms - now_ms())
        else:
            self._send(node)

    def _spoken_by(self, node: int) -> tuple[int, int] | None:
        return self._requester.network.version_range(node, self._question.api.key)

    def _send(self, node: int) -> None:
        self.node = node
        question = self._question
        try:
            self._version = question.version_for(self._spoken_by(node), self._requester.server_at(node))
            payload = question.encoded(self._version, self._requester.client_id)
        except UnsupportedByBroker as error:
            self._end(None, error)
            return
        except MessageError as error:
            self._end(None, InvalidSetting(str(error)))
            return
        self._encodings += 1
        timeout_ms = self._deadline_ms - now_ms()
        self._request.submit(node, question.api.key, self._version, payload, timeout_ms, question.expects_reply)

    def on_reply(self) -> None:
        """Handle the result of the last submission."""
        status = self._request.status
        is_connected = status == encoded_request.OK and self._version < 0
        has_changed = status == encoded_request.UNSUPPORTED_VERSION and self._encodings < MAX_ENCODINGS
        if is_connected or has_changed:
            self._send(self._request.node)
        elif status == encoded_request.OK:
            self._end(*self._answer())
        else:
            self._end(None, self._error(status))

    def _answer(self) -> tuple[Message | None, ClientError | None]:
        frame = self._request.frame
        if frame is None:
            return None, None
        try:
            return self._question.api.response.decode(self._version, frame, self._request.body), None
        except MessageError as error:
            server = self._requester.server_at(self.node)
            return None, BrokerUnreachable(f"{server}: unreadable {self._question.api.name} response: {error}")

    def _error(self, status: int) -> ClientError:
        if status == encoded_request.UNSUPPORTED_VERSION:
            server, name = self._requester.server_at(self.node), self._question.api.name
            return UnsupportedByBroker(f"{server}: the broker keeps changing the versions of {name} that it supports")
        if self._request.node == ANY_NODE:
            return self._requester.nobody_reached(status)
        server = self._requester.server_at(self._request.node)
        return request_error(status, self._request.failure, server, self._question.api.name)

    def _end(self, response: Message | None, error: ClientError | None) -> None:
        self._requester.ended(self)
        # Breaks the reference cycle: the response's frame would wait for the garbage collector.
        self._request.tag = None
        self._on_response(response, error)
