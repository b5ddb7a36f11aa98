"""Requester: requests of Python code to brokers: one request, many at once, or with a callback.

    with a network thread (`threaded`)    any thread sends requests and waits for its responses, without the GIL
    without                               one thread owns it and polls the network while it waits

Callbacks run on the waiting thread, in `request`, `request_each` or `poll`, never on the network thread.
"""

from __future__ import annotations

import time
from _thread import _local
from functools import partial

from kcore.client.clock import now_ms
from kcore.client.errors import BrokerUnreachable, ClientError
from kcore.client.network import encoded_request
from kcore.client.network.addresses import written
from kcore.client.network.encoded_request import EncodedRequest, ReplyQueue
from kcore.client.network.exchange import ANY_NODE, Exchange, Question
from kcore.client.network.failures import NONE, SETUP_TIMEOUT, failure_text, request_error
from kcore.errors import KafkaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from kcore.client.metadata.cluster import Node
    from kcore.client.network.exchange import Fields, OnResponse
    from kcore.client.network.network_client import NetworkClient
    from kcore.protocol.apis import Api
    from kcore.protocol.message import Message

    Result = TypeVar("Result")

REQUEST_TIMEOUT_MS = 30_000
RETRY_BACKOFF_MS = 50
RETRY_BACKOFF_MAX_MS = 1_000
RETRIES = 2**31 - 1
# Requests of `request_each` in flight, and the longest single wait.
PIPELINED = 64
POLL_MS = 1_000.0


