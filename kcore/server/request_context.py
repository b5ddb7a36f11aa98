"""One request in a handler: its client and connection, its quotas, and its response.

A request is answered exactly once. Later answers are dropped with a log line, because the connection may already
execute its next request.

All responses of Python handlers are throttled here. The amounts that the handler charged (`charge`) and its request
time (`request_percentage`) determine how long the connection is muted. `throttle_time_ms` reports this to the client.
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

# Request time is counted in percent of one thread's time (KIP-124).
PERCENT_OF_A_SECOND_NS = 1e7

IPV4_MAPPED = "::ffff:"
SHOWN_CLIENT_ID_CHARACTERS = 200


class Connection:
    """The client's address, and the listener and local address of its connection."""

    __slots__ = ("client_host", "listener", "local_host")

    def __init__(self, client_host: str, local_host: str, listener: Endpoint) -> None:
        self.client_host = client_host.removeprefix(IPV4_MAPPED)
        self.local_host = local_host.removeprefix(IPV4_MAPPED)
        self.listener = listener


def shown_client_id(client_id: str | None) -> str | None:
    """A client id for log lines, shortened: it can have up to 32 KiB."""
    if client_id is None or len(client_id) <= SHOWN_CLIENT_ID_CHARACTERS:
        return client_id
    return f"{client_id[:SHOWN_CLIENT_ID_CHARACTERS]}..."


class RequestContext:
    """One request in a handler, without its fields. `started_ns` is when work on it began. Default: now."""

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
        self.strike: Strike | None = None  # the fault that a test applies to the response

    def __str__(self) -> str:
        return (
            f"{self.api.name} v{self.api_version} of client {shown_client_id(self.client_id)!r} "
            f"at {self.connection.client_host} (correlation id {self.correlation_id})"
        )

    @property
    def connection(self) -> Connection:
        """The request's connection. Created on first use, since most handlers do not need it."""
        if self._connection is None:
            request = self._request
            listener = self.broker.bound_listeners[request.listener]
            self._connection = Connection(request.client_host, request.local_host, listener)
        return self._connection

    @property
    def is_connected(self) -> bool:
        """Whether the client's connection was open when work on the request began."""
        return not self._request.peer_closed

    def respond(self, fields: Fields, version: int | None = None) -> None:
        """Sends a response. Pass `version` only if it differs from the request's (ApiVersions of an unknown version).

        If the response cannot be encoded, the connection is closed: otherwise it would stay muted.
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
            # Too late for this response: the client is throttled for it after its next request.
            self._charge_nanoseconds(time.monotonic_ns() - charged_ns)
        self._answer(payload, close=False)

    # Quotas

    @property
    def size_bytes(self) -> int:
        """The request's size, including its header."""
        return len(self._request.frame)

    @property
    def throttle_ms(self) -> int:
        """How long the connection will be muted, as far as is known yet."""
        return self._throttle_ms

    def charge(self, quota_type: int, amount: float, *, strictly: bool = False) -> int:
        """Charges the client's quota. Returns how long to throttle it in ms, which the response will apply too.

        With `strictly`, a client over its quota is not charged, and the caller must refuse its request.
        """
        throttle_ms = self.broker.client_quotas.charge_client(
            quota_type, self.user, self.client_id, amount, strictly=strictly
        )
        self.throttle(throttle_ms)
        return throttle_ms

    def throttle(self, throttle_ms: int) -> None:
        """Mutes the connection after the response. The longest of several times applies."""
        self._throttle_ms = max(self._throttle_ms, throttle_ms)

    def end_of_handling(self) -> None:
        """Marks the end of the handler. If the response is sent later, the time in between is not charged."""
        self._handled_ns = time.monotonic_ns() - self._started_ns

    def leave_to_large_batches(self, handle: Callable[[RequestContext, Any], Fields | None]) -> None:
        """Makes the thread for large batches run `handle` instead. The handler must return None."""
        self._large_work = handle

    def take_large_work(self) -> Callable[[RequestContext, Any], Fields | None] | None:
        """Returns and clears the function that was left to the thread for large batches."""
        work, self._large_work = self._large_work, None
        return work

    def resume(self) -> None:
        """Continues work after a wait that is not charged."""
        self._started_ns = time.monotonic_ns()

    def charge_time(self) -> None:
        """Charges the request time. Only the first call has an effect; `respond` makes it at the latest."""
        if self.broker.client_quotas.enables(REQUEST) and not self._time_is_charged:
            self._time_is_charged = True
            used_ns = self._request.network_ns + (self._handled_ns or time.monotonic_ns() - self._started_ns)
            self.throttle(self._charge_nanoseconds(used_ns))

    def _charge_nanoseconds(self, used_ns: int) -> int:
        """Charges request time. Returns how long to throttle the client, in ms."""
        amount = used_ns / PERCENT_OF_A_SECOND_NS
        return self.broker.client_quotas.charge_client(REQUEST, self.user, self.client_id, amount)

    def _tells_throttle_time(self, version: int) -> bool:
        return any(
            field.name == "throttle_time_ms" and field.versions[0] <= version <= field.versions[1]
            for field in self.api.response.struct.fields
        )

    def log_failure(self, message: str, error: Exception) -> None:
        """Logs an unexpected error with its traceback. Rate-limited, since a client may trigger it in a loop."""
        cause = f"{self.api.name} failed with {type(error).__name__}"
        LOG.limited(ERROR, self._request.client_host, cause, message, self, error=error)

    # Other responses

    def respond_later(self, make_fields: Callable[[], Fields]) -> Callable[[], None]:
        """A callable for a delayed request: it responds, or closes the connection if `make_fields` fails."""

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
        """Finishes a request that gets no response (acks=0)."""
        self._answer(None, close=False)

    def close(self) -> None:
        """Closes the connection instead of responding."""
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
        """Whether the request was answered or its connection closed."""
        return self._answered
