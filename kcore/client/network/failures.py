"""Converts the status and failure of a request to an exception of the client with a message."""

from __future__ import annotations

import os

from kcore.client.errors import BrokerUnreachable, ClientError, ClientTimeout, broker_error
from kcore.client.network import encoded_request
from kcore.errors import KafkaError
from kcore.protocol import apis

# FailureKind of kcore/client/network/connection.pxd.
(
    NONE,
    ERRNO,
    END,
    NAME,
    SETUP_TIMEOUT,
    REQUEST_TIMEOUT,
    SIZE,
    UNASKED,
    CORRELATION,
    HEADER,
    VERSIONS,
    MEMORY,
    IDLE,
    CLOSED,
) = range(14)
VERSIONS_UNREADABLE = -1000

Failure = tuple[int, int, int]


def failure_text(failure: Failure) -> str:
    """Return why a connection ended or could not be established."""
    kind, detail, due = failure
    if kind == ERRNO:
        return os.strerror(detail)
    if kind == NAME:
        from kcore.client.network.name_resolution import lookup_error_text

        return lookup_error_text(detail)
    if kind == SIZE:
        return f"a response of {detail} bytes is not acceptable. Is this the port of a Kafka broker?"
    if kind == CORRELATION:
        return f"a response with correlation id {detail} instead of {due}"
    if kind in (HEADER, REQUEST_TIMEOUT):
        what = "unreadable header of the response to" if kind == HEADER else "no response in time to"
        return f"{what} {api_name(detail)}"
    if kind == VERSIONS:
        return "unreadable ApiVersions response" if detail == VERSIONS_UNREADABLE else _refusal(detail)
    return {
        END: "the broker closed the connection",
        SETUP_TIMEOUT: "no connection in time",
        UNASKED: "a response without a request",
        MEMORY: "no memory for a connection or a response",
        IDLE: "the connection was idle",
        CLOSED: "the client is closed",
    }.get(kind, "no connection")


def _refusal(code: int) -> str:
    error = broker_error(code, "ApiVersions")
    assert isinstance(error, KafkaError)
    return str(error)


def api_name(key: int) -> str:
    api = apis.BY_KEY.get(key)
    return api.name if api is not None else f"API {key}"


def request_error(status: int, failure: Failure, server: str, api: str) -> ClientError:
    """Return the exception for a request that did not finish with the status OK."""
    if status == encoded_request.TIMED_OUT:
        return ClientTimeout(f"{server}: no response to {api} in time")
    if status == encoded_request.CLOSED:
        return BrokerUnreachable(f"{server}: the client is closed")
    if status == encoded_request.UNSENT and failure[0] in (NONE, SETUP_TIMEOUT):
        return ClientTimeout(f"{server}: no connection in time")
    return BrokerUnreachable(f"{server}: {failure_text(failure)}")