class Requester:
    """Sends requests over `network`. `request_timeout_ms` is the default timeout of a request."""

    def __init__(
        self,
        network: NetworkClient,
        *,
        client_id: str = "kcli",
        request_timeout_ms: float = REQUEST_TIMEOUT_MS,
        threaded: bool = False,
    ) -> None:
        self.network = network
        self.client_id = client_id
        self.request_timeout_ms = request_timeout_ms
        # Pauses and maximum number of retries of `retrying`.
        self.retry_backoff_ms: float = RETRY_BACKOFF_MS
        self.retry_backoff_max_ms: float = RETRY_BACKOFF_MAX_MS
        self.retries = RETRIES
        self._threaded = threaded
        # Responses to `send`. With a network thread, each thread has a queue of its own for other requests.
        self.replies = ReplyQueue()
        self._own_queues = _local()
        self._pending: set[Exchange] = set()

    # Nodes

    def slot_of(self, node: Node) -> int:
        return self.network.set_node(node.id, node.host, node.port)

    def keep_apart(self, node: Node) -> None:
        """Give an unknown node a connection that is not used for requests to any node."""
        self.network.set_node(node.id, node.host, node.port, is_apart=True)

    def server_at(self, slot: int) -> str:
        """Return a node's address for messages."""
        return written(*self.network.address(slot)) if slot != ANY_NODE else "the cluster"

    def versions_of(self, node: Node) -> dict[int, tuple[int, int]]:
        """Return the APIs that a broker supports, by key. Connects if they are not known."""
        slot = self.slot_of(node)
        versions = self.network.versions(slot)
        if versions is None:
            self._connect(slot)
            versions = self.network.versions(slot)
        return versions or {}

    def version_of(self, node: Node, api: Api) -> int:
        """Return the version of an API's requests to a broker."""
        slot = self.slot_of(node)
        return Question(api, {}).version_for(self.versions_of(node).get(api.key), self.server_at(slot))

    def _connect(self, slot: int) -> None:
        replies = self._queue_of_caller()
        connecting = EncodedRequest(self.network, replies)
        connecting.tag = done = Connecting()
        connecting.connect(slot, self.request_timeout_ms)
        while not done.is_over:
            self._wait(replies, POLL_MS)
        if connecting.status != encoded_request.OK:
            raise request_error(connecting.status, connecting.failure, self.server_at(slot), "")

    def nobody_reached(self, status: int) -> ClientError:
        """Return the error if no broker could be reached, with the failure of each."""
        reasons = [
            (written(*self.network.address(slot)), failure)
            for slot in range(self.network.node_count)
            if (failure := self.network.failure(slot))[0] != NONE
        ]
        only_late = all(failure[0] == SETUP_TIMEOUT for _, failure in reasons)
        if status == encoded_request.UNSENT and not only_late:
            refusals = [(server, failure_text(failure)) for server, failure in reasons]
            return BrokerUnreachable("; ".join(f"{server}: {reason}" for server, reason in refusals), refusals)
        return request_error(status, (NONE, 0, 0), self.server_at(ANY_NODE), "")

    # Requests

    def send(
        self,
        node: Node | None,
        api: Api,
        fields: Fields,
        on_response: OnResponse,
        *,
        timeout_ms: float | None = None,
        expects_reply: bool = True,
        min_version: int | None = None,
        max_version: int | None = None,
    ) -> None:
        """Send a request to a node, or to any. `on_response` gets the response or the error, in `poll` or at once.

        If no response is expected (produce with acks=0), it gets neither, once the request is sent. `fields` may be a
        function of the version. The version limits default to those of the API.
        """
        question = Question(api, fields, expects_reply, min_version, max_version)
        self._begin(self.replies, node, question, on_response, timeout_ms)

    def _begin(
        self,
        replies: ReplyQueue,
        node: Node | None,
        question: Question,
        on_response: OnResponse,
        timeout_ms: float | None,
    ) -> None:
        limit_ms = self.request_timeout_ms if timeout_ms is None else timeout_ms
        exchange = Exchange(self, replies, question, limit_ms, on_response)
        self._pending.add(exchange)
        exchange.start(ANY_NODE if node is None else self.slot_of(node))

    def ended(self, exchange: Exchange) -> None:
        self._pending.discard(exchange)

    @property
    def is_waiting(self) -> bool:
        """Whether requests are in flight."""
        return bool(self._pending)

    def in_flight(self, node: Node) -> int:
        """Number of requests in flight to a broker."""
        slot = self.network.node_slot(node.id)
        return sum(exchange.node == slot for exchange in tuple(self._pending))

    def _queue_of_caller(self) -> ReplyQueue:
        if not self._threaded:
            return self.replies
        queue: ReplyQueue | None = getattr(self._own_queues, "replies", None)
        if queue is None:
            queue = self._own_queues.replies = ReplyQueue()
        return queue

    def _wait(self, replies: ReplyQueue, timeout_ms: float) -> int:
        """Wait for responses, at most `timeout_ms`, and call back. Returns their number."""
        if self._threaded:
            # If there is a response already, the wait ends at once.
            replies.wait(timeout_ms)
            taken = replies.take()
        else:
            taken = replies.take()
            if not taken:
                self.network.poll_for(timeout_ms)
                taken = replies.take()
        _hand_out(taken)
        return len(taken)

    def turn(self, timeout_ms: float) -> int:
        """Wait once, for responses to `send` or a wake-up of `replies`, and call back. For busy threads."""
        return self._wait(self.replies, timeout_ms)

    def poll(self, timeout_ms: float) -> int:
        """Wait until a request of `send` is answered, at most `timeout_ms`, and call back. Returns their number.

        Without a network thread and without requests in flight it returns at once.
        """
        deadline_ms = now_ms() + timeout_ms
        pending = len(self._pending)
        while self._threaded or self._pending:
            self._wait(self.replies, max(0.0, deadline_ms - now_ms()))
            if len(self._pending) < pending or now_ms() >= deadline_ms:
                break
        return pending - len(self._pending)

    def request(self, api: Api, fields: Fields, node: Node | None = None, timeout_ms: float | None = None) -> Message:
        """Send a request and wait for its response. Runs callbacks of other responses meanwhile."""
        outcome: list[tuple[Message | None, ClientError | None]] = []

        def on_response(response: Message | None, error: ClientError | None) -> None:
            outcome.append((response, error))

        replies = self._queue_of_caller()
        self._begin(replies, node, Question(api, fields), on_response, timeout_ms)
        while not outcome:
            self._wait(replies, POLL_MS)
        response, error = outcome.pop()
        if response is not None:
            return response
        try:
            raise error or BrokerUnreachable("the connection ended before the response arrived")
        finally:
            # The exception refers to this frame: avoid a reference cycle.
            del error

    def request_each(self, requests: Iterable[tuple[Node, Api, Fields]]) -> list[Message | ClientError]:
        """Send many requests, up to PIPELINED in flight. Returns the response or the error of each."""
        outcomes: dict[int, Message | ClientError] = {}
        replies = self._queue_of_caller()
        sent = 0

        def take(number: int, response: Message | None, error: ClientError | None) -> None:
            outcomes[number] = (
                response
                if response is not None
                else error or BrokerUnreachable("the connection ended before the response arrived")
            )

        for number, (node, api, fields) in enumerate(requests):
            while sent - len(outcomes) >= PIPELINED:
                self._wait(replies, POLL_MS)
            sent += 1
            self._begin(replies, node, Question(api, fields), partial(take, number), None)
        while len(outcomes) < sent:
            self._wait(replies, POLL_MS)
        return [outcomes[number] for number in range(sent)]

    def retrying(self, attempt: Callable[[], Result], timeout_ms: float | None = None) -> Result:
        """Repeat an attempt after retriable errors of brokers, with growing pauses, until the timeout."""
        deadline_ms = now_ms() + (self.request_timeout_ms if timeout_ms is None else timeout_ms)
        backoff_ms = self.retry_backoff_ms
        retries = 0
        while True:
            try:
                return attempt()
            except KafkaError as error:
                if not error.retriable or retries >= self.retries or now_ms() + backoff_ms >= deadline_ms:
                    raise
            time.sleep(backoff_ms / 1000.0)
            retries += 1
            backoff_ms = min(backoff_ms * 2.0, self.retry_backoff_max_ms)

    def close(self) -> None:
        """End the requests in flight with an error. A network thread must have ended before."""
        self.network.close()
        self.take_leavings()

    def take_leavings(self) -> None:
        """Run the callbacks of all requests that were in flight when the network was closed."""
        while taken := self.replies.take():
            _hand_out(taken)


def _hand_out(taken: list[EncodedRequest]) -> None:
    """Run the callbacks of all requests, even if one fails. Raises the first failure at the end."""
    failures: list[BaseException] = []
    for request in taken:
        try:
            request.tag.on_reply()
        except BaseException as failure:
            failures.append(failure)
    if failures:
        raise failures[0]


class Connecting:
    """Completion of a connection attempt."""

    is_over = False

    def on_reply(self) -> None:
        self.is_over = True
