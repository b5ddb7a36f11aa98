"""The handler threads, which take requests from the RequestChannel and run `handlers/<api>.py`.

Source: KafkaRequestHandlerPool.

Invariant: every request is answered, or its connection is closed, or another component has taken over to answer it
later. Otherwise its connection would stay muted for ever. Therefore:

- A KafkaError is answered in the response format of the API.
- An unexpected error is logged with a traceback and answered as UNKNOWN_SERVER_ERROR.
- If the response cannot be encoded, or the request cannot be decoded, the connection is closed.
- As in Kafka, an API key or version that is not served closes the connection. Only ApiVersions of an unknown version is
  answered, in version 0, so that every client can find out the served versions (KIP-511).
"""

from __future__ import annotations

import threading
import time

from kcore import errors
from kcore.logger import ERROR, WARN, get_logger
from kcore.protocol.apis import BY_KEY
from kcore.server import apis
from kcore.server.request_context import RequestContext, shown_client_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, TypeAlias

    from kcore.network.request import Request
    from kcore.network.request_channel import RequestChannel
    from kcore.server.broker import Broker
    from kcore.server.request_context import Fields

    Handle: TypeAlias = Callable[[RequestContext, Any], Fields | None]

LOG = get_logger("kcore.server.request")

# Requests are taken in small batches: one wake-up serves a burst, and a slow request delays few others.
BATCH_SIZE = 8
POLL_MS = 1000
NO_TURN = -1


class RequestHandler:
    """Handles single requests. It has no thread of its own."""

    __slots__ = ("_broker", "_max_elements")

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._max_elements = broker.config.number("kcli.request.max.elements")

    def handle(self, request: Request) -> None:
        """Answers a request, closes its connection, or leaves it to another thread if the handler passed it on."""
        try:
            entry = apis.BY_KEY.get(request.api_key)
            if entry is not None and entry.serves(request.api_version):
                self._handle_served(entry, request)
            elif request.api_key == apis.API_VERSIONS:
                self._handle_unknown_api_versions(request)
            else:
                LOG.limited(
                    WARN,
                    request.client_host,
                    "a request that is not served",
                    "Closing the connection of client %r at %s: API key %d version %d is not served",
                    shown_client_id(request.client_id),
                    request.client_host,
                    request.api_key,
                    request.api_version,
                )
                request.respond(None, close=True)
        except Exception as error:
            LOG.limited(
                ERROR,
                request.client_host,
                f"a request failed with {type(error).__name__}",
                "Closing the connection of client %r at %s: its request with API key %d version %d failed",
                shown_client_id(request.client_id),
                request.client_host,
                request.api_key,
                request.api_version,
                error=error,
            )
            request.respond(None, close=True)

    def _handle_served(self, entry: apis.ApiEntry, request: Request) -> None:
        api = BY_KEY[request.api_key]
        started_ns = time.monotonic_ns()
        try:
            # Bytes after the message are ignored, as in Kafka: librdkafka's Metadata 13 has such bytes.
            message, _ = api.request.decode_prefix(request.api_version, request.frame, request.body, self._max_elements)
        except errors.KafkaError as error:
            LOG.limited(
                WARN,
                request.client_host,
                "a malformed request",
                "Closing the connection of client %r at %s: a malformed %s request of version %d (%s)",
                shown_client_id(request.client_id),
                request.client_host,
                api.name,
                request.api_version,
                error,
            )
            request.respond(None, close=True)
            return
        context = RequestContext(self._broker, api, request, started_ns)
        strike = self._broker.faults.strike(request) if self._broker.faults is not None else None
        if strike is None:
            self._run(entry.handler, context, message)
        else:
            strike.run(entry.handler, context, message, self._run)

    def _run(self, handler: ModuleType, context: RequestContext, message: Any) -> None:
        self._answer(handler, handler.handle, context, message)

    def _answer(self, handler: ModuleType, handle: Handle, context: RequestContext, message: Any) -> None:
        try:
            fields = handle(context, message)
        except errors.KafkaError as error:
            fields = handler.error_response(context, message, error)
        except Exception as error:
            context.log_failure("%s failed", error)
            fields = handler.error_response(context, message, errors.UnknownServerError())
        later = context.take_large_work()
        if later is not None:
            self._broker.large_batches.submit(lambda: self._work_later(handler, later, context, message), context.close)
        elif fields is not None and not context.is_answered:
            context.respond(fields)
        else:
            context.end_of_handling()

    def _work_later(self, handler: ModuleType, handle: Handle, context: RequestContext, message: Any) -> None:
        """Runs `handle` on the thread for large batches. If that fails, closes the connection."""
        context.resume()
        try:
            self._answer(handler, handle, context, message)
        except Exception as error:
            LOG.error("%s failed", context, cause=error)
            context.close()

    def _handle_unknown_api_versions(self, request: Request) -> None:
        entry = apis.BY_KEY[apis.API_VERSIONS]
        context = RequestContext(self._broker, BY_KEY[apis.API_VERSIONS], request)
        context.respond(entry.handler.unknown_version_response(), version=0)


class RequestHandlerPool:
    """`num.io.threads` threads that share one RequestHandler. Their number can change while they run.

    A surplus thread ends after its current requests, or within POLL_MS if it is idle.
    """

    __slots__ = ("_channel", "_handler", "_lock", "_made", "_threads", "_wanted")

    def __init__(self, broker: Broker, channel: RequestChannel, count: int) -> None:
        self._channel = channel
        self._handler = RequestHandler(broker)
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._wanted = count
        self._made = 0

    def start(self) -> None:
        """Starts the threads."""
        self.resize(self._wanted)

    def resize(self, count: int) -> None:
        """Starts or ends threads until there are `count`. Starts none after the channel is closed."""
        with self._lock:
            self._wanted = count
            while len(self._threads) < count and not self._channel.closed:
                thread = threading.Thread(target=self._run, name=f"kafka-request-handler-{self._made}", daemon=True)
                self._made += 1
                # If this raises, the thread is not added to the pool.
                thread.start()
                self._threads.append(thread)

    def join(self) -> None:
        """Waits until the threads have finished their requests. Close the channel first."""
        for thread in tuple(self._threads):
            thread.join()

    def _run(self) -> None:
        channel = self._channel
        handle = self._handler.handle
        finished_turn = NO_TURN
        while not self._leaves():
            requests = channel.receive(BATCH_SIZE, POLL_MS, finished_turn)
            if not requests and channel.closed:
                return
            for request in requests:
                request.begin()
                handle(request)
                request.leave()
            finished_turn = requests[0].turn if requests else NO_TURN
        if finished_turn != NO_TURN:
            channel.leave(finished_turn)

    def _leaves(self) -> bool:
        """Whether the calling thread is surplus. If so, removes it from the pool."""
        if len(self._threads) <= self._wanted:
            return False
        with self._lock:
            if len(self._threads) <= self._wanted:
                return False
            self._threads.remove(threading.current_thread())
            return True
