"""The active faults and how often each has struck. Used by the broker's faults and by the fault proxy.

Concurrency: any thread. `changed` is the only lock; it is notified of every strike.
"""

from __future__ import annotations

import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAX_FAULTS = 1000


class FaultRegistry:
    """`make` creates a fault from its number and a test's description. A fault has a `number` and a `trigger`.

    `on_change` is called under the lock with the faults that can still strike.
    """

    def __init__(self, make: Callable[..., Any], on_change: Callable[[tuple[Any, ...]], None]) -> None:
        self.changed = threading.Condition()
        self.active: tuple[Any, ...] = ()
        self._make = make
        self._on_change = on_change
        self._faults: dict[int, Any] = {}
        self._made = 0

    def add(self, what: dict[str, Any]) -> int:
        """Adds a fault and returns its number. Raises ValueError for an invalid description."""
        with self.changed:
            if len(self._faults) >= MAX_FAULTS:
                raise ValueError(f"there are {MAX_FAULTS} faults already: remove them with clear()")
            try:
                fault = self._make(self._made + 1, **what)
            except TypeError as error:
                raise ValueError(f"no fault can be made of {what}: {error}") from None
            self._made += 1
            self._faults[self._made] = fault
            self._update()
            return self._made

    def remove(self, number: int) -> None:
        """Removes one fault, if it still exists."""
        with self.changed:
            if self._faults.pop(number, None) is not None:
                self._update()

    def clear(self) -> None:
        """Removes all faults."""
        with self.changed:
            self._faults.clear()
            self._update()

    def hits(self, number: int) -> int:
        """How often a fault has struck. 0 if it was removed."""
        with self.changed:
            fault = self._faults.get(number)
            return 0 if fault is None else int(fault.trigger.hits)

    def wait(self, number: int, hits: int, timeout_s: float) -> bool:
        """Waits until a fault has struck `hits` times. Returns False on timeout, or if the fault was removed."""
        deadline = time.monotonic() + timeout_s
        with self.changed:
            while self.hits(number) < hits:
                left_s = deadline - time.monotonic()
                if left_s <= 0 or number not in self._faults:
                    return False
                self.changed.wait(left_s)
            return True

    def strike(self, is_meant: Callable[[Any], bool]) -> Any:
        """The oldest active fault that matches an event and strikes it, or None."""
        if not self.active:
            return None
        with self.changed:
            for fault in self.active:
                if is_meant(fault) and fault.trigger.strikes():
                    if fault.trigger.is_spent:
                        self._update()
                    self.changed.notify_all()
                    return fault
        return None

    def _update(self) -> None:
        self.active = tuple(fault for fault in self._faults.values() if not fault.trigger.is_spent)
        self._on_change(self.active)
        self.changed.notify_all()
