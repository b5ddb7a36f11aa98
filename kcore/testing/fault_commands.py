"""Fault commands over a broker's control channel: both ends.

    ("fault-add", what)  ("fault-remove", number)  ("fault-clear",)  ("fault-hits", number)
    ("fault-wait", number, hits, timeout_s)

The answer is ("done", value) or ("refused", reason).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kcore.server.broker import Broker
    from kcore.testing.packets import Message


class RemoteFaults:
    """The test's end: a FaultControl. `command` sends a command to the broker and returns the result."""

    def __init__(self, command: Callable[..., Any]) -> None:
        self._command = command

    def add(self, what: dict[str, Any]) -> int:
        return int(self._command("fault-add", what))

    def remove(self, number: int) -> None:
        self._command("fault-remove", number)

    def clear(self) -> None:
        self._command("fault-clear")

    def hits(self, number: int) -> int:
        return int(self._command("fault-hits", number))

    def wait(self, number: int, hits: int, timeout_s: float) -> bool:
        return bool(self._command("fault-wait", number, hits, timeout_s))


def carry_out(broker: Broker, command: Message) -> Message:
    """The broker's end: execute a command and return the answer."""
    try:
        return ("done", value_of(broker, *command))
    except ValueError as error:
        return ("refused", str(error))


def value_of(broker: Broker, name: str, *arguments: Any) -> Any:
    faults = broker.fault_table()
    if name == "fault-add":
        return faults.add(**arguments[0])
    if name == "fault-clear":
        return faults.clear()
    if name == "fault-remove":
        return faults.registry.remove(*arguments)
    if name == "fault-hits":
        return faults.registry.hits(*arguments)
    if name == "fault-wait":
        return faults.registry.wait(*arguments)
    raise ValueError(f"the broker has no command {name!r}")
