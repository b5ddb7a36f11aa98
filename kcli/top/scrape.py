"""A reading of a broker's metrics, fetched over HTTP and parsed from Prometheus' text format 0.0.4.

Comments and timestamps are ignored. Bound: MAX_TEXT_BYTES per response.
"""

from __future__ import annotations

import time

from kcli.broker_connection import LOOK_INTERVAL_S, BrokerLosses, warn
from kcli.failures import Failure, UnreachableFailure, UsageFailure, lowered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Labels = tuple[tuple[str, str], ...]

TIMEOUT_S = 10
MAX_TEXT_BYTES = 64 << 20


class EndpointUnreachable(UnreachableFailure):
    """No server answers at the URL."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"cannot connect to {url} ({lowered(reason)}). Is the broker running with metrics? Start one with: "
            "kcli server-start --override metrics.port=9404"
        )
        self.reason = reason


class Scrape:
    """`samples[name]` are the series of a name: (labels, value). `taken_s` is from a monotonic clock."""

    __slots__ = ("samples", "taken_s")

    def __init__(self, text: str, taken_s: float) -> None:
        self.taken_s = taken_s
        self.samples: dict[str, list[tuple[dict[str, str], float]]] = {}
        for name, labels, value in parse(text):
            self.samples.setdefault(name, []).append((labels, value))

    def series(self, name: str) -> list[tuple[dict[str, str], float]]:
        """All series of a name; empty if the broker has no such metric."""
        return self.samples.get(name, [])

    def value(self, name: str, **labels: str) -> float:
        """The value of one series; 0 if it does not exist."""
        return next((value for found, value in self.series(name) if found == labels), 0.0)

    def total(self, name: str, **labels: str) -> float:
        """The sum of all series with at least these labels."""
        return sum(value for found, value in self.series(name) if labels.items() <= found.items())

    def label(self, name: str, label: str) -> str:
        """A label of the first series of a name."""
        return next((found.get(label, "") for found, _ in self.series(name)), "")


class ScrapeReader:
    """Reads metrics repeatedly. The first reading fails if the server does not answer, unless the command waits. Later
    ones print a warning and wait.
    """

    def __init__(self, url: str, wait_s: float) -> None:
        self._url = url
        self._losses = BrokerLosses("The view continues after reconnecting.")
        self._failed_attempts = 0
        self._deadline_s = time.monotonic() + wait_s

    def read(self) -> Scrape:
        while True:
            try:
                found = scrape(self._url)
            except EndpointUnreachable as error:
                if time.monotonic() >= self._deadline_s:
                    raise
                self._failed_attempts += 1
                self._report(is_connected=False, failure=error.reason)
                time.sleep(LOOK_INTERVAL_S)
                continue
            if self._failed_attempts:
                self._failed_attempts = 0
                self._report(is_connected=True, failure="")
            self._deadline_s = float("inf")
            return found

    def _report(self, *, is_connected: bool, failure: str) -> None:
        from kcore.client.network.connection_state import ConnectionState

        state = ConnectionState(self._url, is_connected, self._failed_attempts, failure)
        warn(self._losses.report([state], time.monotonic()))


def scrape(url: str) -> Scrape:
    """Reads metrics. Raises UnreachableFailure if no server answers, Failure for any other response."""
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            text = answer.read(MAX_TEXT_BYTES).decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        reason = f"{error.code} {error.reason}"
        raise Failure(f"{url}: HTTP status {reason}. Is this the URL of a broker's metrics?") from error
    except ValueError as error:
        raise UsageFailure(f"{url}: {error}. A URL has the form http://HOST:PORT/metrics") from error
    except OSError as error:
        cause = getattr(error, "reason", error)
        cause = getattr(cause, "strerror", None) or cause
        raise EndpointUnreachable(url, str(cause)) from error
    try:
        return Scrape(text, time.monotonic())
    except ValueError as error:
        raise Failure(f"{url}: the response is not in Prometheus' text format: {error}") from error


def parse(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """(name, labels, value) of each sample. Raises ValueError for an invalid line."""
    for line in text.split("\n"):
        if line and not line.startswith("#"):
            name, brace, rest = line.partition("{")
            try:
                if brace:
                    labels, rest = parse_labels(rest)
                else:
                    name, _, rest = line.partition(" ")
                    labels = {}
                yield name, labels, float(rest.split()[0])
            except (IndexError, ValueError):
                raise ValueError(f"invalid line {line[:80]!r}") from None


def parse_labels(text: str) -> tuple[dict[str, str], str]:
    """The labels up to the closing brace, and the rest of the line."""
    labels: dict[str, str] = {}
    at = 0
    while text[at] != "}":
        equals = text.index("=", at)
        name = text[at:equals].strip(", ")
        if text[equals + 1] != '"':
            raise ValueError("label values must be quoted")
        value, at = parse_quoted(text, equals + 2)
        labels[name] = value
        if text[at] == ",":
            at += 1
    return labels, text[at + 1 :]


def parse_quoted(text: str, at: int) -> tuple[str, int]:
    """A value up to its closing quote, and the position after it."""
    end = at
    while text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    value = text[at:end]
    if "\\" in value:
        parts = value.split("\\\\")
        value = "\\".join(part.replace('\\"', '"').replace("\\n", "\n") for part in parts)
    return value, end + 1
