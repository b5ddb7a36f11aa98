"""A pipeline's metrics over HTTP, with the same endpoint code as the broker."""

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
    """Serves metrics within the `with` block, at a free port if `port` is 0, and prints the URL."""
    from kcore.server.metrics_endpoint import MetricsEndpoint

    endpoint = MetricsEndpoint(
        host, port, totals.render, lambda: True, max_connections=MAX_CONNECTIONS, timeout_ms=TIMEOUT_MS
    )
    try:
        endpoint.start()
    except OSError as error:
        reason = getattr(error.__cause__, "strerror", None) or error
        raise UsageFailure(f"cannot serve metrics at {host}:{port} ({reason}). Choose another --metrics-port") from None
    click.echo(f"metrics at {endpoint.url}", err=True)
    try:
        yield
    finally:
        endpoint.stop()
