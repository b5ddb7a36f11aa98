"""The consumer's background thread. It runs the state machines and sends their requests.

    poll every machine (locked) -> submit their requests -> wait for replies -> finish them (locked) -> again

A round polls every machine. So a change by a reply, the application or the fetcher is seen by the next round, and
`wake` ensures that one follows. The wait of a round is computed before its requests are submitted. If a request is
refused at once, the round does not wait.

One lock guards the machines. The application's thread takes it briefly and never waits while it holds it. Requests go
through a Requester. Requests to the coordinator, and no others, use a connection of their own: a waiting fetch does not
delay heartbeats, and a JoinGroup, which waits for the slowest member, does not delay metadata.
"""

from __future__ import annotations

import threading

from kcore.client.clock import now_ms
from kcore.client.network.requester import Requester

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from kcore.client.consumer.broker_request import BrokerRequest
    from kcore.client.errors import ClientError
    from kcore.client.metadata.cluster import Node
    from kcore.client.network.network_client import NetworkClient
    from kcore.protocol.message import Message

    class Machine(Protocol):
        def poll(self, now_ms: float) -> list[BrokerRequest]: ...


# Java derives the id of the coordinator's connection like this.
COORDINATOR_ID_BASE = 2**31 - 1
LONGEST_WAIT_MS = 60_000.0
SHORTEST_WAIT_MS = 1.0


class ConsumerNetwork:
    """Owns the background thread. `failure` is the exception that ended it, if any."""

    def __init__(
        self, client: NetworkClient, client_id: str, request_timeout_ms: float, coordinated: Sequence[Machine]
    ) -> None:
        """`coordinated` are the machines that send requests to the coordinator."""
        self._requester = Requester(client, client_id=client_id, request_timeout_ms=request_timeout_ms, threaded=True)
        # Setting this queue's event starts another round.
        self.replies = self._requester.replies
        self.lock = threading.RLock()
        self._coordinated = tuple(coordinated)
        self._plain: list[Machine] = []
        self._wake_times: list[Callable[[float], float]] = []
        self._before: Callable[[float], None] = lambda now_ms: None
        self._after: Callable[[float], None] = lambda now_ms: None
        self._on_failure: Callable[[], None] = lambda: None
        self._is_closing = False
        # Number of finished requests.
        self._finished = 0
        self._thread = threading.Thread(target=self._run, name="kcli-consumer-background", daemon=True)
        self.failure: BaseException | None = None

    def drive(
        self,
        before: Callable[[float], None],
        plain: Sequence[Machine],
        wake_times: Sequence[Callable[[float], float]],
        after: Callable[[float], None],
        on_failure: Callable[[], None],
    ) -> None:
        """Start the thread. `plain` are the machines besides the coordinated ones; `wake_times` return when each of
        them is due. `before` and `after` run in each round, before and after all machines are polled. `on_failure` runs
        after `failure` is set and the thread has stopped driving the machines.
        """
        self._plain = list(plain)
        self._wake_times = list(wake_times)
        self._before, self._after, self._on_failure = before, after, on_failure
        self._thread.start()

    def slot(self, node: Node) -> int:
        """Return the NetworkClient's slot for fetches from a broker."""
        return self._requester.slot_of(node)

    def wake(self) -> None:
        """Start another round."""
        self.replies.wake()

    def _run(self) -> None:
        try:
            while not self._is_closing:
                self._round()
        except BaseException as failure:
            # The application checks `failure` wherever it waits.
            self.failure = failure
            self._on_failure()

    def _round(self) -> None:
        finished = self._finished
        with self.lock:
            now = now_ms()
            self._before(now)
            to_coordinator = [request for machine in self._coordinated for request in machine.poll(now)]
            requests = [request for machine in self._plain for request in machine.poll(now)]
            now = now_ms()
            self._after(now)
            wait_ms = min((wake(now) for wake in self._wake_times), default=now + LONGEST_WAIT_MS) - now
        for request in to_coordinator:
            self._send(request, None if request.node is None else self._coordinator(request.node))
        for request in requests:
            self._send(request, request.node)
        if self._finished != finished:
            # Requests were refused at once, which may have made something else due.
            wait_ms = SHORTEST_WAIT_MS
        self._requester.turn(min(max(wait_ms, SHORTEST_WAIT_MS), LONGEST_WAIT_MS))

    def _coordinator(self, node: Node) -> Node:
        coordinator = node._replace(id=COORDINATOR_ID_BASE - node.id)
        self._requester.keep_apart(coordinator)
        return coordinator

    def _send(self, request: BrokerRequest, node: Node | None) -> None:
        def on_response(response: Message | None, error: ClientError | None) -> None:
            with self.lock:
                self._finished += 1
                request.finish(response, error, now_ms())

        self._requester.send(
            node,
            request.api,
            request.fields,
            on_response,
            timeout_ms=request.timeout_ms,
            min_version=request.min_version,
            max_version=request.max_version,
        )

    def close(self) -> None:
        """End the thread without waiting for requests in flight."""
        self._is_closing = True
        self.replies.wake()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def take_leavings(self) -> None:
        """Discard the requests that came back when the network was closed."""
        self._requester.take_leavings()
