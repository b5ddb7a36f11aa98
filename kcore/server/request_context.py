"""One request on its way through a handler: who asks, over which connection, and how it is answered.

A request is answered exactly once; what comes after the first answer is ignored with a log line, because the connection
may already execute its next request.
"""

from __future__ import annotations

from kcore.logger import get_logger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    from kcore.config.listeners import Endpoint
    from kcore.network.request import Request
    from kcore.protocol.apis import Api
    from kcore.server.broker import Broker

    Fields: TypeAlias = Mapping[str, Any]

LOG = get_logger("kcore.server.request")

IPV4_MAPPED = "::ffff:"


class Connection:
    """Where a request came from and where it arrived."""

    __slots__ = ("client_host", "listener", "local_host")

    def __init__(self, client_host: str, local_host: str, listener: Endpoint) -> None:
        self.client_host = client_host.removeprefix(IPV4_MAPPED)
        self.local_host = local_host.removeprefix(IPV4_MAPPED)
        self.listener = listener


class RequestContext:
    """What a handler knows besides the request's fields."""

    __slots__ = (
        "_answered",
        "_request",
        "api",
        "api_version",
        "broker",
        "client_id",
        "connection",
        "correlation_id",
    )

    def __init__(self, broker: Broker, api: Api, request: Request) -> None:
        self.broker = broker
        self.api = api
        self.api_version = request.api_version
        self.correlation_id = request.correlation_id
        self.client_id = request.client_id
        self.connection = Connection(request.client_host, request.local_host, broker.bound_listeners[request.listener])
        self._request = request
        self._answered = False

    def __str__(self) -> str:
        return (
            f"{self.api.name} v{self.api_version} of client {self.client_id!r} at {self.connection.client_host} "
            f"(correlation id {self.correlation_id})"
        )

    def respond(self, fields: Fields, version: int | None = None) -> None:
        """Sends a response; `version` only where it is not the request's (ApiVersions of an unknown version).

        What cannot be encoded closes the connection, so that no caller can leave it mute.
        """
        from kcore.protocol.headers import encode_response

        try:
            payload = encode_response(
                self.api, self.api_version if version is None else version, self.correlation_id, fields
            )
        except Exception as error:
            LOG.error("The response to %s cannot be encoded", self, cause=error)
            self.close()
            return
        self._answer(payload, close=False)

    def respond_later(self, make_fields: Callable[[], Fields]) -> Callable[[], None]:
        """A callable for whoever wakes a delayed request: it responds, and closes the connection if that fails."""

        def respond() -> None:
            try:
                fields = make_fields()
            except Exception as error:
                LOG.error("%s failed after its delay", self, cause=error)
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
            LOG.error("A second answer to %s is dropped", self)
            return
        self._answered = True
        self._request.respond(payload, close=close)

    @property
    def is_answered(self) -> bool:
        """Whether the request is done with."""
        return self._answered
