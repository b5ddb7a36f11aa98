"""Checks the connection to the brokers before a command starts, and watches it while the command runs.

Producers and consumers retry silently, as Kafka's do. A command fails at once when no broker answers (`await_broker`),
unless --wait is given. It prints a warning when it loses a broker later (`BrokerWatch`).
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

import click

from kcli.failures import complain, lowered
from kcli.ranges import IntegerRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Self

    from click.decorators import FC

    from kcore.client.cluster_client import ClusterClient
    from kcore.client.config.client_config import ClientConfig
    from kcore.client.network.connection_state import ConnectionState

LOOK_INTERVAL_S = 0.25
WARNING_INTERVAL_S = 5.0
WAIT_S = "kcli.wait"


def _note_wait(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.meta.setdefault(WAIT_S, float("inf"))


def _note_limit(context: click.Context, parameter: click.Parameter, value: int | None) -> None:
    if value is not None:
        context.meta[WAIT_S] = value / 1000.0


def wait_options(function: FC) -> FC:
    """Adds --wait and --wait-ms, which `await_broker` obeys."""
    unlimited = click.option(
        "--wait",
        is_flag=True,
        expose_value=False,
        callback=_note_wait,
        help="Wait until a broker answers. Default: fail if no broker answers.",
    )
    limited = click.option(
        "--wait-ms",
        type=IntegerRange(min=0),
        metavar="MS",
        expose_value=False,
        callback=_note_limit,
        help="Maximum time to wait for a broker, in ms. Implies --wait.",
    )
    return unlimited(limited(function))


def wait_s() -> float:
    """How long the command waits for a broker, in seconds."""
    return float(click.get_current_context().meta.get(WAIT_S, 0.0))


def await_broker(config: ClientConfig) -> None:
    """Returns when one of the bootstrap servers answers. Raises the errors of `connect_to_broker`."""
    connect_to_broker(config).close()


def connect_to_broker(config: ClientConfig) -> ClusterClient:
    """A client whose broker has answered. Raises BrokerUnreachable or ClientTimeout if no broker answers.

    The options of `wait_options` limit the retries.
    """
    from kcore.client.cluster_client import ClusterClient
    from kcore.client.config.connection_settings import connection_settings

    client = ClusterClient(
        config.texts("bootstrap.servers"),
        client_id=config["client.id"],
        request_timeout_ms=config.number("request.timeout.ms"),
        client_dns_lookup=config["client.dns.lookup"],
        **connection_settings(config),
    )
    try:
        wait_for_broker(client)
    except BaseException:
        client.close()
        raise
    return client


def wait_for_broker(client: ClusterClient) -> None:
    """Retries until a broker answers or the time of the command's options is over."""
    from kcore.client.errors import BrokerUnreachable, ClientTimeout

    deadline_s = time.monotonic() + wait_s()
    losses = BrokerLosses("Waiting.")
    while True:
        try:
            client.update_metadata([])
        except (BrokerUnreachable, ClientTimeout):
            if time.monotonic() >= deadline_s:
                raise
            warn(losses.report(client.connection_states(), time.monotonic()))
            time.sleep(LOOK_INTERVAL_S)
        else:
            warn(losses.report(client.connection_states(), time.monotonic()))
            return


class Loss(NamedTuple):
    """A server without a connection, since when, and when it was last reported."""

    since_s: float
    since_text: str
    warned_s: float
    attempts: int


class BrokerLosses:
    """Decides which warnings about a client's connections are due. Pure: the time is an argument.

    A server is lost after the first failed connection attempt. It is reported then, every WARNING_INTERVAL_S while the
    client retries, and when it is connected again. `consequence` tells the user what the command does meanwhile.
    """

    def __init__(self, consequence: str, clock_text: Callable[[], str] = lambda: time.strftime("%H:%M:%S")) -> None:
        self._consequence = consequence
        self._clock_text = clock_text
        self._losses: dict[str, Loss] = {}

    def report(self, states: Sequence[ConnectionState], now_s: float) -> list[str]:
        """The lines to print now."""
        lines = []
        for server in dict.fromkeys(state.server for state in states):
            own = [state for state in states if state.server == server]
            if any(state.is_connected for state in own):
                lines += self._found(server, now_s)
            else:
                lines += self._missed(max(own, key=lambda state: state.failed_attempts), now_s)
        return lines

    def _found(self, server: str, now_s: float) -> list[str]:
        loss = self._losses.pop(server, None)
        return [] if loss is None else [f"reconnected to {server} after {now_s - loss.since_s:.0f} s"]

    def _missed(self, state: ConnectionState, now_s: float) -> list[str]:
        loss = self._losses.get(state.server)
        if state.failed_attempts == 0:
            return []
        if loss is None:
            self._losses[state.server] = loss = Loss(now_s, self._clock_text(), now_s, state.failed_attempts)
        elif state.failed_attempts > loss.attempts and now_s - loss.warned_s >= WARNING_INTERVAL_S:
            self._losses[state.server] = loss._replace(warned_s=now_s, attempts=state.failed_attempts)
        else:
            return []
        reason = lowered(state.failure or "no connection")
        return [f"no connection to {state.server} since {loss.since_text} ({reason}). {self._consequence}"]


class BrokerWatch:
    """Prints warnings to stderr from its own thread while the `with` block runs."""

    def __init__(self, states: Callable[[], Sequence[ConnectionState]], consequence: str) -> None:
        self._states = states
        self._losses = BrokerLosses(consequence)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kcli-broker-watch", daemon=True)

    def _run(self) -> None:
        while not self._ended.wait(LOOK_INTERVAL_S):
            warn(self._losses.report(self._states(), time.monotonic()))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()


def warn(lines: Sequence[str]) -> None:
    for line in lines:
        complain(line)
