"""What is wrong with the broker, and the requests after which it was seen."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.requests.restricted import decoded
from tests.fuzz.requests.source import Request

SHOWN_BYTES = 2_000


class Finding(AssertionError):
    """`suspects` are the requests that may have caused it; `window` are those since the last look at the broker."""

    def __init__(self, what: str, suspects: Sequence[Request] = ()) -> None:
        super().__init__(what)
        self.what = what
        self.suspects = list(suspects)
        self.window: list[Request] = []


def described(request: Request) -> str:
    """A request for a report: its index, API and version, mutations, content and bytes."""
    message = decoded(request.payload)
    return "\n".join(
        (
            f"request {request.index}: {request.template.api.name} version {request.template.version}",
            f"  mutations: {'; '.join(request.steps)}",
            f"  content: {message if message is not None else 'does not decode'}"[:SHOWN_BYTES],
            f"  hex: {request.payload.hex()}"[:SHOWN_BYTES],
        )
    )
