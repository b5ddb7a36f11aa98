"""One request on its way through a handler: who asks, over which connection, and how it is answered.

A request is answered exactly once; what comes after the first answer is ignored with a log line, because the connection
may already execute its next request.

Here is also the one place where the answers of handlers are throttled: what a handler charged (`charge`) and the
request time that it took (`request_percentage`) decide for how long the connection is muted, which `throttle_time_ms`
says.
"""

from __future__ import annotations

import time

from kcore.logger import ERROR, get_logger
from kcore.protocol.headers import encode_response
from kcore.quota.client_quota_manager import REQUEST
from kcore.server.error_counts import count_errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    from kcore.config.listeners import Endpoint
    from kcore.network.request import Request
    from kcore.protocol.apis import Api
    from kcore.server.broker import Broker
    from kcore.server.faults.fault_table import Strike

    Fields: TypeAlias = Mapping[str, Any]

LOG = get_logger("kcore.server.request")

# Request time is counted in percent of one thread's (KIP-124).
PERCENT_OF_A_SECOND_NS = 1e7

IPV4_MAPPED = "::ffff:"
SHOWN_CLIENT_ID_CHARACTERS = 200


class Connection:
    """Where a request came from and where it arrived."""

    __slots__ = ("client_host", "listener", "local_host")

    def __init__(self, client_host: str, local_host: str, listener: Endpoint) -> None:
        self.client_host = client_host.removeprefix(IPV4_MAPPED)
        self.local_host = local_host.removeprefix(IPV4_MAPPED)
        self.listener = listener


def shown_client_id(client_id: str | None) -> str | None:
    """A client's id as log lines have it: a client may call itself by 32 KiB."""
    if client_id is None or len(client_id) <= SHOWN_CLIENT_ID_CHARACTERS:
        return client_id
    return f"{client_id[:SHOWN_CLIENT_ID_CHARACTERS]}..."


