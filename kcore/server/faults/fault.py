"""One fault: the requests that it matches, when it strikes, and its effect on the response."""

from __future__ import annotations

from kcore import errors
from kcore.protocol import apis
from kcore.server.faults.trigger import Trigger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.network.request import Request

MAX_DELAY_MS = 3_600_000
EFFECTS = ("delay_ms", "drop", "error", "after_bytes")


class Fault:
    """A fault as a test describes it:

    `api`                      Kafka's name of the API; None matches all APIs
    `client_id`                matches only requests with this client id
    `times, skip, probability, seed`   see Trigger
    `execute`                  whether the request is executed. Default: False with `error`, True otherwise
    `error`                    name of the error in the response
    `delay_ms, jitter_ms`      delay of the response
    `drop`                     no response is sent
    `after_bytes`              the connection is closed after this many bytes of the response, size field included

    Raises ValueError for an invalid value or combination.
    """

    __slots__ = (
        "_client_id",
        "_delay_ms",
        "_jitter_ms",
        "after_bytes",
        "api_key",
        "drop",
        "error",
        "execute",
        "number",
        "trigger",
    )

    def __init__(
        self,
        number: int,
        *,
        api: str | None = None,
        client_id: str | None = None,
        error: str | None = None,
        delay_ms: int = 0,
        jitter_ms: int = 0,
        drop: bool = False,
        after_bytes: int | None = None,
        execute: bool | None = None,
        **when: Any,
    ) -> None:
        self.trigger = Trigger(**when)
        if not 0 <= delay_ms <= MAX_DELAY_MS or not 0 <= jitter_ms <= MAX_DELAY_MS:
            raise ValueError(f"delay_ms={delay_ms}, jitter_ms={jitter_ms}: must be between 0 and {MAX_DELAY_MS}")
        if after_bytes is not None and after_bytes < 0:
            raise ValueError(f"after_bytes={after_bytes}: must not be negative")
        if drop and after_bytes is not None:
            raise ValueError("drop and after_bytes cannot be combined: a response is either dropped or cut. Remove one")
        if not (error or delay_ms or jitter_ms or drop or after_bytes is not None):
            raise ValueError(f"a fault without effect: one of {', '.join(EFFECTS)} must be given")
        if execute is False and not (error or drop or after_bytes == 0):
            raise ValueError(
                "execute=False leaves no answer to delay or to break off: give an error, drop or after_bytes=0"
            )
        self.number = number
        self.api_key = None if api is None else api_key_of(api)
        self.error = None if error is None else error_of(error)
        self.drop = drop
        self.after_bytes = after_bytes
        self.execute = error is None if execute is None else execute
        self._client_id = client_id
        self._delay_ms = delay_ms
        self._jitter_ms = jitter_ms

    def is_meant_for(self, request: Request) -> bool:
        if self.api_key is not None and self.api_key != request.api_key:
            return False
        return self._client_id is None or self._client_id == request.client_id

    def delay_ms(self) -> int:
        """The delay of one response in milliseconds."""
        if not self._jitter_ms:
            return self._delay_ms
        return self.trigger.between(self._delay_ms, self._delay_ms + self._jitter_ms)


def api_key_of(name: str) -> int:
    """The key of an API that this broker serves. Raises ValueError with the list of names for any other."""
    from kcore.server.apis import TABLE

    names = {apis.BY_KEY[entry.key].name: entry.key for entry in TABLE}
    if name not in names:
        raise ValueError(f"API {name!r}: must be one of {', '.join(sorted(names))}")
    return names[name]


def error_of(name: str) -> errors.KafkaError:
    """The error with a name such as NOT_LEADER_OR_FOLLOWER. Raises ValueError if there is none."""
    for code, known, *_ in errors.TABLE:
        if known == name and code != errors.NONE:
            return errors.by_code(code)()
    raise ValueError(f"error {name!r} is none of Kafka's, such as NOT_LEADER_OR_FOLLOWER or REQUEST_TIMED_OUT")
