"""A pipeline's metrics over HTTP, by the endpoint that the broker's have."""

from __future__ import annotations

from contextlib import contextmanager

import click

from kcli.failures import UsageFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kspark.pipeline.metrics import Totals

# The broker's defaults for metrics.max.connections and metrics.connection.timeout.ms.
MAX_CONNECTIONS = 16
TIMEOUT_MS = 10_000


@contextmanager
def served(totals: Totals, host: str, port: int) -> Iterator[None]:
    """At a free port where `port` is 0; says where. Ready as long as this lasts."""
    from kcore.server.metrics_endpoint import MetricsEndpoint

    endpoint = MetricsEndpoint(
        host, port, totals.render, lambda: True, max_connections=MAX_CONNECTIONS, timeout_ms=TIMEOUT_MS
    )
    try:
        endpoint.start()
    except OSError as error:
        reason = getattr(error.__cause__, "strerror", None) or error
        raise UsageFailure(f"cannot serve metrics at {host}:{port}: {reason}; choose another --metrics-port") from None
    click.echo(f"metrics are at {endpoint.url}", err=True)
    try:
        yield
    finally:
        endpoint.stop()