class RequestContext:
    """What a handler knows besides the request's fields; `started_ns` is when work on it began, now if not given."""

    __slots__ = (
        "_answered",
        "_connection",
        "_handled_ns",
        "_large_work",
        "_request",
        "_started_ns",
        "_throttle_ms",
        "_time_is_charged",
        "api",
        "api_version",
        "broker",
        "client_id",
        "correlation_id",
        "strike",
        "user",
    )

    def __init__(self, broker: Broker, api: Api, request: Request, started_ns: int | None = None) -> None:
        self.broker = broker
        self.api = api
        self.api_version = request.api_version
        self.correlation_id = request.correlation_id
        self.client_id = request.client_id
        self._connection: Connection | None = None
        self._request = request
        self._answered = False
        self.user = request.user
        self._started_ns = time.monotonic_ns() if started_ns is None else started_ns
        self._handled_ns = 0
        self._large_work: Callable[[RequestContext, Any], Fields | None] | None = None
        self._throttle_ms = 0
        self._time_is_charged = False
        self.strike: Strike | None = None  # what a test wants to happen to the answer

    def __str__(self) -> str:
        return (
            f"{self.api.name} v{self.api_version} of client {shown_client_id(self.client_id)!r} "
            f"at {self.connection.client_host} (correlation id {self.correlation_id})"
        )

    @property
    def connection(self) -> Connection:
        """Where the request came from; most handlers do not ask."""
        if self._connection is None:
            request = self._request
            listener = self.broker.bound_listeners[request.listener]
            self._connection = Connection(request.client_host, request.local_host, listener)
        return self._connection

    @property
    def is_connected(self) -> bool:
        """Whether the client had its connection open when the request was taken up."""
        return not self._request.peer_closed

    def respond(self, fields: Fields, version: int | None = None) -> None:
        """Sends a response; `version` only where it is not the request's (ApiVersions of an unknown version).

        What cannot be encoded closes the connection, so that no caller can leave it mute.
        """
        if self.strike is not None:
            fields = self.strike.fields(fields)
        if version is None:
            version = self.api_version
        self.charge_time()
        charged_ns = time.monotonic_ns() if self._time_is_charged else 0
        try:
            if self._throttle_ms and self._tells_throttle_time(version):
                fields = {**fields, "throttle_time_ms": self._throttle_ms}
            payload = encode_response(self.api, version, self.correlation_id, fields)
        except Exception as error:
            self.log_failure("The response to %s cannot be encoded", error)
            self.close()
            return
        count_errors(self.broker.socket_server.errors, self.api.key, fields)
        if charged_ns:
            # Known too late for this answer: it counts when the client's next request is looked at.
            self._charge_nanoseconds(time.monotonic_ns() - charged_ns)
        self._answer(payload, close=False)

    # Quotas

    @property
    def size_bytes(self) -> int:
        """The request's size, with its header."""
        return len(self._request.frame)

    @property
    def throttle_ms(self) -> int:
        """For how long the connection is to be muted, as far as is known."""
        return self._throttle_ms

    def charge(self, quota_type: int, amount: float, *, strictly: bool = False) -> int:
        """Charges the client's quota; answers, and remembers, for how long it is to be throttled.

        Strictly, a client that has exceeded its quota is not charged: it must not be given what it asks for.
        """
        throttle_ms = self.broker.client_quotas.charge_client(
            quota_type, self.user, self.client_id, amount, strictly=strictly
        )
        self.throttle(throttle_ms)
        return throttle_ms

    def throttle(self, throttle_ms: int) -> None:
        """Mutes the connection after the answer; of several times the longest counts."""
        self._throttle_ms = max(self._throttle_ms, throttle_ms)

    def end_of_handling(self) -> None:
        """The handler is done: if it answers later, the time until then is not its own."""
        self._handled_ns = time.monotonic_ns() - self._started_ns

    def leave_to_large_batches(self, handle: Callable[[RequestContext, Any], Fields | None]) -> None:
        """Has the thread for large batches run `handle` in place of the handler, which returns None."""
        self._large_work = handle

    def take_large_work(self) -> Callable[[RequestContext, Any], Fields | None] | None:
        """What the handler left to the thread for large batches, once."""
        work, self._large_work = self._large_work, None
        return work

    def resume(self) -> None:
        """Work on the request goes on after a wait that is not charged."""
        self._started_ns = time.monotonic_ns()

    def charge_time(self) -> None:
        """Charges what the request took; once, at the latest when it is answered."""
        if self.broker.client_quotas.enables(REQUEST) and not self._time_is_charged:
            self._time_is_charged = True
            used_ns = self._request.network_ns + (self._handled_ns or time.monotonic_ns() - self._started_ns)
            self.throttle(self._charge_nanoseconds(used_ns))

    def _charge_nanoseconds(self, used_ns: int) -> int:
        """Charges time; answers for how long the client is to be throttled."""
        amount = used_ns / PERCENT_OF_A_SECOND_NS
        return self.broker.client_quotas.charge_client(REQUEST, self.user, self.client_id, amount)

    def _tells_throttle_time(self, version: int) -> bool:
        return any(
            field.name == "throttle_time_ms" and field.versions[0] <= version <= field.versions[1]
            for field in self.api.response.struct.fields
        )

    def log_failure(self, message: str, error: Exception) -> None:
        """Logs what should not happen, with its traceback: a client that found a way to it may go it in a loop."""
        cause = f"{self.api.name} failed with {type(error).__name__}"
        LOG.limited(ERROR, self._request.client_host, cause, message, self, error=error)

    # Other answers

    def respond_later(self, make_fields: Callable[[], Fields]) -> Callable[[], None]:
        """A callable for whoever wakes a delayed request: it responds, and closes the connection if that fails."""

        def respond() -> None:
            try:
                fields = make_fields()
            except Exception as error:
                self.log_failure("%s failed after its delay", error)
                self.close()
                return
            self.respond(fields)

        return respond

    def respond_nothing(self) -> None:
        """Ends a request that gets no response (acks=0)."""
        self._answer(None, close=False)

    def close(self) -> None:
        """Ends the connection instead of answering."""
        self._answer(None, close=True)

    def _answer(self, payload: bytes | None, close: bool) -> None:
        if self._answered:
            LOG.error("Dropped a second response to %s", self)
            return
        self._answered = True
        if self.strike is not None:
            self.strike.answer(lambda: self._send(payload, close), payload)
        else:
            self._send(payload, close)

    def _send(self, payload: bytes | None, close: bool) -> None:
        self._request.respond(payload, close=close, throttle_ms=self._throttle_ms)

    @property
    def is_answered(self) -> bool:
        """Whether the request is done with."""
        return self._answered
