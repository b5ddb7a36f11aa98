"""The faults of a broker or of a proxy, as a test uses them.

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
        """Whoever has the faults: a broker's process, or a proxy."""

        def add(self, what: dict[str, Any]) -> int: ...
        def remove(self, number: int) -> None: ...
        def clear(self) -> None: ...
        def hits(self, number: int) -> int: ...
        def wait(self, number: int, hits: int, timeout_s: float) -> bool: ...


WAIT_TIMEOUT_S = 30.0


class FaultHandle:
    """A fault that was made; leaving a `with` block over it removes it."""

    def __init__(self, control: FaultControl, number: int) -> None:
        self._control = control
        self._number = number

    @property
    def hits(self) -> int:
        """How often it has struck; 0 once it was removed."""
        return self._control.hits(self._number)

    def wait(self, hits: int = 1, timeout_s: float = WAIT_TIMEOUT_S) -> bool:
        """Returns when it has struck so often; False when that was not so in time."""
        return self._control.wait(self._number, hits, timeout_s)

    def remove(self) -> None:
        """Ends it; what it has struck already stays struck."""
        self._control.remove(self._number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class Faults:
    """Makes faults. Every method takes what `add` takes besides what it names; docs/testing.md lists it.

    The first fault made that is meant for a request and strikes decides about it.
    """

    def __init__(self, control: FaultControl) -> None:
        self._control = control

    def add(self, **what: Any) -> FaultHandle:
        """Makes one; ValueError says what about it cannot be."""
        return FaultHandle(self._control, self._control.add(what))

    def delay(self, delay_ms: int, *, jitter_ms: int = 0, **what: Any) -> FaultHandle:
        """Holds answers back for `delay_ms`, and up to `jitter_ms` more."""
        return self.add(delay_ms=delay_ms, jitter_ms=jitter_ms, **what)

    def drop(self, **what: Any) -> FaultHandle:
        """Leaves requests without an answer."""
        return self.add(drop=True, **what)

    def disconnect(self, after_bytes: int = 0, **what: Any) -> FaultHandle:
        """Ends connections after so many bytes of an answer, its length's four among them."""
        return self.add(after_bytes=after_bytes, **what)

    def clear(self) -> None:
        """Ends all faults, and the connections of what was left without an answer."""
        self._control.clear()
