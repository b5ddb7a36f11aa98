"""Requester: what Python asks of brokers, through the codec: one request, many at once, or with a callback.

    with the network's own thread (`threaded`)    any thread asks and waits for its reply, without the GIL
    without                                       the one thread that owns it polls the network while it waits

Callbacks run on the thread that waits: in `request`, `request_each` or `poll`, never on the network's.
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
# How many requests `request_each` has on the way, and how long a wait lasts before it looks around.
PIPELINED = 64
POLL_MS = 1_000.0


class Requester:
    """Asks over `network`; `request_timeout_ms` is how long a request may take where its caller does not say."""

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
        # How long `retrying` pauses, and how often it repeats, within its time.
        self.retry_backoff_ms: float = RETRY_BACKOFF_MS
        self.retry_backoff_max_ms: float = RETRY_BACKOFF_MAX_MS
        self.retries = RETRIES
        self._threaded = threaded
        # Replies to `send`, and without a network thread to everything; with one, each thread that waits has a queue.
        self.replies = ReplyQueue()
        self._own_queues = _local()
        self._pending: set[Exchange] = set()

    # Nodes

    def slot_of(self, node: Node) -> int:
        return self.network.set_node(node.id, node.host, node.port)

    def keep_apart(self, node: Node) -> None:
        """Gives a node that is not known yet a connection of its own, which takes nothing that may go to any node."""
        self.network.set_node(node.id, node.host, node.port, is_apart=True)

    def server_at(self, slot: int) -> str:
        """A node as people write it."""
        return written(*self.network.address(slot)) if slot != ANY_NODE else "the cluster"

    def versions_of(self, node: Node) -> dict[int, tuple[int, int]]:
        """Every API that a broker speaks, by key; asks it by connecting to it."""
        slot = self.slot_of(node)
        versions = self.network.versions(slot)
        if versions is None:
            self._connect(slot)
            versions = self.network.versions(slot)
        return versions or {}

    def version_of(self, node: Node, api: Api) -> int:
        """The version in which a request of an API would be sent to a broker."""
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
        """Why no broker could be asked: what every one that was tried is known to have failed for."""
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
        """Sends a request to a node, or to any; `on_response` gets its answer or its error, by `poll` or already here.

        Without an answer to expect (produce with acks=0) it gets neither, once the request has left. `fields` may be a
        function of the version that is spoken, which lies within the limits given, else within those of the API.
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
        """Whether anything is on its way."""
        return bool(self._pending)

    def in_flight(self, node: Node) -> int:
        """How many requests to a broker wait for their answers."""
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
        """Waits until something happened, at most so long; hands out what was answered, and says how much that was."""
        if self._threaded:
            # A reply that is there already ends the wait, once.
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
        """Waits once, for answers to `send` or until `replies` is woken, and calls back; for threads that do more."""
        return self._wait(self.replies, timeout_ms)

    def poll(self, timeout_ms: float) -> int:
        """Waits until a request of `send` is answered, at most so long, and calls back; returns how many were answered.

        Without a network thread and with nothing on the way it returns at once.
        """
        deadline_ms = now_ms() + timeout_ms
        pending = len(self._pending)
        while self._threaded or self._pending:
            self._wait(self.replies, max(0.0, deadline_ms - now_ms()))
            if len(self._pending) < pending or now_ms() >= deadline_ms:
                break
        return pending - len(self._pending)

    def request(self, api: Api, fields: Fields, node: Node | None = None, timeout_ms: float | None = None) -> Message:
        """Sends and waits for the answer; other answers that arrive meanwhile are handed out too."""
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
            # It holds this frame, and those that called.
            del error

    def request_each(self, requests: Iterable[tuple[Node, Api, Fields]]) -> list[Message | ClientError]:
        """Sends many, up to PIPELINED of them unanswered at a time; each gets its answer, or what kept it from one."""
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
        """Repeats an attempt that fails with a retriable error, with growing pauses, until its time is over."""
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
        """Ends what is on the way, whose callbacks are told so; a network thread has been ended before."""
        self.network.close()
        self.take_leavings()

    def take_leavings(self) -> None:
        """After the network was closed: what was on its way comes back, until nothing of it is left."""
        while taken := self.replies.take():
            _hand_out(taken)


def _hand_out(taken: list[EncodedRequest]) -> None:
    """Calls back for all of them, also where a callback fails; what the first such failure was comes out at the end."""
    failures: list[BaseException] = []
    for request in taken:
        try:
            request.tag.on_reply()
        except BaseException as failure:
            failures.append(failure)
    if failures:
        raise failures[0]


class Connecting:
    """The end of a connection that was asked for."""

    is_over = False

    def on_reply(self) -> None:
        self.is_over = True
