"""Faults of a broker or of a fault proxy, for tests.

broker.faults.add(api="Produce", error="NOT_LEADER_OR_FOLLOWER", times=3)
broker.faults.delay(200, api="Fetch", probability=0.1, seed=7)
with broker.faults.drop(api="Produce") as fault:
    ...
    assert fault.wait(1)
broker.faults.clear()
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, Self

    class FaultControl(Protocol):
        """Where the faults are applied: a broker's process, or a proxy."""

        def add(self, what: dict[str, Any]) -> int: ...
        def remove(self, number: int) -> None: ...
        def clear(self) -> None: ...
        def hits(self, number: int) -> int: ...
        def wait(self, number: int, hits: int, timeout_s: float) -> bool: ...


WAIT_TIMEOUT_S = 30.0


class FaultHandle:
    """A fault. As a context manager it removes the fault at the end."""

    def __init__(self, control: FaultControl, number: int) -> None:
        self._control = control
        self._number = number

    @property
    def hits(self) -> int:
        """How often the fault was applied; 0 after it is removed."""
        return self._control.hits(self._number)

    def wait(self, hits: int = 1, timeout_s: float = WAIT_TIMEOUT_S) -> bool:
        """Wait until the fault was applied `hits` times. Returns False after the timeout."""
        return self._control.wait(self._number, hits, timeout_s)

    def remove(self) -> None:
        """Remove the fault. Effects that it already had stay."""
        self._control.remove(self._number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class Faults:
    """Adds faults. Every method also accepts the arguments of `add`; docs/testing.md lists them.

    If several faults match a request, the one that was added first and applies to it decides.
    """

    def __init__(self, control: FaultControl) -> None:
        self._control = control

    def add(self, **what: Any) -> FaultHandle:
        """Add a fault. Raises ValueError if its arguments are invalid."""
        return FaultHandle(self._control, self._control.add(what))

    def delay(self, delay_ms: int, *, jitter_ms: int = 0, **what: Any) -> FaultHandle:
        """Delay responses by `delay_ms`, plus up to `jitter_ms`."""
        return self.add(delay_ms=delay_ms, jitter_ms=jitter_ms, **what)

    def drop(self, **what: Any) -> FaultHandle:
        """Leave requests without a response."""
        return self.add(drop=True, **what)

    def disconnect(self, after_bytes: int = 0, **what: Any) -> FaultHandle:
        """Close connections after this many bytes of a response, including its four bytes of length."""
        return self.add(after_bytes=after_bytes, **what)

    def clear(self) -> None:
        """Remove all faults, and close the connections with unanswered requests."""
        self._control.clear()
